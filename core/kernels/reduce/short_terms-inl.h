// SPDX-License-Identifier: Apache-2.0
// The state of short sums, and how it becomes results, for kernel sources. Included once for each
// instruction set, hence the unusual guard.
#if defined(DMLOP_KERNELS_SHORT_TERMS_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef DMLOP_KERNELS_SHORT_TERMS_INL_H_
#undef DMLOP_KERNELS_SHORT_TERMS_INL_H_
#else
#define DMLOP_KERNELS_SHORT_TERMS_INL_H_
#endif

#include <hwy/highway.h>

#include <cstdint>
#include <type_traits>

#include "core/kernels/reduce/exact_columns-inl.h"
#include "core/kernels/reduce/finalize_sums-inl.h"
#include "core/kernels/reduce/magnitudes-inl.h"
#include "core/kernels/reduce/next_rows-inl.h"
#include "core/kernels/reduce/round_results-inl.h"
#include "core/kernels/reduce/sum_maps-inl.h"
#include "core/kernels/simd/widen-inl.h"

HWY_BEFORE_NAMESPACE();
namespace dmlop::HWY_NAMESPACE {

// Whether a sum is exact for any terms: FLOAT16 values are multiples of 2^-24 below 2^16.
template <typename T, SumMap kMap>
constexpr bool kAlwaysExact = std::is_same_v<T, Half>&& kMap != SumMap::kSquare;

// Whether a range is worth tracking. Sums of squares of FLOAT32 are rarely exact, and almost never
// halfway between two results.
template <typename T, SumMap kMap>
constexpr bool kMayBeExact = std::is_same_v<T, float>&& kMap != SumMap::kSquare;

// Bounds the error of sums of `count` terms, at most `depth` of which were added in one lane. Each
// addition is off by 2^-53 of the magnitudes so far; twice that leaves room for the errors of the
// errors.
template <SumMap kMap, typename T, class D>
HWY_INLINE SumAndError<D> WithError(D d, hn::Vec<D> sum, hn::Vec<D> most, hn::Vec<D> least_power,
                                    int64_t count, int64_t depth) {
  if constexpr (kAlwaysExact<T, kMap>) return {sum, hn::Zero(d)};
  const auto relative = hn::Set(d, static_cast<double>(depth) * 0x1p-52);
  if constexpr (!kMayBeExact<T, kMap>) return {sum, hn::Mul(sum, relative)};
  const auto magnitude = hn::Mul(most, hn::Set(d, static_cast<double>(count)));
  // With p the power of two, binary64 holds any multiple of 2^-23 p that is at most 2^53 times it.
  const auto is_exact = hn::Le(magnitude, hn::Mul(least_power, hn::Set(d, 0x1p30)));
  return {sum, hn::IfThenZeroElse(is_exact, hn::Mul(magnitude, relative))};
}

// The state of columns; the range is tracked only if it matters.
template <class D>
struct Terms {
  HWY_INLINE Terms() : sum(hn::Set(D(), -0.0)) {}  // a sum of only -0 is -0

  HWY_INLINE Terms(hn::Vec<D> sum_so_far, const Range<D>& range_so_far)
      : sum(sum_so_far), range(range_so_far) {}

  template <SumMap kMap, typename T>
  HWY_INLINE void Take(const T* x) {
    const auto value = LoadFloats(hn::Rebind<float, D>(), x);
    if constexpr (kMayBeExact<T, kMap>) range.Take(value);
    sum = hn::Add(sum, WideTerm<kMap>(D(), value));
  }

  template <SumMap kMap, typename T>
  HWY_INLINE void Take(const FewRows<T>& rows) {
    for (int64_t row = 0; row < rows.count; ++row) Take<kMap>(rows.first + row * rows.stride);
  }

  hn::Vec<D> sum;
  Range<D> range;
};

// Finalizes as many groups as D has lanes.
template <SumMap kMap, SumFinalizer kFinalizer, typename T, class D>
HWY_INLINE RoundedVector<D> EndShort(D d, const SumAndError<D>& of_terms, int64_t count) {
  if constexpr (kFinalizer == SumFinalizer::kItself && kMap != SumMap::kSquare) {
    const auto is_exact = hn::Eq(of_terms.error, hn::Zero(d));  // most are
    if (HWY_LIKELY(hn::AllTrue(d, is_exact))) return {RoundTo<T>(d, of_terms.sum), is_exact};
  }
  return EndVector<kFinalizer, T>(d, of_terms, count);
}

// Whether SumExactly needs the terms, and not only the rows.
template <typename T, SumMap kMap>
constexpr bool kNeedsTerms = kAlwaysExact<T, kMap> || kMap == SumMap::kItself;

// Returns the exact sums of columns.
template <SumMap kMap, class D, typename T>
HWY_INLINE ThreeVectorSum<D> SumExactly(D d, const Terms<D>& terms, const FewRows<T>& rows) {
  if constexpr (kAlwaysExact<T, kMap>) {
    const auto zero = hn::Zero(d);
    return {terms.sum, zero, zero, zero};
  } else if constexpr (kMap == SumMap::kItself) {
    return SumInBins<kMap>(d, rows, terms.range);
  } else {
    return SumInThreeParts<kMap>(d, rows);
  }
}

// Stores the results of columns, some of which are unresolved, as far as vector code can resolve
// them.
template <SumMap kMap, SumFinalizer kFinalizer, class D, typename T>
HWY_NOINLINE void ResolveExactly(D d, Terms<D> terms, const FewRows<T>& rows,
                                 RoundedVector<D> rounded, T* results, uint8_t* unresolved) {
  const auto sum = SumExactly<kMap>(d, terms, rows);
  const auto exact = EndExactly<kFinalizer, T>(d, sum, rows.count);
  const auto value = hn::IfThenElse(rounded.certain, rounded.value, exact.value);
  const auto certain = hn::Or(rounded.certain, exact.certain);
  StoreRounded(d, RoundedVector<D>{value, certain}, results, unresolved);
}

// Stores the results of columns from the state of their terms.
template <SumMap kMap, SumFinalizer kFinalizer, class D, typename T>
HWY_INLINE void FinishColumns(D d, const Terms<D>& terms, const FewRows<T>& rows, T* results,
                              uint8_t* unresolved) {
  const int64_t count = rows.count;
  const auto of_terms =
      WithError<kMap, T>(d, terms.sum, hn::PromoteTo(d, terms.range.Most()),
                         hn::PromoteTo(d, terms.range.LeastPower()), count, count);
  const auto rounded = EndShort<kMap, kFinalizer, T>(d, of_terms, count);
  if (HWY_LIKELY(hn::AllTrue(d, rounded.certain))) return StoreResults(d, rounded.value, results);
  ResolveExactly<kMap, kFinalizer>(d, terms, rows, rounded, results, unresolved);
}

}  // namespace dmlop::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
