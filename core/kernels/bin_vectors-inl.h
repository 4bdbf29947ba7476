// Vectors of the bins of exact sums, for kernel sources: included once for each instruction set,
// hence the unusual guard.
#if defined(DMLOP_KERNELS_BIN_VECTORS_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef DMLOP_KERNELS_BIN_VECTORS_INL_H_
#undef DMLOP_KERNELS_BIN_VECTORS_INL_H_
#else
#define DMLOP_KERNELS_BIN_VECTORS_INL_H_
#endif

#include <hwy/highway.h>

#include <algorithm>
#include <cstdint>

#include "core/kernels/binned_sum.h"
#include "core/kernels/magnitudes-inl.h"
#include "core/kernels/widen-inl.h"

HWY_BEFORE_NAMESPACE();
namespace dmlop::HWY_NAMESPACE {

// A vector of sums, of as many groups or of the lanes of one.
template <class Bins, class D = Wide>
struct BinVectors {
  using V = hn::Vec<D>;

  V bins[Bins::kCount];

  // An implicit constructor would not be compiled for the instruction set.
  HWY_INLINE BinVectors() {}

  // Leaves each bin at most half a unit of the one before it.
  HWY_INLINE void CarryOver() {
    for (int b = Bins::kCount - 1; b > 0; --b) {
      const V start = hn::Set(D(), Bins::Start(b - 1));
      const V carry = hn::Sub(hn::Add(bins[b], start), start);
      bins[b] = hn::Sub(bins[b], carry);
      bins[b - 1] = hn::Add(bins[b - 1], carry);
    }
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

// Adds term(i), a vector for as many groups, of some elements to kCount bins from `first` on.
template <class Bins, int kCount, class D, typename Term>
HWY_INLINE void AddToBins(D d, int first, int64_t count, const BinnedSums& sums, Term&& term) {
  double* memory = sums.bins + first * sums.pitch;
  hn::Vec<D> bins[kCount];
  for (int b = 0; b < kCount; ++b) bins[b] = hn::LoadU(d, memory + b * sums.pitch);
  // The last one leaves nothing behind.
  for (int b = 0; b < kCount - 1; ++b) {
    bins[b] = hn::Add(bins[b], hn::Set(d, Bins::Start(first + b)));
  }
  for (int64_t i = 0; i < count; ++i) {
    auto rest = term(i);
    for (int b = 0; b < kCount - 1; ++b) {
      const auto sum = hn::Add(bins[b], rest);
      rest = hn::Sub(rest, hn::Sub(sum, bins[b]));
      bins[b] = sum;
    }
    bins[kCount - 1] = hn::Add(bins[kCount - 1], rest);
  }
  for (int b = 0; b < kCount - 1; ++b) {
    bins[b] = hn::Sub(bins[b], hn::Set(d, Bins::Start(first + b)));
  }
  for (int b = 0; b < kCount; ++b) hn::StoreU(bins[b], d, memory + b * sums.pitch);
}

// The same for the bins that elements need, mostly one, two or three, and no bin 0.
template <class Bins, class D, typename Term>
HWY_INLINE void AddToSpan(D d, const BinSpan& span, int64_t count, const BinnedSums& sums,
                          Term&& term) {
  constexpr int kAll = Bins::kCount - 1;
  constexpr int kHalf = kAll / 2;
  if (span.count == 0) return;
  if (span.count == 1) return AddToBins<Bins, 1>(d, span.first, count, sums, term);
  if (span.count == 2) return AddToBins<Bins, 2>(d, span.first, count, sums, term);
  if constexpr (kAll > 3) {
    if (span.count == 3) return AddToBins<Bins, 3>(d, span.first, count, sums, term);
  }
  if constexpr (kHalf > 3) {  // as those of squares
    const int first = std::min(span.first, Bins::kCount - kHalf);
    if (span.count <= kHalf) return AddToBins<Bins, kHalf>(d, first, count, sums, term);
  }
  AddToBins<Bins, kAll>(d, 1, count, sums, term);
}

template <class Bins, class D>
HWY_INLINE BinSpan SpanOf(const Magnitudes<D>& magnitudes) {
  return Bins::SpanOf(magnitudes.MostBits(), magnitudes.LeastBits());
}

}  // namespace dmlop::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
