// Vectors of the bins of exact sums, for kernel sources: included once for each instruction set,
// hence the unusual guard.
#if defined(DMLOP_KERNELS_BIN_VECTORS_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef DMLOP_KERNELS_BIN_VECTORS_INL_H_
#undef DMLOP_KERNELS_BIN_VECTORS_INL_H_
#else
#define DMLOP_KERNELS_BIN_VECTORS_INL_H_
#endif

#include <hwy/highway.h>

#include "core/kernels/binned_sum.h"
#include "core/kernels/widen-inl.h"

HWY_BEFORE_NAMESPACE();
namespace dmlop::HWY_NAMESPACE {

// A vector of sums, of as many groups or of the lanes of one. In the course of additions each bin
// stands at its start.
template <class Bins, class D = Wide>
struct BinVectors {
  using V = hn::Vec<D>;

  V bins[Bins::kCount];

  // An implicit constructor would not be compiled for the instruction set.
  HWY_INLINE BinVectors() {}

  HWY_INLINE void Begin() {
    for (int b = 1; b < Bins::kCount; ++b) {
      bins[b] = hn::Add(bins[b], hn::Set(D(), Bins::Start(b)));
    }
  }

  HWY_INLINE void End() {
    for (int b = 1; b < Bins::kCount; ++b) {
      bins[b] = hn::Sub(bins[b], hn::Set(D(), Bins::Start(b)));
    }
  }

  HWY_INLINE void Add(V term) {
    constexpr int kFew = 4;  // as those of FLOAT16
    if constexpr (Bins::kCount <= kFew) return AddToBins<1, Bins::kCount>(term);
    // Mostly the terms are too small for some of the bins, or end before the others.
    constexpr int kThird = (Bins::kCount - 1) / 3;
    AddWhereNotSmall<1, 1 + kThird>(term);
    AddWhereNotSmall<1 + kThird, 1 + 2 * kThird>(term);
    AddWhereNotSmall<1 + 2 * kThird, Bins::kCount>(term);
  }

  template <int kBegin, int kEnd>
  HWY_INLINE void AddWhereNotSmall(V& rest) {
    const D d;
    const auto is_small = hn::Le(hn::Abs(rest), hn::Set(d, SmallFor(kEnd)));
    if (!hn::AllTrue(d, is_small)) AddToBins<kBegin, kEnd>(rest);
  }

  // What the bins from `end` on take.
  static constexpr double SmallFor(int end) {
    return end == Bins::kCount ? 0.0 : Bins::HalfUnit(end - 1);
  }

  template <int kBegin, int kEnd>
  HWY_INLINE void AddToBins(V& rest) {
    for (int b = kBegin; b < kEnd; ++b) {
      const V sum = hn::Add(bins[b], rest);
      rest = hn::Sub(rest, hn::Sub(sum, bins[b]));
      bins[b] = sum;
    }
  }

  // Leaves each bin at most half a unit of the one before it.
  HWY_INLINE void CarryOver() {
    for (int b = Bins::kCount - 1; b > 0; --b) {
      const V start = hn::Set(D(), Bins::Start(b - 1));
      const V carry = hn::Sub(hn::Add(bins[b], start), start);
      bins[b] = hn::Sub(bins[b], carry);
      bins[b - 1] = hn::Add(bins[b - 1], carry);
    }
  }

  static HWY_INLINE BinVectors OfNothing() {
    BinVectors result;
    for (V& bin : result.bins) bin = hn::Zero(D());
    return result;
  }

  static HWY_INLINE BinVectors Load(const BinnedSums& sums) {
    BinVectors result;
    for (int b = 0; b < Bins::kCount; ++b) {
      result.bins[b] = hn::LoadU(D(), sums.bins + b * sums.pitch);
    }
    return result;
  }

  HWY_INLINE void Store(const BinnedSums& sums) const {
    for (int b = 0; b < Bins::kCount; ++b) hn::StoreU(bins[b], D(), sums.bins + b * sums.pitch);
  }

  HWY_INLINE void StoreFirst(const BinnedSums& sums) const {
    for (int b = 0; b < Bins::kCount; ++b) sums.bins[b * sums.pitch] = hn::GetLane(bins[b]);
  }
};

}  // namespace dmlop::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
