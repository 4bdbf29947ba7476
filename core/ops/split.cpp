#include "core/ops/split.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/ops/copy_views.h"
#include "core/ops/parts.h"

namespace dmlop {
namespace {

constexpr DataTypeSet kUpTo16 = types::kFloats | types::kInt32s | types::kInt16s;
constexpr SupportRow kRows[] = {
    {Level(1, 0), 4, 4, kUpTo16, {}},
    {Level(2, 1), 4, 4, types::kUpTo32, {}},
    {Level(3, 0), 1, 8, types::kUpTo32, {}},
    {Level(4, 1), 1, 8, types::kAll, {}},
};
constexpr SupportTable kTables[] = {{"", kRows}};

// What each output without Sizes gets along Axis; 0 where the input cannot be shared out equally.
uint32_t EqualPart(const SplitDesc& desc) {
  uint64_t taken = 0;
  uint64_t open = 0;
  for (const TensorDesc& output : *desc.output_tensors) {
    if (!output.sizes) {
      ++open;
    } else if (*desc.axis < output.rank()) {
      taken += (*output.sizes)[*desc.axis];
    }
  }
  const uint32_t whole = (*desc.input_tensor.sizes)[*desc.axis];
  if (open == 0 || taken > whole || (whole - taken) % open != 0) return 0;
  return static_cast<uint32_t>((whole - taken) / open);
}

// Outputs without Sizes share equally what the others leave, if that is possible.
void CheckEqualParts(const SplitDesc& desc, Diagnostics& diagnostics) {
  if (!desc.output_tensors || !desc.input_tensor.sizes || !desc.axis) return;
  const auto& outputs = *desc.output_tensors;
  const auto left_out = std::count_if(outputs.begin(), outputs.end(),
                                      [](const TensorDesc& output) { return !output.sizes; });
  if (left_out == 0 || *desc.axis >= desc.input_tensor.rank()) return;
  diagnostics.Error("SPLIT-3", "OutputTensors",
                    fmt::format("what the others leave of the input's {} along Axis does not make "
                                "{} equal parts",
                                (*desc.input_tensor.sizes)[*desc.axis], left_out));
}

}  // namespace

std::span<const SupportTable> SupportTables(const SplitDesc&) {
  return kTables;
}

const SupportTable* SupportFor(const SplitDesc&) {
  return &kTables[0];
}

void Complete(SplitDesc& desc) {
  if (!desc.output_tensors) return;
  std::optional<std::vector<uint32_t>> sizes = desc.input_tensor.sizes;
  const bool axis_is_valid = sizes && desc.axis && *desc.axis < sizes->size();
  const uint32_t part = axis_is_valid ? EqualPart(desc) : 0;
  if (part == 0) {
    sizes.reset();
  } else {
    (*sizes)[*desc.axis] = part;
  }
  for (TensorDesc& output : *desc.output_tensors) {
    FillIn(output, desc.input_tensor.data_type, sizes);
  }
}

void Validate(const SplitDesc& desc, Diagnostics& diagnostics) {
  Validate({{"InputTensor", desc.input_tensor}, "OutputTensors", desc.output_tensors, desc.axis},
           {.count = "SPLIT-1", .type = "SPLIT-2", .sizes = "SPLIT-3"}, diagnostics);
  CheckEqualParts(desc, diagnostics);
}

void Run(const SplitDesc& desc, std::span<const ConstTensorView> inputs,
         std::span<const TensorView> outputs) {
  std::vector<Move> moves;
  int64_t start = 0;
  for (const TensorView& output : outputs) {
    const int64_t size = output.layout.sizes[*desc.axis];
    moves.push_back({inputs[0].Slice(*desc.axis, start, size), output});
    start += size;
  }
  CopyAll(moves);
}

}  // namespace dmlop
