#include "core/ops/weighted/resample_axis.h"

#include <algorithm>
#include <cmath>

namespace dmlop {
namespace {

Dyadic Exact(float x) {
  return Dyadic(static_cast<double>(x));
}

// Three operations of FLOAT32, as a shader computes it.
PixelWeights Nearest(const ResampleAxis& axis, int64_t output) {
  const float shifted = static_cast<float>(output) - axis.output_offset;
  const float scaled = shifted / axis.scale;
  const float x = scaled - axis.input_offset;
  const double last = static_cast<double>(axis.pixels - 1);
  const double inside = std::clamp(static_cast<double>(x), 0.0, last);
  const bool is_floor = axis.interpolation == Interpolation::kFloor;
  const double pixel = is_floor ? std::floor(inside) : std::ceil(inside);
  return {static_cast<int64_t>(pixel), {Dyadic(1)}, Dyadic(1)};
}

// x(o) * Scale, which is a number without division.
Dyadic ScaledCoordinate(const ResampleAxis& axis, int64_t output) {
  return Dyadic(output) - Exact(axis.output_offset) - Exact(axis.input_offset) * Exact(axis.scale);
}

// Of the coordinate x * scale, clamped to the pixels that are there.
PixelWeights Linear(const ResampleAxis& axis, const Dyadic& x) {
  const Dyadic scale = Exact(axis.scale);
  if (x.Sign() <= 0) return {0, {Dyadic(1)}, Dyadic(1)};
  if (!(x < Dyadic(axis.pixels - 1) * scale)) return {axis.pixels - 1, {Dyadic(1)}, Dyadic(1)};
  const int64_t pixel = static_cast<int64_t>(FloorQuotient(x, scale).Truncated());
  const Dyadic above = x - Dyadic(pixel) * scale;
  if (above.Sign() == 0) return {pixel, {Dyadic(1)}, Dyadic(1)};
  return {pixel, {scale - above, above}, scale};
}

// --- antialiased ---------------------------------------------------------------------------------

// A pixel at j has the weight 1 - |j * scale - x|, where that is positive; what lies beyond an edge
// reads the pixel there.
class Triangle {
 public:
  Triangle(const Dyadic& scale, const Dyadic& x) : scale_(scale), x_(x) {}

  Dyadic First() const { return FloorQuotient(x_ - Dyadic(1), scale_) + Dyadic(1); }
  Dyadic Last() const { return -FloorQuotient(-(x_ + Dyadic(1)), scale_) - Dyadic(1); }

  Dyadic At(const Dyadic& pixel) const {
    const Dyadic distance = pixel * scale_ - x_;
    return Dyadic(1) - (distance.Sign() < 0 ? -distance : distance);
  }

  // The sum from pixel `first` to `last`, as two arithmetic series.
  Dyadic Sum(const Dyadic& first, const Dyadic& last) const {
    const Dyadic top = FloorQuotient(x_, scale_);
    return Series(first, last < top ? last : top) +
           Series(first < top + Dyadic(1) ? top + Dyadic(1) : first, last);
  }

 private:
  Dyadic Series(const Dyadic& first, const Dyadic& last) const {
    if (last < first) return Dyadic();
    const Dyadic count = last - first + Dyadic(1);
    return (count * (At(first) + At(last))).TimesPowerOfTwo(-1);
  }

  Dyadic scale_, x_;
};

int64_t Inside(const ResampleAxis& axis, const Dyadic& pixel) {
  const Dyadic end(axis.pixels - 1);
  const Dyadic inside = pixel.Sign() < 0 ? Dyadic() : end < pixel ? end : pixel;
  return static_cast<int64_t>(inside.Truncated());
}

PixelWeights Antialiased(const ResampleAxis& axis, const Dyadic& x) {
  const Triangle triangle(Exact(axis.scale), x);
  const Dyadic first = triangle.First();
  const Dyadic last = triangle.Last();
  PixelWeights weights{Inside(axis, first), {}, triangle.Sum(first, last)};
  const int64_t last_inside = Inside(axis, last);
  for (int64_t pixel = weights.first; pixel <= last_inside; ++pixel) {
    const bool is_edge = pixel == 0 || pixel == axis.pixels - 1;
    if (!is_edge && weights.first < pixel && pixel < last_inside) {
      weights.parts.push_back(triangle.At(Dyadic(pixel)));
      continue;
    }
    const Dyadic from = pixel == 0 ? first : Dyadic(pixel);
    const Dyadic to = pixel == axis.pixels - 1 ? last : Dyadic(pixel);
    weights.parts.push_back(
        triangle.Sum(pixel == weights.first ? first : from, pixel == last_inside ? last : to));
  }
  return weights;
}

bool IsAntialiased(const ResampleAxis& axis) {
  return axis.interpolation == Interpolation::kAntialiased && axis.scale < 0.5f;
}

// The first output with pixels that `reaches` is true of.
template <typename Predicate>
int64_t FirstOutput(const ResampleAxis& axis, Predicate&& reaches) {
  int64_t low = 0;
  int64_t high = axis.outputs;
  while (low < high) {
    const int64_t middle = low + (high - low) / 2;
    if (reaches(PixelRangeOf(axis, middle))) {
      high = middle;
    } else {
      low = middle + 1;
    }
  }
  return low;
}

}  // namespace

PixelWeights PixelsOf(const ResampleAxis& axis, int64_t output) {
  if (axis.interpolation == Interpolation::kFloor || axis.interpolation == Interpolation::kCeil) {
    return Nearest(axis, output);
  }
  const Dyadic x = ScaledCoordinate(axis, output);
  return IsAntialiased(axis) ? Antialiased(axis, x) : Linear(axis, x);
}

PixelRange PixelRangeOf(const ResampleAxis& axis, int64_t output) {
  if (IsAntialiased(axis)) {
    const Triangle triangle(Exact(axis.scale), ScaledCoordinate(axis, output));
    return {Inside(axis, triangle.First()), Inside(axis, triangle.Last())};
  }
  const PixelWeights weights = PixelsOf(axis, output);
  return {weights.first, weights.last()};
}

PixelRange OutputRangeOf(const ResampleAxis& axis, int64_t pixel) {
  return {FirstOutput(axis, [&](const PixelRange& pixels) { return pixels.last >= pixel; }),
          FirstOutput(axis, [&](const PixelRange& pixels) { return pixels.first > pixel; }) - 1};
}

PixelWeights OutputsOf(const ResampleAxis& axis, int64_t pixel) {
  const PixelRange outputs = OutputRangeOf(axis, pixel);
  const bool is_linear = axis.interpolation == Interpolation::kLinear;
  const Dyadic whole = is_linear ? Exact(axis.scale) : Dyadic(1);
  PixelWeights weights{outputs.first, {}, whole};
  for (int64_t output = outputs.first; output <= outputs.last; ++output) {
    const PixelWeights pixels = PixelsOf(axis, output);
    const bool is_alone = pixels.parts.size() == 1;
    weights.parts.push_back(is_alone ? whole
                                     : pixels.parts[static_cast<size_t>(pixel - pixels.first)]);
  }
  return weights;
}

}  // namespace dmlop
