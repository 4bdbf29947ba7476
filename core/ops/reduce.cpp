#include "core/ops/reduce.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/kernels/reduce_functions.h"
#include "core/ops/checks.h"
#include "core/ops/element_tile.h"
#include "core/ops/exp_sum_tile.h"
#include "core/ops/extreme_tiles.h"
#include "core/ops/product_tile.h"
#include "core/ops/reduce_loop.h"
#include "core/ops/sum_tiles.h"
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

// --- from a function and a type, both known at run time, to a loop
// ---------------------------------

template <typename Tile>
ReducePlan PlanFor(const ReduceDesc& desc, const ConstTensorView& input, const TensorView& output,
                   bool any_order) {
  return PlanReduce(input.layout, output.layout, PackedLayout(output.layout.sizes), *desc.axes,
                    {any_order, Tile::kByVectors, Tile::kColumns});
}

// For functions that do not mind the order of elements.
template <typename Tile>
void ReduceWith(const ReduceDesc& desc, const ConstTensorView& input, const TensorView& output) {
  const ReducePlan plan = PlanFor<Tile>(desc, input, output, /*any_order=*/true);
  ReduceLoop<Tile>(plan, input, nullptr, output).Run();
}

// A sum of floats: by vectors, and once more exactly where that does not decide the rounding.
template <typename T, SumTerm kTerm, typename Ending>
void ReduceFloatSum(const ReduceDesc& desc, const ConstTensorView& input,
                    const TensorView& output) {
  using Rough = RoughSumTile<T, kTerm, Ending>;
  using Exact = ExactSumTile<T, kTerm, Ending>;
  const ReducePlan plan = PlanFor<Rough>(desc, input, output, true);
  const std::vector<int64_t> undecided = ReduceLoop<Rough>(plan, input, nullptr, output).Run();
  if (undecided.empty()) return;
  const ReducePlan exact_plan = PlanFor<Exact>(desc, input, output, true);
  ReduceLoop<Exact>(exact_plan, input, nullptr, output).RunOutputs(undecided);
}

template <Extreme kExtreme>
void ReduceToIndex(const ReduceDesc& desc, const ConstTensorView& input, const TensorView& output) {
  using Types = Join<Floats, Integers64, Integers32, Integers16, Integers8>;
  VisitDataType(Types(), input.type, [&]<typename T>() {
    // An index is not negative: its bits are those of either sign's type.
    if (ByteWidth(output.type) == sizeof(int64_t)) {
      ReduceWith<ExtremeIndexTile<T, kExtreme, int64_t>>(desc, input, output);
    } else {
      ReduceWith<ExtremeIndexTile<T, kExtreme, int32_t>>(desc, input, output);
    }
  });
}

template <Extreme kExtreme>
void ReduceToExtreme(const ReduceDesc& desc, const ConstTensorView& input,
                     const TensorView& output) {
  using Types = Join<Floats, Integers64, Integers32, Integers16, Integers8>;
  VisitDataType(Types(), input.type,
                [&]<typename T>() { ReduceWith<ExtremeTile<T, kExtreme>>(desc, input, output); });
}

template <SumTerm kTerm, typename IntegerTerm>
void ReduceToSum(const ReduceDesc& desc, const ConstTensorView& input, const TensorView& output) {
  VisitDataType(Join<Floats, Integers64, Integers32>(), input.type, [&]<typename T>() {
    if constexpr (std::is_integral_v<T>) {
      ReduceWith<ElementTile<reduce::IntegerSum<T, IntegerTerm>>>(desc, input, output);
    } else {
      ReduceFloatSum<T, kTerm, reduce::Rounded>(desc, input, output);
    }
  });
}

// By vectors; where that does not decide the rounding, element by element in row-major order.
template <typename T>
void ReduceFloatProduct(const ReduceDesc& desc, const ConstTensorView& input,
                        const TensorView& output) {
  using Rough = RoughProductTile<T>;
  using Ordered = ElementTile<reduce::FloatProduct<T>>;
  const ReducePlan plan = PlanFor<Rough>(desc, input, output, true);
  const std::vector<int64_t> undecided = ReduceLoop<Rough>(plan, input, nullptr, output).Run();
  if (undecided.empty()) return;
  const ReducePlan ordered_plan = PlanFor<Ordered>(desc, input, output, false);
  ReduceLoop<Ordered>(ordered_plan, input, nullptr, output).RunOutputs(undecided);
}

void ReduceToProduct(const ReduceDesc& desc, const ConstTensorView& input,
                     const TensorView& output) {
  VisitDataType(Join<Floats, Integers64, Integers32>(), input.type, [&]<typename T>() {
    if constexpr (std::is_integral_v<T>) {
      ReduceWith<ElementTile<reduce::IntegerProduct<T>>>(desc, input, output);
    } else {
      ReduceFloatProduct<T>(desc, input, output);
    }
  });
}

template <SumTerm kTerm, typename Ending>
void ReduceFloats(const ReduceDesc& desc, const ConstTensorView& input, const TensorView& output) {
  VisitDataType(Floats(), input.type,
                [&]<typename T>() { ReduceFloatSum<T, kTerm, Ending>(desc, input, output); });
}

// By vectors in one pass; exactly, in a pass for the maxima and one for the sums, where that does
// not decide the rounding.
void ReduceToLogSumExp(const ReduceDesc& desc, const ConstTensorView& input,
                       const TensorView& output) {
  VisitDataType(Floats(), input.type, [&]<typename T>() {
    using Exact = ElementTile<reduce::LogSumExp<T>>;
    const ReducePlan plan = PlanFor<ExpSumTile<T>>(desc, input, output, true);
    const auto undecided = ReduceLoop<ExpSumTile<T>>(plan, input, nullptr, output).Run();
    if (undecided.empty()) return;

    Buffer shift(static_cast<size_t>(output.layout.element_count()) * sizeof(double));
    const TensorView shift_view{shift.data(), DataType::kFloat64,
                                PackedLayout(output.layout.sizes)};
    ReduceWith<ElementTile<reduce::ExpShift<T>>>(desc, input, shift_view);
    const ReducePlan exact_plan = PlanFor<Exact>(desc, input, output, true);
    ReduceLoop<Exact>(exact_plan, input, shift_view.elements<double>(), output)
        .RunOutputs(undecided);
  });
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
  if (CheckSameRank("RED-1", output, input, diagnostics) && AxesAreSound(desc)) {
    CheckSizes("RED-1", output, ReducedSizes(desc), diagnostics);
  }
}

void Run(const ReduceDesc& desc, std::span<const ConstTensorView> inputs,
         std::span<const TensorView> outputs) {
  const ConstTensorView& input = inputs[0];
  const TensorView& output = outputs[0];
  using namespace reduce;
  switch (*desc.function) {
    case ReduceFunction::kArgMax:
      return ReduceToIndex<Extreme::kMax>(desc, input, output);
    case ReduceFunction::kArgMin:
      return ReduceToIndex<Extreme::kMin>(desc, input, output);
    case ReduceFunction::kAverage:
      return ReduceFloats<SumTerm::kItself, Averaged>(desc, input, output);
    case ReduceFunction::kL1:
      return ReduceToSum<SumTerm::kMagnitude, IntegerMagnitude>(desc, input, output);
    case ReduceFunction::kL2:
      return ReduceFloats<SumTerm::kSquare, SquareRooted>(desc, input, output);
    case ReduceFunction::kLogSum:
      return ReduceFloats<SumTerm::kItself, Logged>(desc, input, output);
    case ReduceFunction::kLogSumExp:
      return ReduceToLogSumExp(desc, input, output);
    case ReduceFunction::kMax:
      return ReduceToExtreme<Extreme::kMax>(desc, input, output);
    case ReduceFunction::kMin:
      return ReduceToExtreme<Extreme::kMin>(desc, input, output);
    case ReduceFunction::kMultiply:
      return ReduceToProduct(desc, input, output);
    case ReduceFunction::kSum:
      return ReduceToSum<SumTerm::kItself, IntegerItself>(desc, input, output);
    case ReduceFunction::kSumSquare:
      return ReduceToSum<SumTerm::kSquare, IntegerSquare>(desc, input, output);
  }
}

}  // namespace dmlop
