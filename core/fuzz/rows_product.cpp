// SPDX-License-Identifier: Apache-2.0
// Sizes for products and convolutions of quantized matrices.
#include <algorithm>
#include <optional>

#include "core/fuzz/field_value.h"
#include "core/fuzz/random_desc.h"

namespace dmlop {
namespace product_rows {
namespace {

bool HasTensor(const OperatorDesc& op, std::string_view name) {
  const std::vector<TensorSlot> slots = TensorSlots(op);
  return std::any_of(slots.begin(), slots.end(),
                     [&](const TensorSlot& slot) { return slot.path == name; });
}

void AddSomeTensors(const DescEntropy& from, OperatorDesc& op, DataType bias_type) {
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
Sizes ParameterSizes(const DescEntropy& from, size_t rank, size_t from_last, uint32_t count) {
  Sizes sizes(rank, 1);
  if (from.OneIn(2)) sizes[rank == 1 ? 0 : rank - 1 - from_last] = count;
  return sizes;
}

// A number that is set before the sizes are drawn stays.
uint32_t Groups(const OperatorDesc& op, uint32_t drawn) {
  const std::optional<int64_t> set = NumberAt(op, "GroupCount");
  return set && *set > 0 ? static_cast<uint32_t>(*set) : drawn;
}

// --- matrices of integers ------------------------------------------------------------------------

void DrawMatrices(const DescEntropy& from, const Sizes& sizes, OperatorDesc& op) {
  const DataType real = op.name() == "MATRIX_MULTIPLY_INTEGER_TO_FLOAT"
                            ? *Get<TensorDesc>(op, "AScaleTensor").data_type
                            : DataType::kFloat32;
  AddSomeTensors(from, op, real);
  Sizes a = sizes;
  const uint32_t most_matrices = from.OneIn(8) ? 9 : 3;
  for (size_t d = 0; d + 2 < a.size(); ++d) a[d] = std::min(a[d], most_matrices);
  const uint32_t longest = from.OneIn(4) ? 60 : 9;
  const uint32_t rows = from.Size(longest);
  const uint32_t columns = from.Size(longest);
  a[a.size() - 1] = from.Size(longest);
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

// --- convolutions of integers --------------------------------------------------------------------

// {1, O, 1, 1}, perhaps without leading or trailing 1s.
Sizes ChannelSizes(const DescEntropy& from, size_t rank, uint32_t count) {
  Sizes sizes(rank, 1);
  if (from.OneIn(2)) sizes[rank == 1 || (rank < 4 && from.OneIn(2)) ? 0 : 1] = count;
  return sizes;
}

void DrawIntegerConvolution(const DescEntropy& from, const Sizes& sizes, OperatorDesc& op) {
  AddSomeTensors(from, op, DataType::kInt32);
  const size_t count = sizes.size() - 2;
  const uint32_t groups = Groups(op, from.Few(3, 12));
  const uint32_t most = groups > 3 ? 3 : 20;
  const uint32_t channels = from.SmallSize(3, most);
  const uint32_t outputs = groups * from.SmallSize(3, most);
  Sizes input = {from.Few(2, 5), groups * channels};
  Sizes filter = {outputs, channels};
  for (size_t d = 0; d < count; ++d) {
    input.push_back(from.SmallSize(8, 33));
    filter.push_back(from.Few(3, 9));
  }
  SetSizes(op, "InputTensor", input);
  SetSizes(op, "FilterTensor", filter);
  Set(op, "GroupCount", groups);
  Set(op, "Strides", from.Few(count, 3, 9));
  Set(op, "Dilations", from.Few(count, 3, 7));
  const uint64_t padding = from.OneIn(3) ? 0 : from.OneIn(4) ? 9 : 2;
  Set(op, "StartPadding", from.Numbers(count, 0, padding));
  Set(op, "EndPadding", from.Numbers(count, 0, padding));
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

// --- matrix products -----------------------------------------------------------------------------

// Draws sizes that match those of C and the output, sometimes with several chains of products.
void DrawGemm(const DescEntropy& from, const Sizes& sizes, OperatorDesc& op) {
  Sizes a = sizes;
  Sizes b = sizes;
  const size_t m = sizes.size() - 2;
  const size_t n = sizes.size() - 1;
  const uint32_t length = from.OneIn(20) ? from.Number(250, 600) : from.Size(64);
  a[n] = length;
  b[m] = length;
  if (Get<uint32_t>(op, "TransA") == 1) std::swap(a[m], a[n]);
  if (Get<uint32_t>(op, "TransB") == 1) std::swap(b[m], b[n]);
  SetSizes(op, "ATensor", a);
  SetSizes(op, "BTensor", b);
}

// Draws a filter that fits in the input and, sometimes, a larger output than necessary.
void DrawConvolution(const DescEntropy& from, const Sizes& sizes, OperatorDesc& op) {
  const size_t rank = sizes.size() - 2;
  const uint32_t groups = Groups(op, from.OneIn(3) ? from.Few(4, 16) : 1);
  const bool has_many = groups > 4;
  const bool is_forward = Get<uint32_t>(op, "Direction") == 0;
  Sizes input = sizes;
  input[1] = groups * from.SmallSize(has_many ? 2 : 4, has_many ? 4 : 40);
  const uint32_t outputs = from.SmallSize(3, has_many ? 4 : 32);
  Sizes filter = is_forward ? Sizes{outputs * groups, input[1] / groups} : Sizes{input[1], outputs};
  const Sizes kernel = from.Few(rank, rank > 2 ? 2 : 4, 9);
  const Sizes dilations = from.Few(rank, 3, 7);
  const uint64_t padding = from.OneIn(8) ? 9 : 3;
  Sizes paddings = from.Numbers(rank, 0, from.OneIn(2) ? 0 : padding);
  Sizes ends = from.Numbers(rank, 0, is_forward || from.OneIn(2) ? padding : 0);
  Sizes more(rank, 0);
  for (size_t d = 0; d < rank; ++d) {
    filter.push_back(kernel[d]);
    const uint32_t window = dilations[d] * (kernel[d] - 1) + 1;
    if (is_forward) {
      input[d + 2] = std::max(input[d + 2], window);
    } else if (paddings[d] + ends[d] >= window) {
      paddings[d] = 0;
      ends[d] = 0;
    }
    if (from.OneIn(4)) more[d] = from.Number(1, 3);
  }
  Set(op, "Strides", from.Few(rank, 4, 9));
  Set(op, "Dilations", dilations);
  Set(op, "StartPadding", paddings);
  Set(op, "EndPadding", ends);
  Set(op, "OutputPadding", more);
  Set(op, "GroupCount", groups);
  SetSizes(op, "InputTensor", input);
  SetSizes(op, "FilterTensor", filter);
  if (from.OneIn(2)) return op.Remove(*op.fields()[2]);
  Sizes bias(sizes.size(), 1);
  bias[1] = outputs * groups;
  SetSizes(op, "BiasTensor", bias);
}

constexpr SizesRow kRows[] = {
    {"CONVOLUTION", DrawConvolution},
    {"CONVOLUTION_INTEGER", DrawIntegerConvolution},
    {"GEMM", DrawGemm},
    {"MATRIX_MULTIPLY_INTEGER", DrawMatrices},
    {"MATRIX_MULTIPLY_INTEGER_TO_FLOAT", DrawMatrices},
    {"QUANTIZED_LINEAR_CONVOLUTION", DrawIntegerConvolution},
    {"QUANTIZED_LINEAR_MATRIX_MULTIPLY", DrawMatrices},
};

}  // namespace
}  // namespace product_rows

std::span<const SizesRow> ProductSizes() {
  return product_rows::kRows;
}

}  // namespace dmlop
