// SPDX-License-Identifier: Apache-2.0
// Sizes for products and convolutions of quantized matrices.
#include <algorithm>

#include "tests/support/desc.h"
#include "tests/support/linked_sizes.h"

namespace dmlop {
namespace {

using Sizes = std::vector<uint32_t>;

uint32_t NumberIn(const Entropy& from, uint64_t low, uint64_t high) {
  return static_cast<uint32_t>(from.Between(low, high));
}

void SetSizes(OperatorDesc& op, std::string_view tensor, const Sizes& sizes) {
  std::get<TensorDesc>(ValueOf(op, tensor)).sizes = sizes;
}

bool HasTensor(const OperatorDesc& op, std::string_view name) {
  const std::vector<TensorSlot> slots = TensorSlots(op);
  return std::any_of(slots.begin(), slots.end(),
                     [&](const TensorSlot& slot) { return slot.path == name; });
}

void AddSomeTensors(const Entropy& from, OperatorDesc& op, DataType bias_type) {
  for (const Field* field : TensorFieldsOf(op.info())) {
    if (!field->optional || from.OneIn(2)) continue;
    op.AddTensor(*field);
    TensorDesc& added = std::get<TensorDesc>(ValueOf(op, field->name));
    if (field->name == "BiasTensor") {
      added.data_type = bias_type;
      continue;
    }
    for (const MutableTensorSlot& slot : TensorSlots(op)) {
      if (slot.type == field->type && slot.desc->data_type) added.data_type = slot.desc->data_type;
    }
  }
}

// One value, or one for each index of the dimension `from_last` before the last one.
Sizes ParameterSizes(const Entropy& from, size_t rank, size_t from_last, uint32_t count) {
  Sizes sizes(rank, 1);
  if (from.OneIn(2)) sizes[rank == 1 ? 0 : rank - 1 - from_last] = count;
  return sizes;
}

// --- matrices ------------------------------------------------------------------------------------

void DrawMatrices(const Entropy& from, const Sizes& sizes, OperatorDesc& op) {
  const DataType real = op.name() == "MATRIX_MULTIPLY_INTEGER_TO_FLOAT"
                            ? *Get<TensorDesc>(op, "AScaleTensor").data_type
                            : DataType::kFloat32;
  AddSomeTensors(from, op, real);
  Sizes a = sizes;
  for (size_t d = 0; d + 2 < a.size(); ++d) a[d] = std::min(a[d], 3u);
  const uint32_t longest = from.OneIn(4) ? 60 : 9;
  const uint32_t rows = NumberIn(from, 1, longest);
  const uint32_t columns = NumberIn(from, 1, longest);
  a[a.size() - 1] = NumberIn(from, 1, longest);
  a[a.size() - 2] = rows;
  Sizes b = a;
  b[b.size() - 2] = a.back();
  b.back() = columns;
  SetSizes(op, "ATensor", a);
  SetSizes(op, "BTensor", b);
  const size_t rank = from.OneIn(2) ? sizes.size() : from.Between(1, 4);
  for (const char* name :
       {"AScaleTensor", "AZeroPointTensor", "OutputScaleTensor", "OutputZeroPointTensor"}) {
    if (HasTensor(op, name)) SetSizes(op, name, ParameterSizes(from, rank, 1, rows));
  }
  for (const char* name : {"BScaleTensor", "BZeroPointTensor"}) {
    if (HasTensor(op, name)) SetSizes(op, name, ParameterSizes(from, rank, 0, columns));
  }
  if (!HasTensor(op, "BiasTensor")) return;
  b[b.size() - 2] = rows;
  SetSizes(op, "BiasTensor", b);
}

// --- convolutions --------------------------------------------------------------------------------

Sizes Numbers(const Entropy& from, size_t count, uint64_t low, uint64_t high) {
  Sizes numbers(count);
  for (uint32_t& number : numbers) number = NumberIn(from, low, high);
  return numbers;
}

// {1, O, 1, 1}, perhaps without leading or trailing 1s.
Sizes ChannelSizes(const Entropy& from, size_t rank, uint32_t count) {
  Sizes sizes(rank, 1);
  if (from.OneIn(2)) sizes[rank == 1 || (rank < 4 && from.OneIn(2)) ? 0 : 1] = count;
  return sizes;
}

void DrawConvolution(const Entropy& from, const Sizes& sizes, OperatorDesc& op) {
  AddSomeTensors(from, op, DataType::kInt32);
  const size_t count = sizes.size() - 2;
  const uint32_t groups = NumberIn(from, 1, 3);
  const uint32_t channels = NumberIn(from, 1, from.OneIn(4) ? 9 : 3);
  const uint32_t outputs = groups * NumberIn(from, 1, from.OneIn(4) ? 9 : 3);
  Sizes input = {NumberIn(from, 1, 2), groups * channels};
  Sizes filter = {outputs, channels};
  const uint64_t longest = from.OneIn(5) ? 30 : 8;
  for (size_t d = 0; d < count; ++d) {
    input.push_back(NumberIn(from, 1, longest));
    filter.push_back(NumberIn(from, 1, 3));
  }
  SetSizes(op, "InputTensor", input);
  SetSizes(op, "FilterTensor", filter);
  Set(op, "GroupCount", groups);
  Set(op, "Strides", Numbers(from, count, 1, 3));
  Set(op, "Dilations", Numbers(from, count, 1, 3));
  const uint64_t padding = from.OneIn(3) ? 0 : from.OneIn(4) ? 9 : 2;
  Set(op, "StartPadding", Numbers(from, count, 0, padding));
  Set(op, "EndPadding", Numbers(from, count, 0, padding));
  const size_t rank = from.Between(1, 4);
  for (const char* name :
       {"InputScaleTensor", "InputZeroPointTensor", "OutputScaleTensor", "OutputZeroPointTensor"}) {
    if (HasTensor(op, name)) SetSizes(op, name, Sizes(rank, 1));
  }
  for (const char* name : {"FilterScaleTensor", "FilterZeroPointTensor"}) {
    if (HasTensor(op, name)) SetSizes(op, name, ChannelSizes(from, rank, outputs));
  }
  if (!HasTensor(op, "BiasTensor")) return;
  Sizes bias(sizes.size(), 1);
  bias[1] = outputs;
  SetSizes(op, "BiasTensor", bias);
}

constexpr LinkedSizes kRows[] = {
    {"CONVOLUTION_INTEGER", DrawConvolution},
    {"MATRIX_MULTIPLY_INTEGER", DrawMatrices},
    {"MATRIX_MULTIPLY_INTEGER_TO_FLOAT", DrawMatrices},
    {"QUANTIZED_LINEAR_CONVOLUTION", DrawConvolution},
    {"QUANTIZED_LINEAR_MATRIX_MULTIPLY", DrawMatrices},
};

}  // namespace

std::span<const LinkedSizes> IntegerProductSizes() {
  return kRows;
}

}  // namespace dmlop
