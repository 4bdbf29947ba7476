#include "core/ops/join.h"

#include <fmt/format.h>

#include "core/ops/checks.h"
#include "core/ops/tiled_loop.h"

namespace dmlop {
namespace {

constexpr DataTypeSet kUpTo16 = types::kFloats | types::kInt32s | types::kInt16s;
constexpr SupportRow kRows[] = {
    {Level(1, 0), 4, 4, kUpTo16, {}},
    {Level(2, 1), 4, 4, types::kUpTo32, {}},
    {Level(3, 0), 4, 5, types::kUpTo32, {}},
    {Level(3, 1), 1, 8, types::kUpTo32, {}},  // the page lacks this row; see the level's history
    {Level(4, 1), 1, 8, types::kAll, {}},
};
constexpr SupportTable kTables[] = {{"", kRows}};

NamedTensor Input(const JoinDesc& desc, size_t i) {
  return {fmt::format("InputTensors/{}", i), (*desc.input_tensors)[i]};
}

}  // namespace

std::span<const SupportTable> SupportTables(const JoinDesc&) {
  return kTables;
}

const SupportTable* SupportFor(const JoinDesc&) {
  return &kTables[0];
}

void Complete(JoinDesc& desc) {
  if (!desc.input_tensors || desc.input_tensors->empty()) return;
  const TensorDesc& first = desc.input_tensors->front();
  std::optional<std::vector<uint32_t>> sizes = first.sizes;
  if (!sizes || !desc.axis || *desc.axis >= sizes->size()) {
    return FillIn(desc.output_tensor, first.data_type, std::nullopt);
  }
  (*sizes)[*desc.axis] = 0;
  for (const TensorDesc& input : *desc.input_tensors) {
    if (input.rank() != sizes->size()) return;
    (*sizes)[*desc.axis] += (*input.sizes)[*desc.axis];
  }
  FillIn(desc.output_tensor, first.data_type, sizes);
}

void Validate(const JoinDesc& desc, Diagnostics& diagnostics) {
  const NamedTensor output{"OutputTensor", desc.output_tensor};
  const bool axis_is_valid =
      desc.axis && CheckAxis("JOIN-4", *desc.axis, "Axis", output, diagnostics);
  if (!desc.input_tensors) return;

  if (desc.input_tensors->empty()) {
    diagnostics.Error("JOIN-1", "InputTensors", "at least one input is needed");
    return;
  }

  bool sizes_agree = axis_is_valid;
  uint64_t joined_size = 0;
  for (size_t i = 0; i < desc.input_tensors->size(); ++i) {
    const NamedTensor input = Input(desc, i);
    CheckSameDataType("JOIN-3", input, output, diagnostics);
    if (!CheckSameRank("JOIN-3", input, output, diagnostics)) {
      sizes_agree = false;
    } else if (axis_is_valid) {
      sizes_agree &= CheckSizesExcept("JOIN-4", input, output, *desc.axis, diagnostics);
      joined_size += (*input.desc.sizes)[*desc.axis];
    }
  }

  if (!sizes_agree || (*output.desc.sizes)[*desc.axis] == joined_size) return;
  diagnostics.Error("JOIN-4", fmt::format("OutputTensor/Sizes/{}", *desc.axis),
                    fmt::format("the size along Axis is {}; expected {}, the sum of the inputs",
                                (*output.desc.sizes)[*desc.axis], joined_size));
}

void Run(const JoinDesc& desc, std::span<const ConstTensorView> inputs,
         std::span<const TensorView> outputs) {
  int64_t start = 0;
  for (const ConstTensorView& input : inputs) {
    const int64_t size = input.layout.sizes[*desc.axis];
    CopyView(input, outputs[0].Slice(*desc.axis, start, size));
    start += size;
  }
}

}  // namespace dmlop
