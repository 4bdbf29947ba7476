#include "core/ops/reduce.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/ops/checks.h"
#include "core/ops/reduce_run.h"
#include "core/tensor/visit_data_type.h"

namespace dmlop {
namespace {

// --- the tables of the reference page ------------------------------------------------------------

constexpr DataTypeSet kFloatsAnd32 = types::kFloats | types::kInt32s;
constexpr DataTypeSet kFloatsAnd32To64 = kFloatsAnd32 | types::kInt64s;
constexpr DataTypeSet kIndexTypes = types::kInt64s | types::kInt32s;

constexpr SupportRow kArgRows[] = {
    {Level(1, 0), 4, 4, types::kFloats, {DataType::kUint32}},
    {Level(2, 1), 4, 4, types::kUpTo32, {DataType::kUint32}},
    {Level(3, 0), 1, 8, types::kUpTo32, kIndexTypes},
    {Level(4, 1), 1, 8, types::kUpTo32 | types::kInt64s, kIndexTypes},
};
constexpr SupportRow kFloatOnlyRows[] = {
    {Level(1, 0), 4, 4, types::kFloats, {}},
    {Level(3, 0), 1, 8, types::kFloats, {}},
};
constexpr SupportRow kNormRows[] = {
    {Level(1, 0), 4, 4, types::kFloats, {}},
    {Level(3, 0), 1, 8, types::kFloats, {}},
    {Level(5, 0), 1, 8, kFloatsAnd32To64, {}},
};
constexpr SupportRow kExtremeRows[] = {
    {Level(1, 0), 4, 4, types::kFloats, {}},
    {Level(2, 1), 4, 4, kFloatsAnd32, {}},
    {Level(3, 0), 1, 8, types::kUpTo32, {}},
    {Level(5, 0), 1, 8, types::kUpTo32 | types::kInt64s, {}},
};
constexpr SupportRow kSumRows[] = {
    {Level(1, 0), 4, 4, types::kFloats, {}},
    {Level(2, 1), 4, 4, kFloatsAnd32, {}},
    {Level(3, 0), 1, 8, kFloatsAnd32, {}},
    {Level(5, 0), 1, 8, kFloatsAnd32To64, {}},
};
constexpr SupportTable kTables[] = {
    {"ARGMIN, ARGMAX", kArgRows},  {"AVERAGE, L2, LOG_SUM, LOG_SUM_EXP", kFloatOnlyRows},
    {"L1, SUM_SQUARE", kNormRows}, {"MIN, MAX", kExtremeRows},
    {"MULTIPLY, SUM", kSumRows},
};

bool GivesIndex(ReduceFunction function) {
  return function == ReduceFunction::kArgMax || function == ReduceFunction::kArgMin;
}

bool AxesAreSound(const ReduceDesc& desc) {
  if (!desc.axes || !desc.input_tensor.sizes) return false;
  return std::all_of(desc.axes->begin(), desc.axes->end(),
                     [&](uint32_t axis) { return axis < desc.input_tensor.rank(); });
}

std::vector<uint32_t> ReducedSizes(const ReduceDesc& desc) {
  std::vector<uint32_t> sizes = *desc.input_tensor.sizes;
  for (const uint32_t axis : *desc.axes) sizes[axis] = 1;
  return sizes;
}

// --- validation ----------------------------------------------------------------------------------

void CheckOutputType(const ReduceDesc& desc, Diagnostics& diagnostics) {
  const NamedTensor input{"InputTensor", desc.input_tensor};
  const NamedTensor output{"OutputTensor", desc.output_tensor};
  if (!GivesIndex(*desc.function)) return CheckSameDataType("RED-2", output, input, diagnostics);
  if (!output.desc.data_type) return;
  if (kIndexTypes.Contains(*output.desc.data_type)) return;
  diagnostics.Error(
      "RED-2", "OutputTensor/DataType",
      fmt::format("{} cannot hold the index that {} gives; expected one of {}",
                  Name(*output.desc.data_type), Name(*desc.function), ToString(kIndexTypes)));
}

void CheckAxes(const ReduceDesc& desc, Diagnostics& diagnostics) {
  const NamedTensor input{"InputTensor", desc.input_tensor};
  for (size_t i = 0; i < desc.axes->size(); ++i) {
    const uint32_t axis = (*desc.axes)[i];
    const std::string path = fmt::format("Axes/{}", i);
    if (input.desc.sizes && !CheckAxis("RED-3", axis, path, input, diagnostics)) continue;
    const auto here = desc.axes->begin() + static_cast<ptrdiff_t>(i);
    if (std::find(desc.axes->begin(), here, axis) != here) {
      diagnostics.Error("RED-4", path, fmt::format("axis {} is listed twice", axis));
    }
  }
}

}  // namespace

std::span<const SupportTable> SupportTables(const ReduceDesc&) {
  return kTables;
}

const SupportTable* SupportFor(const ReduceDesc& desc) {
  if (!desc.function) return nullptr;
  switch (*desc.function) {
    case ReduceFunction::kArgMax:
    case ReduceFunction::kArgMin:
      return &kTables[0];
    case ReduceFunction::kAverage:
    case ReduceFunction::kL2:
    case ReduceFunction::kLogSum:
    case ReduceFunction::kLogSumExp:
      return &kTables[1];
    case ReduceFunction::kL1:
    case ReduceFunction::kSumSquare:
      return &kTables[2];
    case ReduceFunction::kMax:
    case ReduceFunction::kMin:
      return &kTables[3];
    case ReduceFunction::kMultiply:
    case ReduceFunction::kSum:
      return &kTables[4];
  }
  return nullptr;
}

void Complete(ReduceDesc& desc) {
  if (desc.axis_count == 0u && !desc.axes) desc.axes.emplace();
  std::optional<DataType> type;
  if (desc.function) {
    type = GivesIndex(*desc.function) ? DataType::kUint32 : desc.input_tensor.data_type;
  }
  std::optional<std::vector<uint32_t>> sizes;
  if (AxesAreSound(desc)) sizes = ReducedSizes(desc);
  FillIn(desc.output_tensor, type, sizes);
}

void Validate(const ReduceDesc& desc, Diagnostics& diagnostics) {
  const NamedTensor input{"InputTensor", desc.input_tensor};
  const NamedTensor output{"OutputTensor", desc.output_tensor};
  if (desc.function) CheckOutputType(desc, diagnostics);
  if (desc.axes) CheckAxes(desc, diagnostics);
  if (AxesAreSound(desc) && output.desc.sizes) {
    CheckSizes("RED-1", output, ReducedSizes(desc), diagnostics);
  } else {
    CheckSameRank("RED-1", output, input, diagnostics);
  }
}

void Run(const ReduceDesc& desc, std::span<const ConstTensorView> inputs,
         std::span<const TensorView> outputs) {
  const ConstTensorView& input = inputs[0];
  const TensorView& output = outputs[0];
  switch (*desc.function) {
    case ReduceFunction::kArgMax:
    case ReduceFunction::kArgMin:
      return ReduceToIndex(desc, input, output);
    case ReduceFunction::kMax:
    case ReduceFunction::kMin:
      return ReduceToValue(desc, input, output);
    case ReduceFunction::kMultiply:
      return ReduceToProduct(desc, input, output);
    case ReduceFunction::kLogSumExp:
      return ReduceToLogSumExp(desc, input, output);
    case ReduceFunction::kAverage:
    case ReduceFunction::kL1:
    case ReduceFunction::kL2:
    case ReduceFunction::kLogSum:
    case ReduceFunction::kSum:
    case ReduceFunction::kSumSquare:
      return ReduceToSum(desc, input, output);
  }
}

}  // namespace dmlop
