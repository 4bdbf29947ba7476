// SPDX-License-Identifier: Apache-2.0
#include "core/onnx/onnx_steps.h"

#include <algorithm>
#include <numeric>

#include "core/base/text.h"

namespace dmlop {

OnnxOperand EmitUnary(OnnxCall& call, std::string_view op, OnnxOperand x, OnnxOperand out,
                      OnnxSettings more) {
  more.insert(more.begin(), {{"InputTensor", std::move(x)}, {"OutputTensor", out}});
  call.Emit(op, more);
  return out;
}

void EmitElements(OnnxCall& call, std::string_view op, const OnnxType& type,
                  const OnnxSettings& more) {
  OnnxValue& x = call.In(0);
  EmitUnary(call, op, Packed(x), call.Out(0, type, x.sizes), more);
}

OnnxOperand EmitBinary(OnnxCall& call, std::string_view op, OnnxOperand a, OnnxOperand b,
                       OnnxOperand out) {
  call.Emit(op, {{"ATensor", std::move(a)}, {"BTensor", std::move(b)}, {"OutputTensor", out}});
  return out;
}

OnnxValue& CastTo(OnnxCall& call, OnnxValue& value, OnnxType type) {
  if (value.type.number == type.number) return value;
  return *EmitUnary(call, "CAST", Packed(value), call.Temporary(type, value.sizes)).value;
}

OnnxOperand EmitReduce(OnnxCall& call, std::string_view function, OnnxOperand x,
                       const OnnxSizes& axes, OnnxOperand out) {
  return EmitUnary(call, "REDUCE", std::move(x), std::move(out),
                   {{"Function", function}, {"Axes", axes}});
}

OnnxSizes ReducedSizes(OnnxSizes sizes, const OnnxSizes& axes) {
  for (const int64_t axis : axes) sizes[static_cast<size_t>(axis)] = 1;
  return sizes;
}

OnnxValue& NumberOf(OnnxCall& call, OnnxType type, double number) {
  const Scalar scalar = ScalarOf(type.type, number);
  return call.Constant(type, {}, std::span(scalar.bytes).first(ByteWidth(type.type)));
}

OnnxSizes CountedFrom(int64_t first, int64_t last) {
  OnnxSizes numbers(static_cast<size_t>(std::max<int64_t>(last - first + 1, 0)));
  std::iota(numbers.begin(), numbers.end(), first);
  return numbers;
}

OnnxOperand EmitPart(OnnxCall& call, OnnxOperand from, size_t axis, int64_t begin, int64_t size,
                     int64_t step) {
  OnnxSizes windows(from.desc.sizes->begin(), from.desc.sizes->end());
  OnnxSizes sizes = windows, offsets(windows.size(), 0), strides(windows.size(), 1);
  sizes[axis] = size;
  offsets[axis] = begin;
  windows[axis] = (size - 1) * step + 1;
  strides[axis] = step;
  const OnnxOperand out = call.Temporary(from.value->type, sizes);
  return EmitUnary(call, "SLICE1", std::move(from), out,
                   {{"InputWindowOffsets", offsets},
                    {"InputWindowSizes", windows},
                    {"InputWindowStrides", strides}});
}

OnnxOperand QuantizationParameter(OnnxValue& value, size_t axis, size_t rank) {
  return CountOf(value.sizes) == 1 ? Reshaped(value, OnnxSizes(rank, 1)) : Along(value, axis, rank);
}

void AddParameter(OnnxCall& call, std::string_view field, size_t input, size_t axis, size_t rank,
                  OnnxSettings& settings) {
  if (call.Has(input))
    settings.emplace_back(field, QuantizationParameter(call.In(input), axis, rank));
}

namespace {

bool CanJoin(const TensorDesc& tensor, size_t d) {
  const std::vector<uint32_t>& sizes = *tensor.sizes;
  if (uint64_t{sizes[d]} * sizes[d + 1] > 0x7FFFFFFF) return false;
  if (!tensor.strides || sizes[d] == 1 || sizes[d + 1] == 1) return true;
  return (*tensor.strides)[d] == uint64_t{(*tensor.strides)[d + 1]} * sizes[d + 1];
}

// Makes dimension d and the next one dimension.
void JoinDimensions(TensorDesc& tensor, size_t d) {
  std::vector<uint32_t>& sizes = *tensor.sizes;
  const auto at = static_cast<std::ptrdiff_t>(d);
  if (tensor.strides) tensor.strides->erase(tensor.strides->begin() + at + (sizes[d + 1] == 1));
  sizes[d] *= sizes[d + 1];
  sizes.erase(sizes.begin() + at + 1);
}

}  // namespace

void JoinBatches(const OnnxCall& call, const std::vector<TensorDesc*>& tensors) {
  constexpr size_t kMostRank = 4;
  const std::vector<uint32_t>& sizes = *tensors.front()->sizes;
  for (size_t d = 0; sizes.size() > kMostRank;) {
    if (d + 3 >= sizes.size()) {
      call.Refuse("ONX-3", "its matrices are repeated over more dimensions than DirectML has");
    }
    const bool can_join =
        std::ranges::all_of(tensors, [&](const TensorDesc* tensor) { return CanJoin(*tensor, d); });
    if (!can_join) ++d;
    for (TensorDesc* tensor : tensors) {
      if (can_join) JoinDimensions(*tensor, d);
    }
  }
}

OnnxProduct ProductOf(const OnnxCall& call, OnnxValue& a, OnnxValue& b) {
  if (a.rank() == 0 || b.rank() == 0) call.Refuse("ONX-4", "a scalar is no matrix");
  OnnxSizes left = a.sizes, right = b.sizes;
  if (a.rank() == 1) left.insert(left.begin(), 1);
  if (b.rank() == 1) right.push_back(1);
  const OnnxSizes batch =
      BroadcastSizes(call, {left.begin(), left.end() - 2}, {right.begin(), right.end() - 2});
  const auto of_batch = [&](int64_t rows, int64_t columns) {
    OnnxSizes all = batch;
    all.insert(all.end(), {rows, columns});
    return all;
  };
  const int64_t rows = left[left.size() - 2], columns = right.back();
  OnnxSizes sizes = batch;
  if (a.rank() > 1) sizes.push_back(rows);
  if (b.rank() > 1) sizes.push_back(columns);
  OnnxProduct product{RepeatedTo(a, left, of_batch(rows, left.back())),
                      RepeatedTo(b, right, of_batch(right[right.size() - 2], columns)),
                      sizes,
                      {}};
  TensorDesc output = PackedDesc(a.type.type, of_batch(rows, columns));
  JoinBatches(call, {&product.a.desc, &product.b.desc, &output});
  product.laid_out.assign(output.sizes->begin(), output.sizes->end());
  return product;
}

void RequireRank(const OnnxCall& call, const OnnxValue& value, size_t rank) {
  if (value.rank() == rank) return;
  call.Refuse("ONX-3", "'{}' is {}; expected {}", value.name, ToString(value.sizes),
              Counted(rank, "dimension"));
}

}  // namespace dmlop
