#include "core/ops/join.h"

#include <algorithm>

#include "core/ops/copy_views.h"
#include "core/ops/parts.h"

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
  uint64_t joined_size = 0;
  for (const TensorDesc& input : *desc.input_tensors) {
    if (input.rank() != sizes->size()) {  // which is reported against the first one's sizes
      return FillIn(desc.output_tensor, first.data_type, first.sizes);
    }
    joined_size += (*input.sizes)[*desc.axis];
  }
  // A sum beyond 32 bits saturates, and is then refused because the inputs do not add up to it.
  (*sizes)[*desc.axis] = static_cast<uint32_t>(std::min<uint64_t>(joined_size, UINT32_MAX));
  FillIn(desc.output_tensor, first.data_type, sizes);
}

void Validate(const JoinDesc& desc, Diagnostics& diagnostics) {
  Validate({{"OutputTensor", desc.output_tensor}, "InputTensors", desc.input_tensors, desc.axis},
           {.count = "JOIN-1", .type = "JOIN-3", .sizes = "JOIN-4"}, diagnostics);
}

void Run(const JoinDesc& desc, std::span<const ConstTensorView> inputs,
         std::span<const TensorView> outputs) {
  std::vector<Move> moves;
  int64_t start = 0;
  for (const ConstTensorView& input : inputs) {
    const int64_t size = input.layout.sizes[*desc.axis];
    moves.push_back({input, outputs[0].Slice(*desc.axis, start, size)});
    start += size;
  }
  CopyAll(moves);
}

}  // namespace dmlop
