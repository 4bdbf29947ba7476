// SPDX-License-Identifier: Apache-2.0
#include "core/ops/weighted/resample_axis.h"

#include <algorithm>
#include <cmath>
#include <optional>

namespace dmlop {
namespace {

// --- exact numbers: Dyadic or Int128 -------------------------------------------------------------

Int128 FloorQuotient(Int128 a, Int128 b) {
  const Int128 quotient = a / b;
  return quotient * b > a ? quotient - 1 : quotient;
}

Int128 Halved(Int128 even) {
  return even / 2;
}
Dyadic Halved(const Dyadic& x) {
  return x.TimesPowerOfTwo(-1);
}

int64_t ToInteger(Int128 x) {
  return static_cast<int64_t>(x);
}
int64_t ToInteger(const Dyadic& x) {
  return static_cast<int64_t>(x.Truncated());
}

// Returns x as an integer, clamped to [0, most].
template <typename Number>
int64_t Inside(const Number& x, int64_t most) {
  return x < Number(0) ? 0 : Number(most) < x ? most : ToInteger(x);
}

Dyadic Exact(float x) {
  return Dyadic(static_cast<double>(x));
}

Int128 ToInt128(Dyadic whole) {
  Int128 sum = 0;
  while (whole.Sign() != 0) {
    const double part = whole.Truncated();
    sum += static_cast<Int128>(part);
    whole = whole - Dyadic(part);
  }
  return sum;
}

// --- linear interpolation ------------------------------------------------------------------------

// Coordinates are kept as x(o) * Scale = first + o * one, which needs no division. A pixel at j has
// the weight 1 - |j - x| for an output around it. Antialiased weights are 1 - |j - x| * Scale where
// that is positive, divided by their sum. In that case x may lie outside, and pixels beyond an edge
// are replaced by the one at the edge.
template <typename Number>
class Line {
 public:
  Line(const ResampleAxis& axis, const Number& first, const Number& one, const Number& scale)
      : last_pixel_(axis.pixels - 1),
        outputs_(axis.outputs),
        is_stretched_(axis.interpolation == Interpolation::kAntialiased && axis.scale < 0.5f),
        first_(first),
        one_(one),
        scale_(scale) {}

  Range PixelsOf(int64_t output) const {
    const Number x = CoordinateOf(output);
    if (is_stretched_)
      return {Inside(FirstTap(x), last_pixel_), Inside(LastTap(x), last_pixel_) + 1};
    const int64_t pixel = ToInteger(FloorQuotient(x, scale_));
    return {pixel, pixel + (Number(pixel) * scale_ < x ? 2 : 1)};
  }

  Range OutputsOf(int64_t pixel) const {
    if (is_stretched_) return StretchedOutputsOf(pixel);
    const Number before = Number(pixel - 1) * scale_ - first_;
    const Number behind = Number(pixel + 1) * scale_ - first_;
    return {pixel == 0 ? 0 : Inside(FloorQuotient(before, one_) + Number(1), outputs_),
            pixel == last_pixel_ ? outputs_ : Inside(-FloorQuotient(-behind, one_), outputs_)};
  }

  // Adds the pixels with indices `some` among those of an output, and their weights.
  template <typename Taps>
  void AddPixels(int64_t output, Range some, int64_t stride, Taps& taps) const {
    if (is_stretched_) return AddStretched(output, some, stride, taps);
    const Range pixels = PixelsOf(output);
    const bool is_alone = pixels.count() == 1;
    const Number x = CoordinateOf(output);
    for (int64_t pixel = pixels.begin + some.begin; pixel < pixels.begin + some.end; ++pixel) {
      taps.Add(pixel * stride, is_alone ? Number(1) : PartOf(pixel, x));
    }
    taps.End(is_alone ? Number(1) : scale_);
  }

  template <typename Taps>
  void AddOutputs(int64_t pixel, Range some, int64_t stride, Taps& taps) const {
    const int64_t first = OutputsOf(pixel).begin;
    for (int64_t output = first + some.begin; output < first + some.end; ++output) {
      taps.Add(output * stride, PartOf(pixel, CoordinateOf(output)));
    }
    taps.End(scale_);
  }

 private:
  // Returns x * Scale, clamped to the pixels unless these are antialiased.
  Number CoordinateOf(int64_t output) const {
    const Number x = first_ + Number(output) * one_;
    if (is_stretched_) return x;
    const Number end = Number(last_pixel_) * scale_;
    return x < Number(0) ? Number(0) : end < x ? end : x;
  }

  Number DistanceOf(const Number& pixel, const Number& x) const {
    const Number distance = pixel * scale_ - x;
    return distance < Number(0) ? -distance : distance;
  }
  Number PartOf(int64_t pixel, const Number& x) const {
    return scale_ - DistanceOf(Number(pixel), x);
  }

  // --- antialiased -------------------------------------------------------------------------------

  Number FirstTap(const Number& x) const { return FloorQuotient(x - one_, scale_) + Number(1); }
  Number LastTap(const Number& x) const { return -FloorQuotient(-(x + one_), scale_) - Number(1); }
  Number StretchedPartOf(const Number& pixel, const Number& x) const {
    return one_ - DistanceOf(pixel, x);
  }

  // Sums the weights of pixels `first` to `last`, which lie on one side of x.
  Number Series(const Number& first, const Number& last, const Number& x) const {
    if (last < first) return Number(0);
    const Number count = last - first + Number(1);
    return Halved(count * (StretchedPartOf(first, x) + StretchedPartOf(last, x)));
  }

  // Sums the weights of pixels `first` to `last` as two arithmetic series.
  Number Sum(const Number& first, const Number& last, const Number& x) const {
    const Number top = FloorQuotient(x, scale_);
    return Series(first, last < top ? last : top, x) +
           Series(first < top + Number(1) ? top + Number(1) : first, last, x);
  }

  template <typename Taps>
  void AddStretched(int64_t output, Range some, int64_t stride, Taps& taps) const {
    const Number x = CoordinateOf(output);
    const Number first = FirstTap(x);
    const Number last = LastTap(x);
    const Range pixels = PixelsOf(output);
    for (int64_t pixel = pixels.begin + some.begin; pixel < pixels.begin + some.end; ++pixel) {
      const Number number(pixel);
      const bool is_first = pixel == pixels.begin;
      const bool is_last = pixel == pixels.end - 1;
      taps.Add(pixel * stride, is_first || is_last
                                   ? Sum(is_first ? first : number, is_last ? last : number, x)
                                   : StretchedPartOf(number, x));
    }
    taps.End(Sum(first, last, x));
  }

  // Returns the outputs whose range of pixels contains this one.
  Range StretchedOutputsOf(int64_t pixel) const {
    return {FirstOutput([&](Range pixels) { return pixels.end > pixel; }),
            FirstOutput([&](Range pixels) { return pixels.begin > pixel; })};
  }

  template <typename Predicate>
  int64_t FirstOutput(Predicate&& reaches) const {
    int64_t low = 0;
    int64_t high = outputs_;
    while (low < high) {
      const int64_t middle = low + (high - low) / 2;
      const bool is_there = reaches(PixelsOf(middle));
      (is_there ? high : low) = is_there ? middle : middle + 1;
    }
    return low;
  }

  int64_t last_pixel_, outputs_;
  bool is_stretched_;
  Number first_, one_, scale_;
};

Line<Dyadic> ExactLine(const ResampleAxis& axis) {
  const Dyadic scale = Exact(axis.scale);
  const Dyadic first = -Exact(axis.output_offset) - Exact(axis.input_offset) * scale;
  return {axis, first, Dyadic(1), scale};
}

// Returns none if products of the numbers, and sums of antialiased weights, could overflow.
std::optional<Line<Int128>> ShortLine(const ResampleAxis& axis) {
  constexpr int64_t kMostBits = 60;
  const Dyadic scale = Exact(axis.scale);
  const Dyadic first = -Exact(axis.output_offset) - Exact(axis.input_offset) * scale;
  const int64_t unit = std::min({int64_t{0}, scale.exponent(), first.exponent()});
  const auto bits = [&](const Dyadic& x) { return x.bit_length() + x.exponent() - unit; };
  if (std::max({1 - unit, bits(scale), bits(first)}) > kMostBits) return std::nullopt;
  const auto in_units = [&](const Dyadic& x) { return ToInt128(x.TimesPowerOfTwo(-unit)); };
  return Line<Int128>(axis, in_units(first), in_units(Dyadic(1)), in_units(scale));
}

// The taps are pixels for an output, or outputs for a pixel.
template <bool kOfPixels>
class LineTaps : public TapAxis {
 public:
  LineTaps(const ResampleAxis& axis, int64_t stride)
      : stride_(stride), exact_(ExactLine(axis)), short_(ShortLine(axis)) {}

  int64_t Count(int64_t index) const override {
    return short_ ? CountOf(*short_, index) : CountOf(exact_, index);
  }
  bool AddTaps(int64_t index, Range some, ShortTaps& taps) const override {
    if (short_) Add(*short_, index, some, taps);
    return short_.has_value();
  }
  AxisTaps Taps(int64_t index, Range some) const override {
    AxisTaps taps;
    Add(exact_, index, some, taps);
    return taps;
  }

 private:
  static int64_t CountOf(const auto& line, int64_t index) {
    return kOfPixels ? line.PixelsOf(index).count() : line.OutputsOf(index).count();
  }
  void Add(const auto& line, int64_t index, Range some, auto& taps) const {
    if (kOfPixels) return line.AddPixels(index, some, stride_, taps);
    line.AddOutputs(index, some, stride_, taps);
  }

  int64_t stride_;
  Line<Dyadic> exact_;
  std::optional<Line<Int128>> short_;
};

// --- the nearest pixel ---------------------------------------------------------------------------

bool IsNearest(const ResampleAxis& axis) {
  return axis.interpolation == Interpolation::kFloor || axis.interpolation == Interpolation::kCeil;
}

// Uses three FLOAT32 operations, as a shader does.
int64_t NearestOf(const ResampleAxis& axis, int64_t output) {
  const float shifted = static_cast<float>(output) - axis.output_offset;
  const float scaled = shifted / axis.scale;
  const float x = scaled - axis.input_offset;
  const double last = static_cast<double>(axis.pixels - 1);
  const double inside = std::clamp(static_cast<double>(x), 0.0, last);
  const bool is_floor = axis.interpolation == Interpolation::kFloor;
  return static_cast<int64_t>(is_floor ? std::floor(inside) : std::ceil(inside));
}

// Returns the first output whose pixel is at or after this one.
int64_t FirstOutputAt(const ResampleAxis& axis, int64_t pixel) {
  int64_t low = 0;
  int64_t high = axis.outputs;
  while (low < high) {
    const int64_t middle = low + (high - low) / 2;
    const bool reaches = NearestOf(axis, middle) >= pixel;
    (reaches ? high : low) = reaches ? middle : middle + 1;
  }
  return low;
}

template <bool kOfPixels>
class NearestTaps : public TapAxis {
 public:
  NearestTaps(const ResampleAxis& axis, int64_t stride) : axis_(axis), stride_(stride) {}

  int64_t Count(int64_t index) const override { return kOfPixels ? 1 : All(index).count(); }
  bool AddTaps(int64_t index, Range some, ShortTaps& taps) const override {
    const int64_t first = All(index).begin;
    for (int64_t i = some.begin; i < some.end; ++i) taps.Add((first + i) * stride_, 1);
    taps.End(1);
    return true;
  }

 private:
  Range All(int64_t index) const {
    return kOfPixels ? PixelsOf(axis_, index) : OutputsOf(axis_, index);
  }

  ResampleAxis axis_;
  int64_t stride_;
};

template <bool kOfPixels>
std::shared_ptr<const TapAxis> TapsOf(const ResampleAxis& axis, int64_t stride) {
  if (IsNearest(axis)) return std::make_shared<NearestTaps<kOfPixels>>(axis, stride);
  return std::make_shared<LineTaps<kOfPixels>>(axis, stride);
}

}  // namespace

Range PixelsOf(const ResampleAxis& axis, int64_t output) {
  if (!IsNearest(axis)) return ExactLine(axis).PixelsOf(output);
  const int64_t pixel = NearestOf(axis, output);
  return {pixel, pixel + 1};
}

Range OutputsOf(const ResampleAxis& axis, int64_t pixel) {
  if (!IsNearest(axis)) return ExactLine(axis).OutputsOf(pixel);
  return {FirstOutputAt(axis, pixel), FirstOutputAt(axis, pixel + 1)};
}

std::shared_ptr<const TapAxis> PixelTaps(const ResampleAxis& axis, int64_t stride) {
  return TapsOf<true>(axis, stride);
}

std::shared_ptr<const TapAxis> OutputTaps(const ResampleAxis& axis, int64_t stride) {
  return TapsOf<false>(axis, stride);
}

}  // namespace dmlop
