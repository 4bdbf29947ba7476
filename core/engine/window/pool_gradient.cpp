#include "core/engine/window/pool_gradient.h"

#include <algorithm>
#include <cmath>
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
    if (special_ != 0) return RoundOnce<T>(special_, 0);
    const double zero = !is_empty_ && all_are_negative_zeros_ ? -0.0 : 0.0;
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

// What windows hold elements along a dimension: those of `outputs` that have a tap there.
template <typename Body>
void ForEachHolder(const PoolDim& dim, Range outputs, int64_t position, Body&& body) {
  for (int64_t output = outputs.begin; output < outputs.end; ++output) {
    if ((position - dim.Position(output, 0)) % dim.dilation == 0) body(output);
  }
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
    }
    const int64_t count = Product(windows_.sizes);
    if (count == 0) return;
    winners_ = Buffer(static_cast<size_t>(count) * sizeof(uint64_t));
    const Layout packed = PackedLayout(windows_.sizes);
    FindWinners(dims, input, windows_.begin, {nullptr, input.type, packed},
                {winners_.data(), DataType::kUint64, packed});
  }

  template <typename T>
  void Run(const TensorView& sums) const {
    ParallelFor(Product(part_.sizes), kGrainElements, sums.element_bytes(),
                [&](int64_t begin, int64_t end) {
                  Dims place = IndexOf(part_.sizes, begin);
                  for (int64_t i = begin; i < end; ++i, Advance(part_.sizes, place)) {
                    sums.elements<T>()[OffsetOf(sums.layout, place)] = SumAt<T>(place);
                  }
                });
  }

 private:
  template <typename T>
  T SumAt(const Dims& place) const {
    Dims position = place;
    for (size_t d = 0; d < place.size(); ++d) position[d] += part_.begin[d];
    QuickSum quick;
    ForEachWon<T>(position, [&](double x) { quick.Add(x); });
    if (quick.is_known()) return quick.Result<T>();
    ExactSum exact;
    ForEachWon<T>(position, [&](double x) { exact.Add(x); });
    return RoundSum<T>(exact);
  }

  // Calls body(gradient) for each window that the element wins.
  template <typename T, typename Body>
  void ForEachWon(const Dims& position, Body&& body) const {
    ForEachWonFrom<T>(0, position, {0, 0, 0}, body);
  }

  // How far into the arrays dimensions so far have led.
  struct Places {
    int64_t number, winner, gradient;
  };

  template <typename T, typename Body>
  void ForEachWonFrom(size_t d, const Dims& position, const Places& places, Body& body) const {
    if (d == dims_.size()) {
      const uint64_t number = static_cast<uint64_t>(places.number);
      if (reinterpret_cast<const uint64_t*>(winners_.data())[places.winner] != number) return;
      return body(AsDouble(gradient_.elements<T>()[places.gradient]));
    }
    const int64_t count = gradient_.layout.sizes[d];
    const Range reaching = dims_[d].OutputsReaching({position[d], position[d] + 1}, count);
    ForEachHolder(dims_[d], reaching, position[d], [&](int64_t output) {
      const Places next = {places.number * sizes_[d] + position[d],
                           places.winner * windows_.sizes[d] + output - windows_.begin[d],
                           places.gradient + output * gradient_.layout.strides[d]};
      ForEachWonFrom<T>(d + 1, position, next, body);
    });
  }

  const PoolDims& dims_;
  const ConstTensorView& gradient_;
  Box part_;
  Dims sizes_;   // of the input
  Box windows_;  // that reach the part
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
