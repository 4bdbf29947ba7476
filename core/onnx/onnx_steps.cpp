// SPDX-License-Identifier: Apache-2.0
#include "core/onnx/onnx_steps.h"

#include <algorithm>
#include <numeric>

#include "core/base/integers.h"
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

void EmitPair(OnnxCall& call, std::string_view op, const OnnxType& type) {
  OnnxValue& a = call.In(0);
  OnnxValue& b = call.In(1);
  const OnnxSizes sizes = BroadcastSizes(call, a.sizes, b.sizes);
  EmitBinary(call, op, BroadcastTo(a, sizes), BroadcastTo(b, sizes), call.Out(0, type, sizes));
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

void EmitFill(OnnxCall& call, OnnxOperand out, const Scalar& value) {
  call.Emit("FILL_VALUE_CONSTANT",
            {{"OutputTensor", std::move(out)}, {"ValueDataType", value.type}, {"Value", value}});
}

void EmitSequence(OnnxCall& call, OnnxOperand out, const Scalar& start, const Scalar& delta) {
  call.Emit("FILL_VALUE_SEQUENCE", {{"OutputTensor", std::move(out)},
                                    {"ValueDataType", start.type},
                                    {"ValueStart", start},
                                    {"ValueDelta", delta}});
}

void EmitGemm(OnnxCall& call, OnnxOperand a, bool trans_a, OnnxOperand b, bool trans_b,
              OnnxOperand out, float alpha) {
  call.Emit("GEMM", {{"ATensor", std::move(a)},
                     {"BTensor", std::move(b)},
                     {"OutputTensor", std::move(out)},
                     {"TransA", trans_a ? "TRANSPOSE" : "NONE"},
                     {"TransB", trans_b ? "TRANSPOSE" : "NONE"},
                     {"Alpha", alpha},
                     {"Beta", 0}});
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
  if (uint64_t{sizes[d]} * sizes[d + 1] > kMostSize) return false;
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

// --- windows -------------------------------------------------------------------------------------

namespace {

// The extent of a window with its gaps.
int64_t ExtentOf(const OnnxWindows& windows, size_t d) {
  return (windows.sizes[d] - 1) * windows.dilations[d] + 1;
}

void SetSamePads(int64_t input, bool upper, size_t d, OnnxWindows& windows) {
  windows.output[d] = CeilDiv(input, windows.strides[d]);
  const int64_t total = std::max<int64_t>(
      (windows.output[d] - 1) * windows.strides[d] + ExtentOf(windows, d) - input, 0);
  windows.starts[d] = upper ? total / 2 : CeilDiv(total, 2);
  windows.ends[d] = total - windows.starts[d];
}

void SetOutput(OnnxCall& call, int64_t input, bool ceil, size_t d, OnnxWindows& windows) {
  const int64_t steps = input + windows.starts[d] + windows.ends[d] - ExtentOf(windows, d);
  if (steps < 0) {
    call.Refuse("ONX-4", "a window of {} does not fit into {} and the padding",
                ExtentOf(windows, d), input);
  }
  const int64_t stride = windows.strides[d];
  windows.output[d] = (ceil ? CeilDiv(steps, stride) : steps / stride) + 1;
  // No window begins behind the elements.
  if (ceil && (windows.output[d] - 1) * stride >= input + windows.starts[d]) {
    --windows.output[d];
    if (steps / stride >= windows.output[d]) {  // DirectML leaves no window out that fits
      const int64_t end = (windows.output[d] - 1) * stride + ExtentOf(windows, d);
      windows.ends[d] = std::max<int64_t>(end - input - windows.starts[d], 0);
    }
    call.Note("ORT's DirectML provider has a last window behind the elements here");
  }
}

void SetPads(const OnnxCall& call, OnnxWindows& windows) {
  const OnnxSizes pads = PadsOf(call, windows.sizes.size());
  const auto middle = pads.begin() + std::ssize(pads) / 2;
  windows.starts.assign(pads.begin(), middle);
  windows.ends.assign(middle, pads.end());
}

}  // namespace

void OnnxWindows::Fill(size_t count) {
  for (OnnxSizes* ones : {&sizes, &strides, &dilations, &output}) *ones = BehindOnes(*ones, count);
  for (OnnxSizes* zeros : {&starts, &ends}) {
    if (zeros->size() < count) zeros->insert(zeros->begin(), count - zeros->size(), 0);
  }
}

OnnxSizes PadsOf(const OnnxCall& call, size_t spatial) {
  OnnxSizes pads = call.Ints("pads").value_or(OnnxSizes(2 * spatial, 0));
  if (call.name() == kDynamicPads && call.Has(2)) pads = call.Integers(2);
  const bool are_right = pads.size() == 2 * spatial && std::ranges::all_of(pads, [](int64_t pad) {
                           return 0 <= pad && pad <= kMostSize;
                         });
  if (!are_right)
    call.Refuse("ONX-3", "pads {} for {}", ToString(pads), Counted(spatial, "dimension"));
  return pads;
}

OnnxSizes SpatialSizes(const OnnxCall& call, const OnnxValue& value) {
  if (value.rank() < 3) {
    call.Refuse("ONX-3", "'{}' has {}; batch, channels and spatial ones are at least 3", value.name,
                Counted(value.rank(), "dimension"));
  }
  return {value.sizes.begin() + 2, value.sizes.end()};
}

OnnxSizes SpatialOnes(OnnxSizes sizes, size_t rank) {
  if (sizes.size() < rank) sizes.insert(sizes.begin() + 2, rank - sizes.size(), 1);
  return sizes;
}

OnnxOperand ChannelsFirst(OnnxValue& value, size_t rank) {
  OnnxSizes sizes = value.sizes, strides = StridesOf(value.sizes);
  for (OnnxSizes* list : {&sizes, &strides}) {
    std::rotate(list->begin() + 1, list->end() - 1, list->end());
    *list = SpatialOnes(*list, rank);
  }
  return Strided(value, sizes, strides);
}

OnnxSizes SpatialNumbers(const OnnxCall& call, std::string_view attribute, size_t spatial) {
  const auto numbers = call.Ints(attribute).value_or(OnnxSizes(spatial, 1));
  const bool are_right = numbers.size() == spatial && std::ranges::all_of(numbers, [](int64_t n) {
                           return 1 <= n && n <= kMostSize;
                         });
  if (!are_right) {
    call.Refuse("ONX-3", "{} {} for {}", attribute, ToString(numbers),
                Counted(spatial, "dimension"));
  }
  return numbers;
}

OnnxSizes KernelShape(const OnnxCall& call, size_t spatial, const OnnxSizes* otherwise) {
  const bool is_given = call.HasAttribute("kernel_shape");
  if (!is_given && otherwise == nullptr) call.Refuse("ONX-3", "there is no kernel_shape");
  if (!is_given) return *otherwise;
  const OnnxSizes shape = SpatialNumbers(call, "kernel_shape", spatial);
  if (otherwise != nullptr && shape != *otherwise) {
    call.Refuse("ONX-4", "kernel_shape is {} and the filter's is {}", ToString(shape),
                ToString(*otherwise));
  }
  return shape;
}

OnnxWindows WindowsOf(OnnxCall& call, const OnnxSizes& input, const OnnxSizes& windows) {
  const size_t count = input.size();
  OnnxWindows result{.sizes = windows,
                     .strides = SpatialNumbers(call, "strides", count),
                     .dilations = SpatialNumbers(call, "dilations", count),
                     .starts = OnnxSizes(count, 0),
                     .ends = OnnxSizes(count, 0),
                     .output = OnnxSizes(count, 0)};
  const std::string_view auto_pad = call.Text("auto_pad", "NOTSET");
  const bool is_same = auto_pad == "SAME_UPPER" || auto_pad == "SAME_LOWER";
  if (!is_same && auto_pad != "VALID" && auto_pad != "NOTSET") {
    call.Refuse("ONX-3", "auto_pad '{}'", auto_pad);
  }
  if (auto_pad == "NOTSET") SetPads(call, result);
  const bool ceil = call.Int("ceil_mode", 0) != 0;
  for (size_t d = 0; d < count; ++d) {
    if (is_same) {
      SetSamePads(input[d], auto_pad == "SAME_UPPER", d, result);
    } else {
      SetOutput(call, input[d], ceil, d, result);
    }
  }
  return result;
}

void EmitConvolution(OnnxCall& call, std::string_view op, size_t filter_input, const OnnxType& type,
                     OnnxSettings settings) {
  OnnxValue& x = call.In(0);
  OnnxValue& filter = call.In(filter_input);
  const OnnxSizes input = SpatialSizes(call, x);
  const OnnxSizes taps = SpatialSizes(call, filter);
  if (taps.size() != input.size()) {
    call.Refuse("ONX-4", "the filter {} is none for {}", ToString(filter.sizes), ToString(x.sizes));
  }
  const OnnxWindows windows = WindowsOf(call, input, KernelShape(call, input.size(), &taps));
  OnnxSizes sizes = {x.sizes[0], filter.sizes[0]};
  sizes.insert(sizes.end(), windows.output.begin(), windows.output.end());
  const OnnxSettings own = {{"InputTensor", Packed(x)},
                            {"FilterTensor", Packed(filter)},
                            {"OutputTensor", call.Out(0, type, sizes)},
                            {"Strides", windows.strides},
                            {"Dilations", windows.dilations},
                            {"StartPadding", windows.starts},
                            {"EndPadding", windows.ends},
                            {"GroupCount", call.Int("group", 1)}};
  settings.insert(settings.end(), own.begin(), own.end());
  call.Emit(op, settings);
}

}  // namespace dmlop
