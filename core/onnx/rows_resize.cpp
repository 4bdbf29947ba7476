// SPDX-License-Identifier: Apache-2.0
// Resize and Upsample.
#include <algorithm>
#include <cmath>
#include <limits>

#include "core/base/text.h"
#include "core/onnx/onnx_steps.h"

namespace dmlop::onnx_resize {
namespace {

// One dimension: the number of elements before and behind, the factor that is asked for, and the
// part of the input that tf_crop_and_resize takes.
struct Axis {
  int64_t input;
  int64_t output;
  float scale = 1;
  float begin = 0;
  float end = 1;
};

// The rule by which coordinates of the output become those of the input; see RESAMPLE3.
struct Sampling {
  double scale;
  double input_offset;
  double output_offset;
};

constexpr double kAllFromFirst = std::numeric_limits<float>::max();

// --- sizes ---------------------------------------------------------------------------------------

std::vector<size_t> AxesOf(const OnnxCall& call, size_t rank) {
  return call.Axes(call.Ints("axes").value_or(CountedFrom(0, static_cast<int64_t>(rank) - 1)),
                   rank);
}

bool IsGiven(const OnnxCall& call, size_t input) {
  return call.Has(input) && !call.In(input).empty();
}

void RequireCount(const OnnxCall& call, std::string_view noun, size_t count, size_t axes,
                  size_t of_each = 1) {
  if (count == of_each * axes) return;
  call.Refuse("ONX-4", "{} for {}", Counted(count, noun), Counted(axes, "axis"));
}

void SetRegion(const OnnxCall& call, const std::vector<size_t>& axes, std::vector<Axis>& all) {
  const std::vector<double> region = call.Numbers(1);
  RequireCount(call, "roi number", region.size(), axes.size(), 2);
  for (size_t i = 0; i < axes.size(); ++i) {
    all[axes[i]].begin = static_cast<float>(region[i]);
    all[axes[i]].end = static_cast<float>(region[axes.size() + i]);
  }
}

void SetScales(const OnnxCall& call, const std::vector<double>& scales, bool crops,
               const std::vector<size_t>& axes, std::vector<Axis>& all) {
  RequireCount(call, "scale", scales.size(), axes.size());
  for (size_t i = 0; i < axes.size(); ++i) {
    Axis& axis = all[axes[i]];
    axis.scale = static_cast<float>(scales[i]);
    const float taken = crops ? static_cast<float>(axis.input) * (axis.end - axis.begin)
                              : static_cast<float>(axis.input);
    const float size = std::floor(taken * axis.scale);
    if (!(size >= 0 && size < 0x1p31F))
      call.Refuse("ONX-4", "scale {} of {}", axis.scale, axis.input);
    axis.output = static_cast<int64_t>(size);
  }
}

void SetSizes(const OnnxCall& call, const std::vector<int64_t>& sizes,
              const std::vector<size_t>& axes, std::vector<Axis>& all) {
  RequireCount(call, "size", sizes.size(), axes.size());
  for (size_t i = 0; i < axes.size(); ++i) {
    Axis& axis = all[axes[i]];
    axis.output = sizes[i];
    axis.scale =
        static_cast<float>(static_cast<double>(sizes[i]) / static_cast<double>(axis.input));
  }
}

// One factor for all axes, so that the sizes are not exceeded, or are reached.
void KeepAspectRatio(OnnxCall& call, const std::vector<size_t>& axes, std::vector<Axis>& all) {
  const std::string_view policy = call.Text("keep_aspect_ratio_policy", "stretch");
  if (policy == "stretch" || axes.empty()) return;
  if (policy != "not_larger" && policy != "not_smaller") {
    call.Refuse("ONX-3", "keep_aspect_ratio_policy '{}'", policy);
  }
  const auto factor = [&](size_t d) {
    return static_cast<double>(all[d].output) / static_cast<double>(all[d].input);
  };
  double scale = factor(axes[0]);
  for (const size_t d : axes) {
    scale = policy == "not_larger" ? std::min(scale, factor(d)) : std::max(scale, factor(d));
  }
  for (const size_t d : axes) {
    all[d].scale = static_cast<float>(scale);
    all[d].output =
        static_cast<int64_t>(std::floor(scale * static_cast<double>(all[d].input) + 0.5));
  }
  call.Note("ORT's DirectML provider ignores keep_aspect_ratio_policy");
}

// --- coordinates ---------------------------------------------------------------------------------

// All elements lie at the first one. A scale that says so without more turns the filter of
// antialias off, so then it is the one that is asked for.
Sampling FirstSampling(const OnnxCall& call, const Axis& axis) {
  const bool is_filtered = axis.input > 1 && call.Int("antialias", 0) != 0;
  return {is_filtered ? axis.scale : kAllFromFirst, 0, 0};
}

Sampling CropSampling(const OnnxCall& call, const Axis& axis) {
  const double last = static_cast<double>(axis.input - 1);
  const double begin = axis.begin, end = axis.end;
  const bool is_one = axis.output == 1;
  const double lowest = is_one ? (axis.begin + axis.end) / 2 : axis.begin;
  const double highest = is_one ? lowest : end;
  if (lowest * last < 0 || highest * last > last || end < begin) {
    call.Refuse("ONX-3", "tf_crop_and_resize from {} to {} takes what lies outside of the input",
                begin, end);
  }
  // The first coordinate is a number of FLOAT32 before nearest_mode rounds it.
  const auto offset = static_cast<float>(-lowest * last);
  if (is_one) return {1, offset, 0};
  const double taken = (end - begin) * last;
  const double scale = taken == 0 ? kAllFromFirst : static_cast<double>(axis.output - 1) / taken;
  return {scale, offset, 0};
}

Sampling SamplingOf(const OnnxCall& call, std::string_view mode, const Axis& axis) {
  if (mode == "tf_half_pixel_for_nn" && call.version() > 11) {
    call.Refuse("ONX-3", "coordinate_transformation_mode '{}', which only version 11 has", mode);
  }
  const double scale = axis.scale;
  const double input = static_cast<double>(axis.input), output = static_cast<double>(axis.output);
  if (mode == "half_pixel") return {scale, 0.5, -0.5};
  if (mode == "pytorch_half_pixel") {
    return axis.output > 1 ? Sampling{scale, 0.5, -0.5} : FirstSampling(call, axis);
  }
  if (mode == "asymmetric") return {scale, 0, 0};
  if (mode == "align_corners") {
    if (axis.input == 1 || axis.output == 1) return FirstSampling(call, axis);
    return {(output - 1) / (input - 1), 0, 0};
  }
  if (mode == "tf_half_pixel_for_nn") return {scale, 0, -0.5};
  if (mode == "half_pixel_symmetric") {
    return {scale, 0.5 - input / 2 * (1 - output / (scale * input)), -0.5};
  }
  if (mode != "tf_crop_and_resize") {
    call.Refuse("ONX-3", "coordinate_transformation_mode '{}'", mode);
  }
  return CropSampling(call, axis);
}

// Notes where ORT has other scales.
void NoteSampling(OnnxCall& call, std::string_view mode, const std::vector<Axis>& axes) {
  const auto differs = [](const Axis& axis) { return (axis.input > 1) != (axis.output > 1); };
  if (mode == "pytorch_half_pixel" && std::ranges::any_of(axes, differs)) {
    call.Note("ORT's DirectML provider takes the sizes of the input for those of the output here");
  }
  const auto takes_less = [](const Axis& axis) {
    const float taken = (axis.end - axis.begin) * static_cast<float>(axis.input - 1);
    return axis.input > 1 && (axis.output == 1 || taken < 1);
  };
  if (mode == "tf_crop_and_resize" && std::ranges::any_of(axes, takes_less)) {
    call.Note("ORT's DirectML provider has other scales below one pixel and for outputs of one");
  }
}

struct Nearest {
  std::string_view mode;
  double offset;
  std::string_view direction;
};

constexpr Nearest kNearest[] = {{"round_prefer_floor", 0.5, "INCREASING"},
                                {"round_prefer_ceil", -0.5, "DECREASING"},
                                {"floor", 0, "DECREASING"},
                                {"ceil", 0, "INCREASING"}};

Nearest NearestCalled(const OnnxCall& call, std::string_view mode) {
  const auto* found = std::ranges::find(kNearest, mode, &Nearest::mode);
  if (found == std::end(kNearest)) call.Refuse("ONX-3", "nearest_mode '{}'", mode);
  return *found;
}

// --- rows ----------------------------------------------------------------------------------------

bool IsOne(const Axis& axis) {
  return axis.input == 1 && axis.output == 1;
}

bool IsCopied(const Axis& axis) {
  return axis.scale == 1 && axis.input == axis.output && axis.begin == 0 && axis.end == 1;
}

// RESAMPLE3 has at most 4 dimensions. As far as there are more, those of size 1 are left out, and
// those that are copied joined.
void JoinCopied(std::vector<Axis>& axes) {
  for (size_t d = axes.size(); d-- > 0 && axes.size() > 4;) {
    if (!IsOne(axes[d])) {
      if (d == 0 || !IsCopied(axes[d]) || !IsCopied(axes[d - 1])) continue;
      axes[d - 1].input = SaturatedProduct({axes[d - 1].input, axes[d].input});
      axes[d - 1].output = axes[d - 1].input;
    }
    axes.erase(axes.begin() + static_cast<std::ptrdiff_t>(d));
  }
}

OnnxSizes SizesOf(const std::vector<Axis>& axes, int64_t Axis::*member) {
  OnnxSizes sizes;
  for (const Axis& axis : axes) sizes.push_back(axis.*member);
  return sizes;
}

struct Modes {
  bool is_nearest;
  std::string_view coordinates;
  std::string_view nearest;
};

void EmitResample(OnnxCall& call, const Modes& modes, std::vector<Axis> axes) {
  OnnxValue& x = call.In(0);
  const OnnxSizes sizes = RequireSizes(SizesOf(axes, &Axis::output));
  JoinCopied(axes);
  const Nearest nearest = modes.is_nearest ? NearestCalled(call, modes.nearest) : kNearest[2];
  std::vector<float> scales, input_offsets, output_offsets;
  for (const Axis& axis : axes) {
    const Sampling sampling = SamplingOf(call, modes.coordinates, axis);
    scales.push_back(static_cast<float>(sampling.scale));
    input_offsets.push_back(
        static_cast<float>(sampling.input_offset + (modes.is_nearest ? nearest.offset : 0)));
    output_offsets.push_back(static_cast<float>(sampling.output_offset));
  }
  const bool is_antialiased = call.Int("antialias", 0) != 0;
  if (is_antialiased && modes.is_nearest) call.Refuse("ONX-3", "antialias with mode 'nearest'");
  const bool is_mild =
      std::ranges::any_of(scales, [](float scale) { return 0.5F <= scale && scale < 1; });
  if (is_antialiased && is_mild)
    call.Note("DirectML's filter is another than ONNX's for scales from 1/2 to 1");
  EmitUnary(call, "RESAMPLE3", Reshaped(x, SizesOf(axes, &Axis::input)),
            call.Out(0, x.type, sizes, SizesOf(axes, &Axis::output)),
            {{"InterpolationMode", modes.is_nearest ? "NEAREST_NEIGHBOR" : "LINEAR"},
             {"RoundingDirection", nearest.direction},
             {"Scales", scales},
             {"InputPixelOffsets", input_offsets},
             {"OutputPixelOffsets", output_offsets},
             {"Antialiased", is_antialiased}});
}

std::vector<Axis> AllAxes(const OnnxCall& call) {
  std::vector<Axis> axes;
  for (const int64_t size : call.In(0).sizes) axes.push_back({size, size});
  return axes;
}

bool IsNearest(const OnnxCall& call) {
  const std::string_view mode = call.Text("mode", "nearest");
  if (mode == "nearest") return true;
  if (mode != "linear" && mode != "bilinear") call.Refuse("ONX-3", "mode '{}'", mode);
  return false;
}

std::vector<double> ScalesOfAttribute(const OnnxCall& call) {
  const auto scales = call.Floats("scales");
  if (!scales) call.Refuse("ONX-3", "there are no scales");
  return {scales->begin(), scales->end()};
}

void Upsample(OnnxCall& call) {
  std::vector<Axis> axes = AllAxes(call);
  const bool has_attribute = call.version() < 9 && call.name() == "Upsample";
  SetScales(call, has_attribute ? ScalesOfAttribute(call) : call.Numbers(1), false,
            AxesOf(call, axes.size()), axes);
  const bool is_nearest = IsNearest(call);
  const bool are_whole = std::ranges::all_of(
      axes, [](const Axis& axis) { return axis.scale == std::floor(axis.scale); });
  if (!is_nearest || !are_whole) {
    call.Note("ORT's DirectML provider computes half_pixel and round_prefer_floor here");
  }
  EmitResample(call, {is_nearest, "asymmetric", "floor"}, std::move(axes));
}

void Resize(OnnxCall& call) {
  if (call.version() < 11) return Upsample(call);
  const Modes modes = {IsNearest(call), call.Text("coordinate_transformation_mode", "half_pixel"),
                       call.Text("nearest_mode", "round_prefer_floor")};
  call.RequireInt("exclude_outside", 0);
  if (call.Float("extrapolation_value", 0) != 0)
    call.Refuse("ONX-3", "no DirectML operator has extrapolation_value {}",
                call.Float("extrapolation_value", 0));
  std::vector<Axis> all = AllAxes(call);
  const std::vector<size_t> axes = AxesOf(call, all.size());
  const bool crops = modes.coordinates == "tf_crop_and_resize";
  if (crops) {
    SetRegion(call, axes, all);
    if (call.HasAttribute("axes")) call.Note("ORT's DirectML provider loses roi with axes");
  }
  if (IsGiven(call, 2) && IsGiven(call, 3)) call.Refuse("ONX-4", "scales and sizes are both given");
  if (IsGiven(call, 3)) {
    SetSizes(call, call.Integers(3), axes, all);
    KeepAspectRatio(call, axes, all);
  } else {
    SetScales(call, call.Numbers(2), crops, axes, all);
  }
  NoteSampling(call, modes.coordinates, all);
  EmitResample(call, modes, std::move(all));
}

const OnnxRow kRows[] = {
    {"Resize", "10 11 13 18 19", "RESAMPLE3", Resize, "not cubic"},
    {"Upsample", "7 9 10", "RESAMPLE3", Upsample, "as asymmetric, floor"},
};

}  // namespace

extern const std::span<const OnnxRow> kOnnxRows = kRows;

}  // namespace dmlop::onnx_resize
