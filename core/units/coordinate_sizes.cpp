// SPDX-License-Identifier: Apache-2.0
// Adds to the sizes of elements what rounded coordinates of samples contribute.
#include <algorithm>
#include <cmath>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "core/arithmetic/computation.h"
#include "core/base/parallel.h"
#include "core/units/magnitude.h"

namespace dmlop {

// --- interpolation -------------------------------------------------------------------------------

namespace {

// The neighbours of an index of the output in one dimension.
struct Neighbours {
  int64_t offsets[2];
  double weights[2];  // the second one is 0 if there is only one
  double coordinate;  // in the input
};

// Returns those of all indices; none if one has more than two.
std::optional<std::vector<Neighbours>> NeighboursOf(const TapAxis& axis, int64_t count,
                                                    int64_t stride) {
  std::vector<Neighbours> all;
  for (int64_t index = 0; index < count; ++index) {
    if (axis.Count(index) > 2) return std::nullopt;
    const AxisTaps taps = axis.Taps(index);
    Neighbours& one = all.emplace_back();
    for (size_t i = 0; i < taps.offsets.size(); ++i) {
      one.offsets[i] = taps.offsets[i];
      one.weights[i] = taps.parts[i].Truncated() / taps.whole.Truncated();
      const int64_t place = taps.offsets[i] / stride;
      one.coordinate += one.weights[i] * static_cast<double>(place);
    }
    if (taps.offsets.size() == 1) one.offsets[1] = one.offsets[0];
  }
  return all;
}

class CoordinateSizes {
 public:
  CoordinateSizes(const WeightedSource& source, const Dims& sizes)
      : from_(source.from), sizes_(sizes) {
    for (size_t d = 0; d < source.axes.size(); ++d) {
      const int64_t stride = std::max<int64_t>(1, std::abs(from_.layout.strides[d]));
      auto neighbours = NeighboursOf(*source.axes[d], sizes[d], stride);
      if (!neighbours) return;
      axes_.push_back(std::move(*neighbours));
    }
    is_linear_ = true;
  }

  void AddTo(std::vector<double>& scale) const {
    constexpr int64_t kGrain = 4096;
    if (!is_linear_) return;
    ParallelFor(Product(sizes_), kGrain, 0, [&](int64_t begin, int64_t end) {
      Dims index = IndexOf(sizes_, begin);
      for (int64_t i = begin; i < end; ++i, Advance(sizes_, index)) {
        scale[static_cast<size_t>(i)] += SizeAt(index);
      }
    });
  }

 private:
  const Neighbours& At(size_t d, const Dims& index) const {
    return axes_[d][static_cast<size_t>(index[d])];
  }

  double SizeAt(const Dims& index) const {
    double size = 0;
    for (size_t d = 0; d < axes_.size(); ++d) {
      const Neighbours& own = At(d, index);
      if (own.offsets[0] == own.offsets[1]) continue;
      size += std::abs(own.coordinate * Slope(index, d, 0, 0));
    }
    return size;
  }

  // The difference along a dimension, interpolated in the others.
  double Slope(const Dims& index, size_t along, size_t d, int64_t offset) const {
    if (d == axes_.size()) {
      return ValueOf(from_.type, from_.data + offset * static_cast<int64_t>(ByteWidth(from_.type)));
    }
    const Neighbours& own = At(d, index);
    if (d == along) {
      return Slope(index, along, d + 1, offset + own.offsets[1]) -
             Slope(index, along, d + 1, offset + own.offsets[0]);
    }
    double sum = 0;
    for (size_t i = 0; i < 2; ++i) {
      if (own.weights[i] == 0) continue;
      sum += own.weights[i] * Slope(index, along, d + 1, offset + own.offsets[i]);
    }
    return sum;
  }

  const ConstTensorView from_;
  const Dims& sizes_;
  std::vector<std::vector<Neighbours>> axes_;  // by dimension, then by index of the output
  bool is_linear_ = false;
};

// --- regions -------------------------------------------------------------------------------------

double NumberAt(const ConstTensorView& view, const Dims& index) {
  return ValueOf(view.type, view.data + OffsetOf(view.layout, index) *
                                            static_cast<int64_t>(ByteWidth(view.type)));
}

// Returns for each pixel the greater of two products, one with each pixel beside it along a
// dimension: the larger coordinate times the difference. So a sample between two pixels is at least
// the product of these two.
Buffer SlopesAlong(const ConstTensorView& image, size_t d) {
  const Dims& sizes = image.layout.sizes;
  Buffer buffer(static_cast<size_t>(Product(sizes)) * sizeof(float));
  auto* slopes = reinterpret_cast<float*>(buffer.data());
  ParallelFor(Product(sizes), 1 << 12, 0, [&](int64_t begin, int64_t end) {
    Dims index = IndexOf(sizes, begin);
    for (int64_t i = begin; i < end; ++i, Advance(sizes, index)) {
      const double own = NumberAt(image, index);
      double slope = 0;
      for (const int64_t step : {-1, 1}) {
        Dims beside = index;
        beside[d] += step;
        if (beside[d] < 0 || beside[d] == sizes[d]) continue;
        const auto coordinate = static_cast<double>(std::max(index[d], beside[d]));
        slope = std::max(slope, coordinate * std::abs(NumberAt(image, beside) - own));
      }
      slopes[i] = static_cast<float>(slope);
    }
  });
  return buffer;
}

// The operator itself samples slopes along rows and columns.
std::vector<double> SampledSlopes(const OperatorDesc& op, InputViews inputs,
                                  std::span<const Dims> sample) {
  std::vector<double> sum;
  for (const size_t d : {size_t{2}, size_t{3}}) {
    const Buffer slopes = SlopesAlong(inputs[0], d);
    std::vector<ConstTensorView> changed(inputs.begin(), inputs.end());
    changed[0] = {slopes.data(), DataType::kFloat32, PackedLayout(inputs[0].layout.sizes)};
    const std::vector<double> added = MagnitudeRun(op, changed, 0, sample).Sizes();
    sum.resize(added.size());
    for (size_t i = 0; i < sum.size(); ++i) sum[i] += added[i];
  }
  return sum;
}

// A sample gives a pixel more or less where its coordinate is off, by as much as it gives to the
// pixels around it together, times the coordinate. `shares` are what pixels get.
std::vector<double> SharesAround(const std::vector<double>& shares, const Dims& sizes) {
  const Layout pixels = PackedLayout(sizes);
  std::vector<double> around(shares.size());
  Dims index = Dims::Filled(sizes.size(), 0);
  for (double& sum : around) {
    for (const size_t d : {size_t{2}, size_t{3}}) {
      Dims beside = index;
      const int64_t last = std::min(index[d] + 1, sizes[d] - 1);
      for (beside[d] = std::max<int64_t>(index[d] - 1, 0); beside[d] <= last; ++beside[d]) {
        const auto coordinate = static_cast<double>(beside[d] + 1);
        const double share = shares[static_cast<size_t>(OffsetOf(pixels, beside))];
        if (!std::isnan(share)) sum += coordinate * share;
      }
    }
    Advance(sizes, index);
  }
  return around;
}

}  // namespace

void AddCoordinateSizes(const OperatorDesc& op, InputViews inputs, const Dims& sizes,
                        std::vector<double>& scale) {
  const auto* computed = std::get_if<Computed>(&op.info().family);
  if (computed == nullptr || computed->weights == nullptr) return;
  CoordinateSizes(computed->weights(op, inputs[0]), sizes).AddTo(scale);
}

bool SamplesRegions(const OperatorDesc& op) {
  const std::vector<TensorSlot> slots = TensorSlots(op, TensorRole::kInput);
  const auto is_batches = [](const TensorSlot& slot) { return slot.path == "BatchIndicesTensor"; };
  return std::ranges::any_of(slots, is_batches);
}

void AddRegionSizes(const OperatorDesc& op, InputViews inputs, size_t output, const Dims& sizes,
                    std::span<const Dims> sample, std::vector<double>& scale) {
  std::vector<double> added;
  const std::string path = TensorSlots(op, TensorRole::kOutput)[output].path;
  if (path == "OutputGradientTensor") {
    added = SharesAround(scale, sizes);
  } else if (path == "OutputTensor") {
    scale = MagnitudeRun(op, inputs, 0, sample).Sizes();
    added = SampledSlopes(op, inputs, sample);
  } else {
    // The gradient of a corner has all samples, up to the last row or column.
    const Dims& image = inputs[0].layout.sizes;
    const auto farthest = static_cast<double>(std::max(image[2], image[3]));
    for (const double size : scale) added.push_back(farthest * size);
  }
  for (size_t i = 0; i < scale.size(); ++i) scale[i] += added[i];
}

}  // namespace dmlop
