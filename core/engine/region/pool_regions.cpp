#include "core/engine/region/pool_regions.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "core/base/parallel.h"
#include "core/engine/region/greatest.h"
#include "core/exact/rounding.h"
#include "core/tensor/element.h"
#include "core/tensor/visit_data_type.h"

namespace dmlop {
namespace {

// Truncated, and clamped to the range; NaN is 0.
int64_t Saturated(double value, int64_t least, int64_t most) {
  if (std::isnan(value)) return std::clamp<int64_t>(0, least, most);
  return static_cast<int64_t>(
      std::clamp(value, static_cast<double>(least), static_cast<double>(most)));
}

struct Bin {
  int64_t begin, end;
};

// One axis of a region.
class Bins {
 public:
  Bins(double first, double last, float scale, int64_t count, int64_t size)
      : begin_(Scaled(first, scale)),
        length_(static_cast<uint64_t>(std::max<int64_t>(Scaled(last, scale) - begin_ + 1, 1))),
        count_(static_cast<uint64_t>(count)),
        size_(size) {}

  // Elements of the input that belong to output i.
  Bin At(int64_t i) const {
    // Products of two numbers of 32 bits fit.
    const uint64_t number = static_cast<uint64_t>(i);
    return {Inside(number * length_ / count_),
            Inside(((number + 1) * length_ + count_ - 1) / count_)};
  }

 private:
  static int64_t Scaled(double corner, float scale) {
    constexpr int64_t kLeast = std::numeric_limits<int32_t>::min();
    constexpr int64_t kMost = std::numeric_limits<int32_t>::max();
    return Saturated(std::round(corner * double{scale}), kLeast, kMost);
  }

  int64_t Inside(uint64_t offset) const {
    return std::clamp<int64_t>(static_cast<int64_t>(offset) + begin_, 0, size_);
  }

  int64_t begin_;
  uint64_t length_;
  uint64_t count_;
  int64_t size_;
};

template <typename T>
class Pool {
 public:
  Pool(float scale, const PooledSizes& pooled, const ConstTensorView& input,
       const ConstTensorView& regions, const Dims& begin, const TensorView& output)
      : scale_(scale),
        pooled_(pooled),
        input_(input),
        regions_(regions),
        begin_(begin),
        output_(output) {}

  void Run() const {
    const Dims& sizes = output_.layout.sizes;
    ParallelFor(sizes[0] * sizes[1], 1, output_.element_bytes(), [&](int64_t first, int64_t last) {
      for (int64_t i = first; i < last; ++i) PoolPlane(i / sizes[1], i % sizes[1]);
    });
  }

 private:
  double Corner(int64_t region, int64_t k) const {
    const Dims& strides = regions_.layout.strides;
    return AsDouble(regions_.elements<T>()[(begin_[0] + region) * strides[2] + k * strides[3]]);
  }

  // A region of one channel.
  void PoolPlane(int64_t region, int64_t channel) const {
    const Dims& sizes = input_.layout.sizes;
    const Dims& strides = input_.layout.strides;
    const int64_t batch = Saturated(Corner(region, 0), 0, sizes[0] - 1);
    const Bins rows(Corner(region, 2), Corner(region, 4), scale_, pooled_.height, sizes[2]);
    const Bins columns(Corner(region, 1), Corner(region, 3), scale_, pooled_.width, sizes[3]);
    const T* const plane =
        input_.elements<T>() + batch * strides[0] + (begin_[1] + channel) * strides[1];
    const Dims& to_strides = output_.layout.strides;
    T* const to = output_.elements<T>() + region * to_strides[0] + channel * to_strides[1];
    for (int64_t i = 0; i < output_.layout.sizes[2]; ++i) {
      for (int64_t j = 0; j < output_.layout.sizes[3]; ++j) {
        to[i * to_strides[2] + j * to_strides[3]] =
            GreatestIn(plane, rows.At(begin_[2] + i), columns.At(begin_[3] + j));
      }
    }
  }

  T GreatestIn(const T* plane, Bin rows, Bin columns) const {
    if (rows.begin >= rows.end || columns.begin >= columns.end) return T{};
    const Dims& strides = input_.layout.strides;
    Greatest greatest;
    for (int64_t y = rows.begin; y < rows.end; ++y) {
      for (int64_t x = columns.begin; x < columns.end; ++x) {
        greatest.Add(AsDouble(plane[y * strides[2] + x * strides[3]]));
      }
    }
    return RoundOnce<T>(greatest.value());
  }

  float scale_;
  const PooledSizes& pooled_;
  const ConstTensorView& input_;
  const ConstTensorView& regions_;
  const Dims& begin_;
  const TensorView& output_;
};

}  // namespace

void PoolRegions(float scale, const PooledSizes& pooled, const ConstTensorView& input,
                 const ConstTensorView& regions, const Dims& begin, const TensorView& output) {
  VisitDataType(Floats(), input.type,
                [&]<typename T>() { Pool<T>(scale, pooled, input, regions, begin, output).Run(); });
}

ConstTensorView BatchesOf(const ConstTensorView& regions) {
  return regions.Slice(3, 0, 1);
}

StrayIndices FindStrayBatches(const ConstTensorView& regions, int64_t count) {
  StrayIndices stray;
  VisitDataType(Floats(), regions.type, [&]<typename T>() {
    for (int64_t region = 0; region < regions.layout.sizes[2]; ++region) {
      const double batch = AsDouble(regions.elements<T>()[region * regions.layout.strides[2]]);
      if (batch > -1 && batch < static_cast<double>(count)) continue;
      if (stray.count++ > 0) continue;
      stray.first = region;
      stray.first_value = std::isnan(batch) ? "NaN" : fmt::format("{}", batch);
    }
  });
  return stray;
}

}  // namespace dmlop
