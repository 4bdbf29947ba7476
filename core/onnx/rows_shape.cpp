// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <numeric>

#include "core/base/text.h"
#include "core/onnx/onnx_steps.h"

namespace dmlop::onnx_shape {
namespace {

// --- constants -----------------------------------------------------------------------------------

void OutIntegers(OnnxCall& call, const OnnxSizes& sizes, std::span<const int64_t> integers) {
  call.OutKnown(0, kOnnxInt64, sizes, std::as_bytes(integers));
}

void OutFloats(OnnxCall& call, const OnnxSizes& sizes, std::span<const float> floats) {
  call.OutKnown(0, kOnnxFloat, sizes, std::as_bytes(floats));
}

OnnxSizes OneDimension(size_t count) {
  return {static_cast<int64_t>(count)};
}

void Constant(OnnxCall& call) {
  if (const TensorProto* tensor = call.Tensor("value")) return call.OutTensor(0, *tensor);
  if (call.HasAttribute("value_int"))
    return OutIntegers(call, {}, std::array{call.Int("value_int", 0)});
  if (call.HasAttribute("value_float")) {
    return OutFloats(call, {}, std::array{call.Float("value_float", 0)});
  }
  if (const auto ints = call.Ints("value_ints")) {
    return OutIntegers(call, OneDimension(ints->size()), *ints);
  }
  if (const auto floats = call.Floats("value_floats")) {
    return OutFloats(call, OneDimension(floats->size()), *floats);
  }
  if (call.HasAttribute("sparse_value")) call.Refuse("ONX-6", "its value is sparse");
  call.Refuse("ONX-6", "its value is text, or there is none");
}

void ConstantOfShape(OnnxCall& call) {
  const OnnxSizes sizes = RequireSizes(call.Integers(0));
  const TensorProto* value = call.Tensor("value");
  OnnxType type = kOnnxFloat;
  Scalar scalar{DataType::kFloat32};
  if (value != nullptr) {
    type = call.RequireType(value->type.number);
    scalar = {type.type, call.FirstOf(*value)};
  }
  EmitFill(call, call.Out(0, type, sizes), scalar);
}

void Shape(OnnxCall& call) {
  const OnnxSizes& sizes = call.In(0).sizes;
  const auto rank = static_cast<int64_t>(sizes.size());
  const auto place = [&](int64_t at) {
    return std::clamp<int64_t>(at < 0 ? at + rank : at, 0, rank);
  };
  const int64_t start = place(call.Int("start", 0));
  const int64_t end = std::max(place(call.Int("end", rank)), start);
  OutIntegers(
      call, {end - start},
      std::span(sizes).subspan(static_cast<size_t>(start), static_cast<size_t>(end - start)));
}

void Size(OnnxCall& call) {
  OutIntegers(call, {}, std::array{CountOf(call.In(0).sizes)});
}

// --- other sizes ---------------------------------------------------------------------------------

// Copies the elements to other sizes with as many.
void EmitReshape(OnnxCall& call, const OnnxSizes& sizes) {
  OnnxValue& x = call.In(0);
  if (CountOf(sizes) != CountOf(x.sizes)) {
    call.Refuse("ONX-4", "{} has {} and {} {}", ToString(x.sizes),
                Counted(CountOf(x.sizes), "element"), ToString(sizes), CountOf(sizes));
  }
  EmitUnary(call, call.row().operators, Packed(x), call.Out(0, x.type, sizes, x.sizes));
}

void Identity(OnnxCall& call) {
  EmitReshape(call, call.In(0).sizes);
}

void Dropout(OnnxCall& call) {
  const OnnxValue& x = call.In(0);
  if (call.Has(2) && call.Value(2).Integer(0) != 0) {
    call.Refuse("ONX-3", "no DirectML operator has training_mode 1");
  }
  EmitReshape(call, x.sizes);
  if (!call.Wants(1)) return;
  const OnnxType type = call.version() < 10 ? x.type : kOnnxBool;
  EmitFill(call, call.Out(1, type, x.sizes), ScalarOf(type.type, 1));
  call.Note("ORT's DirectML provider computes no mask here");
}

// The product of the sizes but for the one that is -1.
int64_t ProductOfOthers(const OnnxSizes& sizes) {
  int64_t product = 1;
  for (const int64_t size : sizes) {
    if (size != -1) product = SaturatedProduct({product, size});
  }
  return product;
}

void Reshape(OnnxCall& call) {
  const OnnxSizes& from = call.In(0).sizes;
  OnnxSizes sizes =
      call.version() < 5 ? call.Ints("shape").value_or(OnnxSizes()) : call.Integers(1);
  const bool allows_zero = call.Int("allowzero", 0) != 0;
  for (size_t d = 0; d < sizes.size(); ++d) {
    if (sizes[d] < -1) call.Refuse("ONX-4", "the shape {} has a negative size", ToString(sizes));
    if (sizes[d] != 0 || allows_zero) continue;
    if (d >= from.size())
      call.Refuse("ONX-4", "a 0 in the shape {} copies no size", ToString(sizes));
    sizes[d] = from[d];
  }
  const auto inferred = std::ranges::find(sizes, -1);
  if (inferred != sizes.end()) {
    const int64_t others = ProductOfOthers(sizes);
    const int64_t count = CountOf(from);
    if (std::ranges::count(sizes, -1) > 1 || (others == 0 ? count != 0 : count % others != 0)) {
      call.Refuse("ONX-4", "the shape {} does not divide {}", ToString(sizes), ToString(from));
    }
    *inferred = others == 0 ? 0 : count / others;
    if (allows_zero) call.Note("ORT's DirectML provider infers no size here, with allowzero");
  }
  EmitReshape(call, sizes);
}

void Flatten(OnnxCall& call) {
  const OnnxSizes& from = call.In(0).sizes;
  const auto rank = static_cast<int64_t>(from.size());
  int64_t axis = call.Int("axis", 1);
  if (axis < -rank || axis > rank) call.Refuse("ONX-3", "axis {} is out of range", axis);
  if (axis < 0) axis += rank;
  const auto middle = from.begin() + axis;
  EmitReshape(call, {CountOf({from.begin(), middle}), CountOf({middle, from.end()})});
}

// The axes of an attribute or, in later versions, of an input.
std::optional<std::vector<int64_t>> AxesOf(const OnnxCall& call, int since_input) {
  if (call.version() < since_input) return call.Ints("axes");
  return call.Has(1) ? std::optional(call.Integers(1)) : std::nullopt;
}

void Squeeze(OnnxCall& call) {
  const OnnxSizes& from = call.In(0).sizes;
  std::vector<bool> goes(from.size());
  const auto axes = AxesOf(call, 13);
  for (size_t d = 0; d < from.size() && !axes; ++d) goes[d] = from[d] == 1;
  for (const int64_t given : axes.value_or(std::vector<int64_t>())) {
    const size_t axis = call.Axis(given, from.size());
    if (from[axis] != 1) call.Refuse("ONX-4", "axis {} of {} is not 1", given, ToString(from));
    goes[axis] = true;
  }
  OnnxSizes sizes;
  for (size_t d = 0; d < from.size(); ++d) {
    if (!goes[d]) sizes.push_back(from[d]);
  }
  EmitReshape(call, sizes);
}

void Unsqueeze(OnnxCall& call) {
  const OnnxSizes& from = call.In(0).sizes;
  const auto axes = AxesOf(call, 13);
  if (!axes) call.Refuse("ONX-3", "there are no axes");
  const size_t rank = from.size() + axes->size();
  std::vector<bool> is_new(rank);
  for (const size_t axis : call.Axes(*axes, rank)) is_new[axis] = true;
  OnnxSizes sizes;
  size_t next = 0;
  for (size_t d = 0; d < rank; ++d) sizes.push_back(is_new[d] ? 1 : from[next++]);
  EmitReshape(call, sizes);
}

// --- other places --------------------------------------------------------------------------------

void Transpose(OnnxCall& call) {
  OnnxValue& x = call.In(0);
  std::vector<int64_t> order(x.rank());
  std::iota(order.rbegin(), order.rend(), 0);
  order = call.Ints("perm").value_or(order);
  std::vector<int64_t> axes(x.rank());
  std::iota(axes.begin(), axes.end(), 0);
  if (!std::ranges::is_permutation(order, axes))
    call.Refuse("ONX-3", "perm {} is no order of {}", ToString(order),
                Counted(x.rank(), "dimension"));
  const OnnxSizes strides = StridesOf(x.sizes);
  OnnxSizes to_sizes, to_strides;
  for (const int64_t axis : order) {
    to_sizes.push_back(x.sizes[static_cast<size_t>(axis)]);
    to_strides.push_back(strides[static_cast<size_t>(axis)]);
  }
  EmitUnary(call, "ELEMENT_WISE_IDENTITY", Strided(x, to_sizes, to_strides),
            call.Out(0, x.type, to_sizes));
}

void Expand(OnnxCall& call) {
  OnnxValue& x = call.In(0);
  const OnnxSizes sizes = BroadcastSizes(call, x.sizes, RequireSizes(call.Integers(1)));
  EmitUnary(call, "ELEMENT_WISE_IDENTITY", BroadcastTo(x, sizes), call.Out(0, x.type, sizes));
}

void Concat(OnnxCall& call) {
  OnnxValue& first = call.In(0);
  if (call.version() >= 4 && !call.HasAttribute("axis")) call.Refuse("ONX-3", "there is no axis");
  const size_t axis = call.Axis(call.Int("axis", 1), first.rank());
  OnnxSizes sizes = first.sizes;
  sizes[axis] = 0;
  std::vector<OnnxOperand> parts;
  for (size_t i = 0; i < call.input_count(); ++i) {
    OnnxValue& part = call.In(i);
    if (part.rank() != first.rank()) {
      call.Refuse("ONX-4", "its inputs are {} and {}", ToString(first.sizes), ToString(part.sizes));
    }
    sizes[axis] += part.sizes[axis];
    if (!part.empty()) parts.push_back(Packed(part));
  }
  call.Emit(
      "JOIN",
      {{"InputTensors", parts}, {"OutputTensor", call.Out(0, first.type, sizes)}, {"Axis", axis}});
}

// The sizes of the parts along the axis.
std::vector<int64_t> PartsOf(const OnnxCall& call, int64_t size) {
  if (call.version() < 13 && call.HasAttribute("split")) return *call.Ints("split");
  if (call.version() >= 13 && call.Has(1)) {
    if (call.HasAttribute("num_outputs")) {
      call.Refuse("ONX-4", "the parts are said twice, by num_outputs and by input 1");
    }
    return call.Integers(1);
  }
  const auto count = call.Int("num_outputs", static_cast<int64_t>(call.output_count()));
  const bool may_be_unequal = call.HasAttribute("num_outputs");
  const bool can_be_split = count >= 1 && (may_be_unequal || size % count == 0);
  if (!can_be_split) {
    call.Refuse("ONX-4", "{} cannot be split into {}", Counted(size, "element"),
                Counted(count, "equal part"));
  }
  const int64_t part = (size + count - 1) / count;
  if (may_be_unequal && part * (count - 1) >= size) {
    call.Refuse("ONX-4", "of {} in {} of {}, none is left for the last", Counted(size, "element"),
                Counted(count, "part"), part);
  }
  std::vector<int64_t> parts(static_cast<size_t>(std::min<int64_t>(count, 1 << 16)), part);
  parts.back() = size - part * (count - 1);
  return parts;
}

void Split(OnnxCall& call) {
  OnnxValue& x = call.In(0);
  const size_t axis = call.Axis(call.Int("axis", 0), x.rank());
  const std::vector<int64_t> parts = PartsOf(call, x.sizes[axis]);
  const int64_t size = x.sizes[axis];
  const bool are_right =
      parts.size() == call.output_count() &&
      std::ranges::all_of(parts, [&](int64_t part) { return 0 <= part && part <= size; }) &&
      std::accumulate(parts.begin(), parts.end(), int64_t{0}) == size;
  if (!are_right) {
    call.Refuse("ONX-4", "parts {} do not make up {} of axis {} of {}", ToString(parts),
                Counted(call.output_count(), "output"), axis, ToString(x.sizes));
  }
  std::vector<OnnxOperand> outputs;
  for (size_t i = 0; i < parts.size(); ++i) {
    OnnxSizes sizes = x.sizes;
    sizes[axis] = parts[i];
    outputs.push_back(call.Out(i, x.type, sizes));
  }
  call.Emit("SPLIT", {{"InputTensor", Packed(x)}, {"OutputTensors", outputs}, {"Axis", axis}});
}

// One axis of a slice: the window of the input, and the step within it.
struct Window {
  int64_t begin, size, step;

  int64_t count() const { return (size + std::abs(step) - 1) / std::abs(step); }
};

Window WindowOf(int64_t start, int64_t end, int64_t step, int64_t size) {
  const auto place = [&](int64_t at, int64_t least, int64_t most) {
    return std::clamp(at < 0 ? at + size : at, least, most);
  };
  if (step > 0) {
    const int64_t begin = place(start, 0, size);
    return {begin, std::max<int64_t>(place(end, 0, size) - begin, 0), step};
  }
  if (size == 0) return {0, 0, step};
  const int64_t first = place(start, 0, size - 1);
  const int64_t last = place(end, -1, size - 1) + 1;
  return {last, std::max<int64_t>(first + 1 - last, 0), step};
}

std::vector<int64_t> SliceNumbers(const OnnxCall& call, std::string_view name, size_t input) {
  if (call.version() < 10) return call.Ints(name).value_or(std::vector<int64_t>());
  return call.Has(input) ? call.Integers(input) : std::vector<int64_t>();
}

void Slice(OnnxCall& call) {
  OnnxValue& x = call.In(0);
  const std::vector<int64_t> starts = SliceNumbers(call, "starts", 1);
  const std::vector<int64_t> ends = SliceNumbers(call, "ends", 2);
  std::vector<int64_t> axes = SliceNumbers(call, "axes", 3);
  std::vector<int64_t> steps = SliceNumbers(call, "steps", 4);
  if (axes.empty()) {
    axes.resize(starts.size());
    std::iota(axes.begin(), axes.end(), 0);
  }
  if (steps.empty()) steps.assign(starts.size(), 1);
  if (ends.size() != starts.size() || axes.size() != starts.size() ||
      steps.size() != starts.size()) {
    call.Refuse("ONX-3", "starts, ends, axes and steps differ in length");
  }
  const std::vector<size_t> cut = call.Axes(axes, x.rank());
  OnnxSizes sizes = x.sizes, offsets(x.rank()), windows = x.sizes, strides(x.rank(), 1);
  for (size_t i = 0; i < starts.size(); ++i) {
    const size_t axis = cut[i];
    // Windows are no longer than the axis, so neither are the steps that differ.
    const int64_t step = std::clamp<int64_t>(steps[i], -0x7FFFFFFF, 0x7FFFFFFF);
    if (step == 0) call.Refuse("ONX-3", "a step is 0");
    const Window window = WindowOf(starts[i], ends[i], step, x.sizes[axis]);
    sizes[axis] = window.count();
    offsets[axis] = window.begin;
    windows[axis] = window.size;
    strides[axis] = step;
  }
  EmitUnary(call, "SLICE1", Packed(x), call.Out(0, x.type, sizes),
            {{"InputWindowOffsets", offsets},
             {"InputWindowSizes", windows},
             {"InputWindowStrides", strides}});
}

const OnnxRow kRows[] = {
    {"Concat", "7 11 13", "JOIN", Concat, "without empty inputs"},
    {"Constant", "7 9 11 12 13 19 21 23 24 25", "", Constant, "known while the model is read"},
    {"ConstantOfShape", "9 20 21 23 24 25", "FILL_VALUE_CONSTANT", ConstantOfShape},
    {"Dropout", "7 10 12 13 22", "ACTIVATION_IDENTITY", Dropout,
     "only in inference; its mask: FILL_VALUE_CONSTANT"},
    {"Expand", "8 13", "ELEMENT_WISE_IDENTITY", Expand, "repeated by strides of 0"},
    {"Flatten", "7 9 11 13 21 23 24 25", "ELEMENT_WISE_IDENTITY", Flatten},
    {"Identity", "7 13 14 16 19 21 23 24 25", "ELEMENT_WISE_IDENTITY", Identity},
    {"Reshape", "7 13 14 19 21 23 24 25", "ELEMENT_WISE_IDENTITY", Reshape},
    {"Shape", "7 13 15 19 21 23 24 25", "", Shape, "known while the model is read"},
    {"Size", "7 13 19 21 23 24 25", "", Size, "known while the model is read"},
    {"Slice", "7 10 11 13", "SLICE1", Slice},
    {"Split", "7 11 13 18", "SPLIT", Split},
    {"Squeeze", "7 11 13 21 23 24 25", "ELEMENT_WISE_IDENTITY", Squeeze},
    {"Transpose", "7 13 21 23 24 25", "ELEMENT_WISE_IDENTITY", Transpose, "permuted by strides"},
    {"Unsqueeze", "7 11 13 21 23 24 25", "ELEMENT_WISE_IDENTITY", Unsqueeze},
};

}  // namespace

extern const std::span<const OnnxRow> kOnnxRows = kRows;

}  // namespace dmlop::onnx_shape
