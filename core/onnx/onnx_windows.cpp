// SPDX-License-Identifier: Apache-2.0
#include "core/onnx/onnx_windows.h"

#include <algorithm>

#include "core/base/text.h"

namespace dmlop {
namespace {

constexpr int64_t kMost = 0x7FFFFFFF;

int64_t DividedUp(int64_t a, int64_t b) {
  return (a + b - 1) / b;
}

// The extent of a window with its gaps.
int64_t ExtentOf(const OnnxWindows& windows, size_t d) {
  return (windows.sizes[d] - 1) * windows.dilations[d] + 1;
}

void SetSamePads(int64_t input, bool upper, size_t d, OnnxWindows& windows) {
  windows.output[d] = DividedUp(input, windows.strides[d]);
  const int64_t total = std::max<int64_t>(
      (windows.output[d] - 1) * windows.strides[d] + ExtentOf(windows, d) - input, 0);
  windows.starts[d] = upper ? total / 2 : DividedUp(total, 2);
  windows.ends[d] = total - windows.starts[d];
}

void SetOutput(OnnxCall& call, int64_t input, bool ceil, size_t d, OnnxWindows& windows) {
  const int64_t steps = input + windows.starts[d] + windows.ends[d] - ExtentOf(windows, d);
  if (steps < 0) {
    call.Refuse("ONX-4", "a window of {} does not fit into {} and the padding",
                ExtentOf(windows, d), input);
  }
  const int64_t stride = windows.strides[d];
  windows.output[d] = (ceil ? DividedUp(steps, stride) : steps / stride) + 1;
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
  const size_t count = windows.sizes.size();
  const auto pads = call.Ints("pads").value_or(OnnxSizes(2 * count, 0));
  const bool are_right = pads.size() == 2 * count && std::ranges::all_of(pads, [](int64_t pad) {
                           return 0 <= pad && pad <= kMost;
                         });
  if (!are_right)
    call.Refuse("ONX-3", "pads {} for {}", ToString(pads), Counted(count, "dimension"));
  const auto middle = pads.begin() + static_cast<std::ptrdiff_t>(count);
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
                           return 1 <= n && n <= kMost;
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
