#include "core/engine/window/pool_gradient.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <numeric>
#include <vector>

#include "core/base/parallel.h"
#include "core/engine/window/pool_max.h"
#include "core/exact/error_free.h"
#include "core/exact/exact_sum.h"
#include "core/exact/rounding.h"
#include "core/tensor/element.h"
#include "core/tensor/visit_data_type.h"

namespace dmlop {
namespace {

constexpr int64_t kGrainElements = 1 << 10;
constexpr int64_t kMostWinners = 1 << 20;  // that are known at a time, but for one channel at least

// --- sums of few numbers -------------------------------------------------------------------------

// In binary64, as long as nothing is lost there; infinities and NaN join as IEEE adds them.
class QuickSum {
 public:
  void Add(double x) {
    is_empty_ = false;
    if (!std::isfinite(x)) {
      special_ += x;
      return;
    }
    all_are_negative_zeros_ &= x == 0 && std::signbit(x);
    const HeadTail next = TwoSum(sum_, x);
    is_exact_ &= next.tail == 0;
    sum_ = next.head;
  }

  bool is_known() const { return is_exact_ || special_ != 0; }

  template <typename T>
  T Result() const {
    if (is_empty_) return T{};
    if (special_ != 0) return RoundOnce<T>(special_, 0);
    const double zero = all_are_negative_zeros_ ? -0.0 : 0.0;
    return sum_ == 0 ? RoundOnce<T>(zero, zero) : RoundOnce<T>(sum_, 0);
  }

 private:
  double sum_ = 0;
  double special_ = 0;
  bool is_exact_ = true;
  bool is_empty_ = true;
  bool all_are_negative_zeros_ = true;
};

// --- one block of channels -----------------------------------------------------------------------

// A part of a tensor.
struct Box {
  Dims begin, sizes;
};

// The windows along a dimension that have a tap at a position: every step-th.
struct Holders {
  int64_t first = 0, step = 1, count = 0;
};

Holders HoldersAt(const PoolDim& dim, int64_t position, int64_t windows) {
  const Range reaching = dim.OutputsReaching({position, position + 1}, windows);
  for (int64_t window = reaching.begin; window < reaching.end; ++window) {
    if ((position - dim.Position(window, 0)) % dim.dilation != 0) continue;
    const int64_t step = dim.dilation / std::gcd(dim.stride, dim.dilation);
    return {window, step, (reaching.end - 1 - window) / step + 1};
  }
  return {};
}

class BlockOfSums {
 public:
  // `part`: of the output, whose winners are found all at once.
  BlockOfSums(const PoolDims& dims, const ConstTensorView& input, const ConstTensorView& gradient,
              const Box& part)
      : dims_(dims), gradient_(gradient), part_(part) {
    for (size_t d = 0; d < dims.size(); ++d) {
      sizes_.push_back(dims[d].size);
      const Range positions = {part.begin[d], part.begin[d] + part.sizes[d]};
      const Range windows = dims[d].OutputsReaching(positions, gradient.layout.sizes[d]);
      windows_.begin.push_back(windows.begin);
      windows_.sizes.push_back(windows.count());
      holders_.emplace_back();
      for (int64_t position = positions.begin; position < positions.end; ++position) {
        holders_.back().push_back(HoldersAt(dims[d], position, gradient.layout.sizes[d]));
      }
    }
    winner_strides_ = PackedStrides(windows_.sizes);
    const int64_t count = Product(windows_.sizes);
    if (count == 0) return;
    winners_ = Buffer(static_cast<size_t>(count) * sizeof(uint64_t));
    const Layout packed = PackedLayout(windows_.sizes);
    FindWinners(dims, input, windows_.begin, {nullptr, input.type, packed},
                {winners_.data(), DataType::kUint64, packed});
  }

  template <typename T>
  void Run(const TensorView& sums) const {
    Dims rows = part_.sizes;
    rows.pop_back();
    const int64_t columns = part_.sizes.back();
    ParallelFor(Product(rows), kGrainElements / columns + 1, sums.element_bytes(),
                [&](int64_t begin, int64_t end) {
                  std::vector<Place> outer;
                  for (int64_t row = begin; row < end; ++row) {
                    RunRow<T>(IndexOf(rows, row), sums, outer);
                  }
                });
  }

 private:
  // Of windows in one dimension or in those so far.
  struct Place {
    int64_t winner, gradient;
  };

  // Row `row` of the part; `outer` is reused.
  template <typename T>
  void RunRow(const Dims& row, const TensorView& sums, std::vector<Place>& outer) const {
    int64_t number = 0;
    Dims place = row;
    place.push_back(0);
    outer.assign(1, {0, 0});
    for (size_t d = 0; d < row.size(); ++d) {
      number = number * sizes_[d] + part_.begin[d] + row[d];
      AddDimension(d, holders_[d][static_cast<size_t>(row[d])], outer);
    }
    number = number * sizes_.back() + part_.begin.back();
    T* to = sums.elements<T>() + OffsetOf(sums.layout, place);
    const int64_t step = sums.layout.strides.back();
    for (size_t i = 0; i < holders_.back().size(); ++i) {
      const int64_t column = static_cast<int64_t>(i);
      to[column * step] =
          SumOf<T>(outer, holders_.back()[i], static_cast<uint64_t>(number + column));
    }
  }

  Place PlaceOf(size_t d, int64_t window) const {
    return {(window - windows_.begin[d]) * winner_strides_[d],
            window * gradient_.layout.strides[d]};
  }

  // Makes of each place those of all holders along a further dimension.
  void AddDimension(size_t d, const Holders& holders, std::vector<Place>& places) const {
    const size_t count = places.size();
    for (int64_t i = 1; i < holders.count; ++i) {
      const Place next = PlaceOf(d, holders.first + i * holders.step);
      for (size_t k = 0; k < count; ++k) {
        places.push_back({places[k].winner + next.winner, places[k].gradient + next.gradient});
      }
    }
    if (holders.count == 0) return places.clear();
    const Place first = PlaceOf(d, holders.first);
    for (size_t k = 0; k < count; ++k) {
      places[k] = {places[k].winner + first.winner, places[k].gradient + first.gradient};
    }
  }

  template <typename T>
  T SumOf(const std::vector<Place>& outer, const Holders& inner, uint64_t number) const {
    QuickSum quick;
    ForEachWon<T>(outer, inner, number, [&](double x) { quick.Add(x); });
    if (quick.is_known()) return quick.Result<T>();
    ExactSum exact;
    ForEachWon<T>(outer, inner, number, [&](double x) { exact.Add(x); });
    return RoundSum<T>(exact);
  }

  // Calls body(gradient) for each window that the element of that number wins.
  template <typename T, typename Body>
  void ForEachWon(const std::vector<Place>& outer, const Holders& inner, uint64_t number,
                  Body&& body) const {
    const auto* winners = reinterpret_cast<const uint64_t*>(winners_.data());
    for (const Place& place : outer) {
      for (int64_t i = 0; i < inner.count; ++i) {
        const Place last = PlaceOf(dims_.size() - 1, inner.first + i * inner.step);
        if (winners[place.winner + last.winner] != number) continue;
        body(AsDouble(gradient_.elements<T>()[place.gradient + last.gradient]));
      }
    }
  }

  const PoolDims& dims_;
  const ConstTensorView& gradient_;
  Box part_;
  Dims sizes_;                                 // of the input
  Box windows_;                                // that reach the part
  std::vector<std::vector<Holders>> holders_;  // of each dimension, by place in the part
  Dims winner_strides_;
  Buffer winners_;
};

}  // namespace

void SumOfWinners(const PoolDims& dims, const ConstTensorView& input,
                  const ConstTensorView& gradient, const Dims& begin, const TensorView& sums) {
  int64_t windows = 1;  // of a channel
  for (size_t d = 2; d < dims.size(); ++d) windows *= gradient.layout.sizes[d];
  const int64_t at_a_time = std::max<int64_t>(1, kMostWinners / windows);
  const Dims& sizes = sums.layout.sizes;
  for (int64_t n = 0; n < sizes[0]; ++n) {
    for (int64_t c = 0; c < sizes[1]; c += at_a_time) {
      const int64_t channels = std::min(at_a_time, sizes[1] - c);
      const TensorView view = sums.Slice(0, n, 1).Slice(1, c, channels);
      Box part{begin, view.layout.sizes};
      part.begin[0] += n;
      part.begin[1] += c;
      const BlockOfSums block(dims, input, gradient, part);
      VisitDataType(Floats(), sums.type, [&]<typename T>() { block.Run<T>(view); });
    }
  }
}

}  // namespace dmlop
