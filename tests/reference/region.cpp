// SPDX-License-Identifier: Apache-2.0
// ROI_ALIGN and its gradient, sample by sample. Coordinates are computed in FLOAT64 as on the page,
// everything else exactly.
#include <algorithm>
#include <cmath>
#include <optional>
#include <string_view>
#include <vector>

#include "tests/reference/element.h"
#include "tests/reference/exact.h"
#include "tests/reference/operators.h"
#include "tests/reference/region.h"
#include "tests/support/desc.h"

namespace dmlop::reference {
namespace {

using Sizes = std::vector<uint32_t>;

// --- samples -------------------------------------------------------------------------------------

struct Axis {
  double start, length;
  int64_t samples, all;  // of one output; of the region
  double input_offset, output_offset;
  bool to_corners, is_linear;
  int64_t pixels;

  double Place(int64_t s) const {
    const double n = static_cast<double>(to_corners ? all - 1 : all);
    return n == 0 ? 0.5 : (static_cast<double>(s) - output_offset) / n;
  }
  double Coordinate(int64_t s) const {
    if (to_corners && all == 1) return length / 2 + start - input_offset;
    const double n = static_cast<double>(to_corners ? all - 1 : all);
    return ((static_cast<double>(s) - output_offset) * length) / n + start - input_offset;
  }
};

Axis AxisOf(const OperatorDesc& desc, bool is_y, double first, double last, int64_t outputs,
            int64_t pixels) {
  const double scale = Get<float>(desc, is_y ? "SpatialScaleY" : "SpatialScaleX");
  const bool has_offsets = desc.name() != "ROI_ALIGN";
  Axis axis{first * scale, 0, 0, 0, 0.5, -0.5, false, false, pixels};
  axis.length = last * scale - axis.start;
  if (has_offsets) {
    axis.input_offset = Get<float>(desc, "InputPixelOffset");
    axis.output_offset = Get<float>(desc, "OutputPixelOffset");
    axis.to_corners = Get<bool>(desc, "AlignRegionsToCorners");
  }
  axis.is_linear = Get<uint32_t>(desc, "InterpolationMode") == 1;
  const double least = Get<uint32_t>(desc, "MinimumSamplesPerOutput");
  const double most = Get<uint32_t>(desc, "MaximumSamplesPerOutput");
  const double wanted = std::ceil(std::fabs(axis.length) / static_cast<double>(outputs));
  axis.samples = static_cast<int64_t>(
      std::isfinite(axis.length) ? std::min(std::max(wanted, least), most) : least);
  axis.all = axis.samples * outputs;
  return axis;
}

struct Region2d {
  int64_t batch;
  Axis y, x;
};

// The pixels around a sample along one axis, if it is within bounds.
struct Neighbours {
  int64_t low, high;
  double fraction;
};

std::optional<Neighbours> NeighboursOf(const Axis& axis, int64_t s) {
  const double x = axis.Coordinate(s);
  const double size = static_cast<double>(axis.pixels);
  if (!(x >= -1 && x <= size)) return std::nullopt;
  const double inside = std::min(std::max(x, 0.0), size - 1);
  if (!axis.is_linear) {
    const int64_t nearest = static_cast<int64_t>(std::ceil(inside - 0.5));
    return Neighbours{nearest, nearest, 0};
  }
  return Neighbours{static_cast<int64_t>(std::floor(inside)),
                    static_cast<int64_t>(std::ceil(inside)), inside - std::floor(inside)};
}

struct Weighted {
  int64_t y, x;
  Exact weight;
};

std::vector<Weighted> PixelsOf(const Neighbours& y, const Neighbours& x) {
  std::vector<Weighted> pixels;
  for (const bool is_low : {true, false}) {
    for (const bool is_left : {true, false}) {
      const Exact fy = is_low ? Exact(1) - Exact(y.fraction) : Exact(y.fraction);
      const Exact fx = is_left ? Exact(1) - Exact(x.fraction) : Exact(x.fraction);
      const Exact weight = fy * fx;
      if (!(weight > 0)) continue;
      pixels.push_back({is_low ? y.low : y.high, is_left ? x.low : x.high, weight});
    }
  }
  return pixels;
}

// Sums of terms and of their magnitudes.
class Total {
 public:
  void Add(const Exact& factor, double value) {
    ++terms_;
    const double near = mpfr_get_d(factor.real().get(), MPFR_RNDN) * value;
    plain_ = terms_ == 1 ? near : plain_ + near;
    if (!std::isfinite(value)) return;
    exact_.emplace(*exact_ + factor * Exact(value));
    magnitude_ += std::fabs(near);
  }

  const Exact& exact() const { return *exact_; }
  double plain() const { return plain_; }
  double magnitude() const { return magnitude_; }
  int64_t terms() const { return terms_; }

 private:
  std::optional<Exact> exact_ = Exact(0);
  double plain_ = 0;
  double magnitude_ = 0;
  int64_t terms_ = 0;
};

Expectation Near(const Exact& exact, double plain, DataType type, double slack) {
  Expectation expected{Rounded(exact, plain, type)};
  if (!std::isfinite(plain)) return expected;
  expected.exact.emplace(exact.real());
  expected.ulps = 0.501;
  expected.slack = slack;
  return expected;
}

// An exact number divided by an integer.
Exact Divided(const Exact& a, double b) {
  return a / Exact(b);
}

// --- ROI_ALIGN -----------------------------------------------------------------------------------

Region2d RegionOf(const OperatorDesc& desc, const ConstTensorView& regions,
                  const ConstTensorView& batches, int64_t r, const Sizes& image, int64_t height,
                  int64_t width) {
  const auto corner = [&](int64_t k) { return LastAt(regions, {r, k}); };
  const double batch = LastAt(batches, {r});
  return {static_cast<int64_t>(std::min(batch, static_cast<double>(image[0] - 1))),
          AxisOf(desc, true, corner(1), corner(3), height, image[2]),
          AxisOf(desc, false, corner(0), corner(2), width, image[3])};
}

// Calls visit(y, x, sy, sx) for each sample of an output; y and x are null out of bounds.
template <typename Visit>
void ForSamples(const Region2d& region, int64_t i, int64_t j, Visit&& visit) {
  for (int64_t sy = i * region.y.samples; sy < (i + 1) * region.y.samples; ++sy) {
    for (int64_t sx = j * region.x.samples; sx < (j + 1) * region.x.samples; ++sx) {
      auto y = NeighboursOf(region.y, sy);
      auto x = NeighboursOf(region.x, sx);
      if (!y || !x) y = x = std::nullopt;
      visit(y, x, sy, sx);
    }
  }
}

bool IsMax(const OperatorDesc& desc) {
  return Get<uint32_t>(desc, "ReductionFunction") == 7;
}

Sizes SizesOf(const ConstTensorView& view) {
  return {view.layout.sizes.begin(), view.layout.sizes.end()};
}

Expectation Align(const OperatorDesc& desc, std::span<const ConstTensorView> inputs, size_t,
                  const Dims& index) {
  const ConstTensorView& image = inputs[0];
  const Sizes& output = *Get<TensorDesc>(desc, "OutputTensor").sizes;
  const double outside = Get<float>(desc, "OutOfBoundsInputValue");
  const Region2d region =
      RegionOf(desc, inputs[1], inputs[2], index[0], SizesOf(image), output[2], output[3]);
  Total all;
  double greatest_tap = 0;
  std::vector<double> special;
  std::optional<Exact> greatest;
  ForSamples(region, index[2], index[3], [&](const auto& y, const auto& x, int64_t, int64_t) {
    Total sample;
    if (y) {
      for (const Weighted& pixel : PixelsOf(*y, *x)) {
        const double tap = ElementAt(image, {region.batch, index[1], pixel.y, pixel.x});
        sample.Add(pixel.weight, tap);
        all.Add(pixel.weight, tap);
        greatest_tap = std::max(greatest_tap, std::fabs(tap));
      }
    } else {
      sample.Add(Exact(1), outside);
      all.Add(Exact(1), outside);
      greatest_tap = std::max(greatest_tap, std::fabs(outside));
    }
    special.push_back(sample.plain());
    if (!std::isfinite(sample.plain())) return;
    if (!greatest || mpfr_greater_p(sample.exact().real().get(), greatest->real().get())) {
      greatest.emplace(sample.exact());
    }
  });
  const bool is_linear = region.y.is_linear;
  if (IsMax(desc)) {
    const double plain = Maximum(special);
    if (!std::isfinite(plain)) return {Rounded(Exact(0), plain, image.type)};
    if (!is_linear) return {Rounded(Exact(plain), plain, image.type)};
    return Near(*greatest, plain, image.type, 9 * 0x1p-53 * greatest_tap);
  }
  const double count = static_cast<double>(region.y.samples * region.x.samples);
  const Exact mean = Divided(all.exact(), count);
  if (!is_linear) return {Rounded(mean, all.plain(), image.type)};
  return Near(mean, all.plain(), image.type, (count + 8) * 0x1p-53 * greatest_tap);
}

// --- ROI_ALIGN_GRAD ------------------------------------------------------------------------------

class Gradients {
 public:
  Gradients(const OperatorDesc& desc, std::span<const ConstTensorView> inputs)
      : desc_(desc), has_image_(desc.Has(*desc.fields()[0])) {
    if (has_image_) {
      image_ = inputs[0];
      sizes_ = SizesOf(image_);
      inputs = inputs.subspan(1);
    } else {
      sizes_ = *Get<TensorDesc>(desc, "OutputGradientTensor").sizes;
    }
    gradient_ = inputs[0];
    regions_ = inputs[1];
    batches_ = inputs[2];
  }

  DataType type() const { return gradient_.type; }
  int64_t regions() const { return gradient_.layout.sizes[0]; }
  int64_t channels() const { return gradient_.layout.sizes[1]; }

  Region2d RegionAt(int64_t r) const {
    return RegionOf(desc_, regions_, batches_, r, sizes_, gradient_.layout.sizes[2],
                    gradient_.layout.sizes[3]);
  }

  double Tap(const Region2d& region, int64_t channel, int64_t y, int64_t x) const {
    return ElementAt(image_, {region.batch, channel, y, x});
  }

  static double Between(double a, double b, double fraction) {
    if (a == b && a != 0) return a;
    return fraction == 0 ? a : (1 - fraction) * a + fraction * b;
  }

  // Calls visit(y, x, sy, sx, gradient) for each sample within bounds that gets a gradient; for a
  // maximum, only the first of the greatest samples does.
  template <typename Visit>
  void ForGradients(const Region2d& region, int64_t r, int64_t channel, Visit&& visit) const {
    for (int64_t i = 0; i < gradient_.layout.sizes[2]; ++i) {
      for (int64_t j = 0; j < gradient_.layout.sizes[3]; ++j) {
        const double gradient = ElementAt(gradient_, {r, channel, i, j});
        const double count = static_cast<double>(region.y.samples * region.x.samples);
        const int64_t winner = IsMax(desc_) ? WinnerOf(region, channel, i, j) : -1;
        int64_t number = 0;
        ForSamples(region, i, j, [&](const auto& y, const auto& x, int64_t sy, int64_t sx) {
          const bool counts = winner < 0 || number == winner;
          ++number;
          if (!y || !counts) return;
          visit(*y, *x, sy, sx, gradient, winner < 0 ? count : 1);
        });
      }
    }
  }

 private:
  int64_t WinnerOf(const Region2d& region, int64_t channel, int64_t i, int64_t j) const {
    int64_t winner = 0;
    int64_t number = 0;
    double best = kNan;
    ForSamples(region, i, j, [&](const auto& y, const auto& x, int64_t, int64_t) {
      double value = 0;
      if (y) {
        const auto row = [&](int64_t at) {
          return Between(Tap(region, channel, at, x->low), Tap(region, channel, at, x->high),
                         x->fraction);
        };
        value = Between(row(y->low), row(y->high), y->fraction);
      }
      const bool beats = std::isnan(best) ? !std::isnan(value) : Exceeds(value, best);
      if (beats) {
        best = value;
        winner = number;
      }
      ++number;
    });
    return winner;
  }

  const OperatorDesc& desc_;
  bool has_image_;
  ConstTensorView image_, gradient_, regions_, batches_;
  Sizes sizes_;
};

Expectation Result(const Total& total, DataType type) {
  const double slack = static_cast<double>(total.terms() + 8) * 0x1p-53 * total.magnitude();
  return Near(total.exact(), total.plain(), type, slack);
}

Expectation ImageGradient(const Gradients& gradients, const Dims& index) {
  Total total;
  for (int64_t r = 0; r < gradients.regions(); ++r) {
    const Region2d region = gradients.RegionAt(r);
    if (region.batch != index[0]) continue;
    gradients.ForGradients(region, r, index[1],
                           [&](const Neighbours& y, const Neighbours& x, int64_t, int64_t,
                               double gradient, double count) {
                             for (const Weighted& pixel : PixelsOf(y, x)) {
                               if (pixel.y != index[2] || pixel.x != index[3]) continue;
                               total.Add(Divided(pixel.weight, count), gradient);
                             }
                           });
  }
  return Result(total, gradients.type());
}

Expectation CornerGradient(const OperatorDesc& desc, const Gradients& gradients, int64_t r,
                           int64_t k) {
  const bool is_x = k % 2 == 0;
  const double scale = Get<float>(desc, is_x ? "SpatialScaleX" : "SpatialScaleY");
  const Region2d region = gradients.RegionAt(r);
  Total total;
  double slack = 0;
  for (int64_t channel = 0; channel < gradients.channels(); ++channel) {
    gradients.ForGradients(
        region, r, channel,
        [&](const Neighbours& y, const Neighbours& x, int64_t sy, int64_t sx, double gradient,
            double count) {
          const Neighbours& along = is_x ? x : y;
          const Neighbours& across = is_x ? y : x;
          if (along.fraction == 0) return;
          const auto tap = [&](int64_t at, int64_t beside) {
            return is_x ? gradients.Tap(region, channel, beside, at)
                        : gradients.Tap(region, channel, at, beside);
          };
          const auto difference = [&](int64_t beside) {
            return tap(along.high, beside) - tap(along.low, beside);
          };
          const double place = is_x ? region.x.Place(sx) : region.y.Place(sy);
          const double weight = k < 2 ? 1 - place : place;
          const double low = difference(across.low);
          const double high = difference(across.high);
          const double slope = Gradients::Between(low, high, across.fraction);
          const double plain = gradient / count * slope * scale * weight;
          if (!std::isfinite(plain)) return total.Add(Exact(1), plain);
          const Exact part_of_high(across.fraction > 0 ? high : 0);
          const Exact exact = Exact(low) * (Exact(1) - Exact(across.fraction)) +
                              part_of_high * Exact(across.fraction);
          total.Add(exact * Divided(Exact(gradient), count) * Exact(scale), weight);
          const double steep = std::fabs(low) + (across.fraction > 0 ? std::fabs(high) : 0);
          slack += std::fabs(gradient / count * scale) * steep * (1 + std::fabs(place));
        });
  }
  const double errors = static_cast<double>(total.terms() + 8) * 0x1p-53;
  return Near(total.exact(), total.plain(), gradients.type(), errors * slack);
}

Expectation AlignGradient(const OperatorDesc& desc, std::span<const ConstTensorView> inputs,
                          size_t output, const Dims& index) {
  const Gradients gradients(desc, inputs);
  const std::vector<TensorSlot> outputs = TensorSlots(desc, TensorRole::kOutput);
  if (outputs[output].path == "OutputGradientTensor") return ImageGradient(gradients, index);
  return CornerGradient(desc, gradients, index[index.size() - 2], index.back());
}

constexpr NamedOracle kOracles[] = {
    {"ROI_ALIGN", Align},
    {"ROI_ALIGN1", Align},
    {"ROI_ALIGN_GRAD", AlignGradient},
};

}  // namespace

std::span<const NamedOracle> RegionOracles() {
  return kOracles;
}

}  // namespace dmlop::reference
