// SPDX-License-Identifier: Apache-2.0
#include "core/engine/window/pool_sum.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <numeric>
#include <type_traits>
#include <utility>

#include "core/base/integers.h"
#include "core/exact/double_double.h"
#include "core/exact/dyadic.h"
#include "core/exact/exact_sum.h"
#include "core/exact/rounding.h"
#include "core/kernels/reduce/sum_finalizers.h"
#include "core/tensor/element.h"
#include "core/tensor/visit_data_type.h"

namespace dmlop {
namespace {

constexpr int64_t kMostElements = int64_t{1} << 32;

bool IsAverage(PoolSum function) {
  return function == PoolSum::kAverage || function == PoolSum::kPaddedAverage ||
         function == PoolSum::kShare;
}

ReduceFunction ReductionOf(PoolSum function) {
  if (IsAverage(function)) return ReduceFunction::kAverage;
  return function == PoolSum::kL1 ? ReduceFunction::kL1 : ReduceFunction::kL2;
}

Int128 DivisorOf(const PoolSumCall& call, const PoolBox& box) {
  if (call.function == PoolSum::kShare) return call.divisor;
  return call.function == PoolSum::kPaddedAverage ? CountedTaps(box) : PresentTaps(box);
}

// --- one window, exactly -------------------------------------------------------------------------

// Divides by a count that may exceed the number of elements of any tensor.
struct Averaged : reduce::LikeSums {
  template <typename T>
  static T Of(const ExactSum& sum, Int128 count) {
    const bool is_small = count <= kMostElements;
    return is_small ? RoundQuotient<T>(sum, static_cast<uint64_t>(count))
                    : RoundRatio<T>(Dyadic(sum), Dyadic(count));
  }
};

template <SumMap kMap, typename Finalizer, typename T, typename Count>
T ExactSumOf(const T* x, const TapLoops& taps, Count divisor) {
  ExactSum sum;
  SpecialTerms specials;
  ForEachTap(taps, [&](int64_t tap) {
    const double term = MapOf<kMap>(AsDouble(x[tap]));
    if (!specials.Take(term)) sum.Add(term);
  });
  if (!specials.are_finite()) return Finalizer::template OfSpecial<T>(specials.sum());
  if (!specials.has_others()) return Finalizer::template OfZero<T>(specials.sum());
  return Finalizer::template Of<T>(sum, divisor);
}

// Computes a window with the first tap x exactly.
template <typename T>
T ExactResult(const PoolSumCall& call, const T* x, const TapLoops& taps, Int128 divisor) {
  switch (call.function) {
    case PoolSum::kL1:
      return ExactSumOf<SumMap::kMagnitude, reduce::Rounded>(x, taps, int64_t{1});
    case PoolSum::kL2:
      return ExactSumOf<SumMap::kSquare, reduce::SquareRooted>(x, taps, int64_t{1});
    default:
      return ExactSumOf<SumMap::kItself, Averaged>(x, taps, divisor);
  }
}

template <typename T>
PoolSumKernel<T> KernelFor(PoolSum function) {
  switch (function) {
    case PoolSum::kL1:
      return PoolSumKernelFor<T>(SumMap::kMagnitude, SumFinalizer::kItself);
    case PoolSum::kL2:
      return PoolSumKernelFor<T>(SumMap::kSquare, SumFinalizer::kSquareRoot);
    default:
      return PoolSumKernelFor<T>(SumMap::kItself, SumFinalizer::kAverage);
  }
}

// --- boxes ---------------------------------------------------------------------------------------

// Computes the results of a row, those that are unresolved exactly.
template <typename T>
class SumsOfRow {
 public:
  SumsOfRow(const PoolSumCall& call, const PoolBox& box)
      : call_(call),
        divisor_(DivisorOf(call, box)),
        kernel_(KernelFor<T>(call.function)),
        by_vectors_(PresentTaps(box) <= kMaxPoolTaps && divisor_ <= kMaxPoolDivisor) {}

  void operator()(const PoolRow<T>& row, const TapLoops& taps, T* results) {
    if (call_.function == PoolSum::kNorm) return NormsOf(row, taps, call_.power, results);
    const auto count = static_cast<size_t>(row.count);
    if (by_vectors_) {
      kernel_(row, static_cast<int64_t>(divisor_), results, unresolved_.data());
    } else {
      std::fill_n(unresolved_.begin(), count, uint8_t{1});
    }
    if (std::memchr(unresolved_.data(), 1, count) == nullptr) return;
    for (size_t i = 0; i < count; ++i) {
      if (std::exchange(unresolved_[i], uint8_t{0}) == 0) continue;
      const T* x = row.x + static_cast<int64_t>(i) * row.step;
      results[i] = ExactResult(call_, x, taps, divisor_);
    }
  }

 private:
  PoolSumCall call_;
  Int128 divisor_;
  PoolSumKernel<T> kernel_;
  bool by_vectors_;
  std::array<uint8_t, kMostSideBySide> unresolved_{};  // all 0 between rows
};

ElementBytes ResultWithoutTaps(const PoolSumCall& call, Int128 divisor, DataType type) {
  return ConvertElement(IsAverage(call.function) && divisor == 0 ? NAN : 0.0F, type);
}

template <typename T>
struct Sums {
  PoolSumCall call;
  DataType type;

  ElementBytes WithoutTaps(const PoolBox& box) const {
    return ResultWithoutTaps(call, DivisorOf(call, box), type);
  }
  bool IsReduction(const PoolBox& box) const {
    if (call.function == PoolSum::kNorm) return false;
    if (IsAverage(call.function) && DivisorOf(call, box) != PresentTaps(box)) return false;
    return dmlop::IsReduction(box);
  }
  ReduceFunction Reduction() const { return ReductionOf(call.function); }
  SumsOfRow<T> RowsOf(const PoolBox& box) const { return {call, box}; }
};

// --- sliding windows -----------------------------------------------------------------------------

// Reads elements of one type as terms, and rounds sums of them to results.
struct SlideFunctions {
  double (*term)(const std::byte* element);
  void (*round)(const SlidingSum& sum, Int128 divisor, std::byte* result);
};

template <typename T, SumMap kMap, typename Finalizer>
constexpr SlideFunctions FunctionsOf() {
  using Count = std::conditional_t<kMap == SumMap::kItself, Int128, int64_t>;
  return {[](const std::byte* element) { return MapOf<kMap>(AsDouble(ElementOf<T>(element))); },
          [](const SlidingSum& sum, Int128 divisor, std::byte* result) {
            const T rounded = sum.Result<Finalizer, T>(static_cast<Count>(divisor));
            std::memcpy(result, &rounded, sizeof rounded);
          }};
}

template <typename T>
SlideFunctions FunctionsFor(PoolSum function) {
  switch (function) {
    case PoolSum::kL1:
      return FunctionsOf<T, SumMap::kMagnitude, reduce::Rounded>();
    case PoolSum::kL2:
      return FunctionsOf<T, SumMap::kSquare, reduce::SquareRooted>();
    default:
      return FunctionsOf<T, SumMap::kItself, Averaged>();
  }
}

void SlideMapped(const SlideFunctions& functions, const PoolSumCall& call, const PoolDims& dims,
                 const SlideAxes& axes, const ConstTensorView& input, const Dims& begin,
                 const TensorView& sums) {
  const TapCounts counts(dims, begin, sums.layout.sizes);
  const auto divisor = [&](const Dims& index) -> Int128 {
    if (call.function == PoolSum::kShare) return call.divisor;
    return call.function == PoolSum::kPaddedAverage ? counts.Counted(index) : counts.Present(index);
  };
  SlideSums<SlidingSum>(axes, TermsOf(axes.PartOf(input), functions.term), sums,
                        [&](const Dims& index, const SlidingSum& sum) {
                          std::byte* const result = ElementAt(sums, index);
                          if (counts.Present(index) > 0) {
                            return functions.round(sum, divisor(index), result);
                          }
                          const auto none = ResultWithoutTaps(call, divisor(index), sums.type);
                          std::memcpy(result, none.data(), ByteWidth(sums.type));
                        });
}

void SlideOver(const PoolSumCall& call, const PoolDims& dims, const SlideAxes& axes,
               const ConstTensorView& input, const Dims& begin, const TensorView& sums) {
  VisitDataType(Floats(), sums.type, [&]<typename T>() {
    if (call.function == PoolSum::kNorm) {
      SlideNorms<T>(dims, axes, input, call.power, sums);
    } else {
      SlideMapped(FunctionsFor<T>(call.function), call, dims, axes, input, begin, sums);
    }
  });
}

// --- gradients of averages -----------------------------------------------------------------------

// A window's gradient, and its share for one tap.
struct Share {
  double gradient;
  DoubleDouble share;
};

struct ShareSum {
  SlidingSum gradients, shares;

  void Add(const Share& share, int64_t sign) {
    gradients.Add(share.gradient, sign);
    shares.Add(share.share.head, sign);
    if (share.share.tail != 0) shares.Add(share.share.tail, sign);
  }
  void Add(const ShareSum& other, int64_t sign) {
    gradients.Add(other.gradients, sign);
    shares.Add(other.shares, sign);
  }
  void Settle() {
    gradients.Settle();
    shares.Settle();
  }
};

// A FLOAT32 number times an integer of that many bits is exact in a DoubleDouble: its product with
// the integer's head is, and what that leaves has at most 53 bits with its product with the tail.
constexpr Int128 kMostWhole = Int128{1} << 80;

// Returns the least common multiple of a range's window counts, times `whole`; 0 if too large.
Int128 TimesCommonMultiple(Int128 whole, const WindowAxis& dim, bool counts_padding,
                           Range windows) {
  Int128 common = 1;
  int64_t last = 1;
  for (int64_t window = windows.begin; window < windows.end; ++window) {
    const int64_t count = std::max<int64_t>(1, dim.TapCount(window, counts_padding));
    if (count == std::exchange(last, count)) continue;
    common *= count / std::gcd(count, static_cast<int64_t>(common % count));
    if (common > kMostWhole / whole) return 0;
  }
  return whole * common;
}

// Returns the number whose integer parts the shares are; 0 if it is too large.
Int128 WholeOf(const PoolDims& dims, bool counts_padding, const SlideAxes& axes) {
  Int128 whole = 1;
  for (size_t d = 0; d < dims.size() && whole != 0; ++d) {
    const Range windows = {axes.begin[d], axes.begin[d] + axes.sizes[d]};
    whole = TimesCommonMultiple(whole, dims[d], counts_padding, windows);
  }
  return whole;
}

DoubleDouble AsDoubleDouble(Int128 number) {
  const double head = static_cast<double>(number);
  return {head, static_cast<double>(number - static_cast<Int128>(head))};
}

Share ShareOf(double gradient, Int128 count, Int128 whole) {
  if (gradient == 0 || !std::isfinite(gradient)) return {gradient, {gradient, 0}};
  if (whole == 0) return {gradient, DoubleDouble{gradient, 0} / AsDoubleDouble(count)};
  return {gradient, AsDoubleDouble(whole / count) * gradient};
}

// Returns the count that all windows at a position share; 0 if they differ, and -1 if there is no
// window. Counts are a concave function of the window, so all are equal if those at both ends and
// in the middle are.
int64_t CommonCount(const WindowAxis& dim, bool counts_padding, int64_t windows, int64_t position) {
  const Range reaching = dim.OutputsReaching({position, position + 1}, windows);
  if (reaching.count() == 0) return -1;
  const auto count = [&](int64_t window) { return dim.TapCount(window, counts_padding); };
  const int64_t first = count(reaching.begin);
  const bool is_common =
      count(reaching.end - 1) == first && count(reaching.begin + reaching.count() / 2) == first;
  return is_common ? first : 0;
}

// Returns the gradients and shares of the windows that reach the part.
std::vector<Share> SharesOf(const PoolDims& dims, bool counts_padding, const SlideAxes& axes,
                            const ConstTensorView& gradient, Int128 whole) {
  const TapCounts counts(dims, axes.begin, axes.sizes);
  const Layout& layout = gradient.layout;
  std::vector<Share> shares(static_cast<size_t>(layout.element_count()));
  VisitDataType(Floats(), gradient.type, [&]<typename T>() {
    Dims index = Dims::Filled(layout.rank(), 0);
    for (Share& share : shares) {
      const double x = AsDouble(gradient.elements<T>()[OffsetOf(layout, index)]);
      share = ShareOf(x, counts_padding ? counts.Counted(index) : counts.Present(index), whole);
      Advance(layout.sizes, index);
    }
  });
  return shares;
}

}  // namespace

void SlideShares(const PoolDims& dims, bool counts_padding, const ConstTensorView& gradient,
                 const Dims& begin, const TensorView& sums) {
  const Dims& sizes = sums.layout.sizes;
  const SlideAxes axes = WindowAxes(dims, gradient.layout.sizes, begin, sizes);
  std::vector<std::vector<int64_t>> common(dims.size());
  for (size_t d = 0; d < dims.size(); ++d) {
    for (int64_t i = begin[d]; i < begin[d] + sizes[d]; ++i) {
      common[d].push_back(CommonCount(dims[d], counts_padding, gradient.layout.sizes[d], i));
    }
  }
  const Int128 whole = WholeOf(dims, counts_padding, axes);
  const std::vector<Share> shares =
      SharesOf(dims, counts_padding, axes, axes.PartOf(gradient), whole);
  Terms<Share> terms{reinterpret_cast<const std::byte*>(shares.data()),
                     PackedLayout(axes.sizes).strides,
                     [](const std::byte* share) { return ElementOf<Share>(share); }};
  for (int64_t& stride : terms.strides) stride *= static_cast<int64_t>(sizeof(Share));
  VisitDataType(Floats(), sums.type, [&]<typename T>() {
    SlideSums<ShareSum>(axes, terms, sums, [&](const Dims& index, const ShareSum& sum) {
      Int128 count = 1;
      bool is_empty = false;
      for (size_t d = 0; d < index.size(); ++d) {
        const int64_t factor = common[d][static_cast<size_t>(index[d])];
        is_empty |= factor < 0;
        count *= factor;
      }
      T& result = sums.elements<T>()[OffsetOf(sums.layout, index)];
      result = is_empty     ? T{}
               : count == 0 ? sum.shares.Result<Averaged, T>(std::max<Int128>(whole, 1))
                            : sum.gradients.Result<Averaged, T>(count);
    });
  });
}

bool HasExactShares(const PoolDims& dims, bool counts_padding, const Dims& windows,
                    const Dims& begin, const Dims& sizes) {
  return WholeOf(dims, counts_padding, WindowAxes(dims, windows, begin, sizes)) != 0;
}

void SumWindows(const PoolSumCall& call, const PoolDims& dims, const ConstTensorView& input,
                const Dims& begin, const TensorView& sums) {
  const SlideAxes axes = TapAxes(dims, begin, sums.layout.sizes);
  if (axes.AreLarge()) {
    return SlideOver(call, dims, axes, input, begin, sums);
  }
  VisitDataType(Floats(), sums.type, [&]<typename T>() {
    RunBoxes<T>(Sums<T>{call, sums.type}, dims, input, begin, sums);
  });
}

}  // namespace dmlop
