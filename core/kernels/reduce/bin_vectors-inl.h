// SPDX-License-Identifier: Apache-2.0
// Vectors of the bins of exact sums, for kernel sources.
#if defined(DMLOP_KERNELS_BIN_VECTORS_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef DMLOP_KERNELS_BIN_VECTORS_INL_H_
#undef DMLOP_KERNELS_BIN_VECTORS_INL_H_
#else
#define DMLOP_KERNELS_BIN_VECTORS_INL_H_
#endif

#include <hwy/highway.h>

#include <algorithm>
#include <cstdint>

#include "core/kernels/reduce/binned_sum.h"
#include "core/kernels/reduce/magnitudes-inl.h"
#include "core/kernels/simd/widen-inl.h"

HWY_BEFORE_NAMESPACE();
namespace dmlop::HWY_NAMESPACE {

// kBins adjacent bins of a vector of sums, one lane for each group or several for one group. Adding
// uses no loops over bins, which would keep them in memory.
template <class Bins, class D = Wide, int kBins = Bins::kCount>
struct BinVectors {
  using V = hn::Vec<D>;

  V bins[kBins];

  // An implicit constructor would not be compiled for the instruction set.
  HWY_INLINE explicit BinVectors(int first = 0) : first_(first) { Clear<0>(); }

  // Leaves each bin at most half a unit of the one before it.
  HWY_INLINE void CarryOver() { CarryFrom<kBins - 1>(); }

  // Adds term(0) to term(count - 1), vectors with one term for each group; the first `kCarried`
  // bins take none of them.
  template <int kCarried, typename Term>
  HWY_INLINE void Add(int64_t count, Term&& term) {
    ToStart<kCarried>();
    for (int64_t i = 0; i < count; ++i) AddTerm<kCarried>(term(i));
    FromStart<kCarried>();
  }

  static HWY_INLINE BinVectors Load(const BinnedSums& sums, int first = 0) {
    BinVectors result(first);
    for (int b = 0; b < kBins; ++b) {
      result.bins[b] = hn::LoadU(D(), sums.bins + (first + b) * sums.pitch);
    }
    return result;
  }

  HWY_INLINE void Store(const BinnedSums& sums) const {
    for (int b = 0; b < kBins; ++b) {
      hn::StoreU(bins[b], D(), sums.bins + (first_ + b) * sums.pitch);
    }
  }

  HWY_INLINE void StoreFirst(const BinnedSums& sums) const {
    for (int b = 0; b < kBins; ++b) sums.bins[(first_ + b) * sums.pitch] = hn::GetLane(bins[b]);
  }

 private:
  HWY_INLINE V StartOf(int b) const { return hn::Set(D(), Bins::Start(first_ + b)); }

  template <int kBin>
  HWY_INLINE void Clear() {
    if constexpr (kBin < kBins) {
      bins[kBin] = hn::Zero(D());
      Clear<kBin + 1>();
    }
  }

  template <int kBin>
  HWY_INLINE void CarryFrom() {
    if constexpr (kBin > 0) {
      const V start = StartOf(kBin - 1);
      const V carry = hn::Sub(hn::Add(bins[kBin], start), start);
      bins[kBin] = hn::Sub(bins[kBin], carry);
      bins[kBin - 1] = hn::Add(bins[kBin - 1], carry);
      CarryFrom<kBin - 1>();
    }
  }

  template <int kBin>
  HWY_INLINE void ToStart() {
    if constexpr (kBin < kBins - 1) {
      bins[kBin] = hn::Add(bins[kBin], StartOf(kBin));
      ToStart<kBin + 1>();
    }
  }

  // The last bin takes whatever is left.
  template <int kBin>
  HWY_INLINE void AddTerm(V term) {
    const V sum = hn::Add(bins[kBin], term);
    if constexpr (kBin < kBins - 1) AddTerm<kBin + 1>(hn::Sub(term, hn::Sub(sum, bins[kBin])));
    bins[kBin] = sum;
  }

  template <int kBin>
  HWY_INLINE void FromStart() {
    if constexpr (kBin < kBins - 1) {
      bins[kBin] = hn::Sub(bins[kBin], StartOf(kBin));
      FromStart<kBin + 1>();
    }
  }

  int first_;
};

// Calls body<kCount>(first) with the bins that the elements need, mostly one, two or three, and
// never bin 0; does not call it if they need none.
template <class Bins, typename Body>
HWY_INLINE void WithSpan(const BinSpan& span, Body&& body) {
  constexpr int kAll = Bins::kCount - 1;
  constexpr int kHalf = kAll / 2;
  if (span.count == 0) return;
  if (span.count == 1) return body.template operator()<1>(span.first);
  if (span.count == 2) return body.template operator()<2>(span.first);
  if constexpr (kAll > 3) {
    if (span.count == 3) return body.template operator()<3>(span.first);
  }
  if constexpr (kHalf > 3) {  // squares have enough bins
    const int first = std::min(span.first, Bins::kCount - kHalf);
    if (span.count <= kHalf) return body.template operator()<kHalf>(first);
  }
  body.template operator()<kAll>(1);
}

// Adds term(i), vectors with one term for each group, to the bins that the elements need.
template <class Bins, class D, typename Term>
HWY_INLINE void AddToSpan(D, const BinSpan& span, int64_t count, const BinnedSums& sums,
                          Term&& term) {
  WithSpan<Bins>(span, [&]<int kCount>(int first) HWY_ATTR {
    auto few = BinVectors<Bins, D, kCount>::Load(sums, first);
    few.template Add<0>(count, term);
    few.Store(sums);
  });
}

template <class Bins, class D>
HWY_INLINE BinSpan SpanOf(const Magnitudes<D>& magnitudes) {
  return Bins::SpanOf(magnitudes.MostBits(), magnitudes.LeastBits());
}

}  // namespace dmlop::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
