// SPDX-License-Identifier: Apache-2.0
#include "core/onnx/onnx_steps.h"

#include <numeric>

namespace dmlop {

OnnxOperand EmitUnary(OnnxCall& call, std::string_view op, OnnxOperand x, OnnxOperand out,
                      OnnxSettings more) {
  more.insert(more.begin(), {{"InputTensor", std::move(x)}, {"OutputTensor", out}});
  call.Emit(op, more);
  return out;
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

void RequireRank(const OnnxCall& call, const OnnxValue& value, size_t rank) {
  if (value.rank() == rank) return;
  call.Refuse("ONX-3", "'{}' is {}; expected {} dimensions", value.name, ToString(value.sizes),
              rank);
}

}  // namespace dmlop
