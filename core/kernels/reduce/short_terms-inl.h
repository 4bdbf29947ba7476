// SPDX-License-Identifier: Apache-2.0
// The state of short sums, and how it becomes results, for kernel sources.
#if defined(DMLOP_KERNELS_SHORT_TERMS_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef DMLOP_KERNELS_SHORT_TERMS_INL_H_
#undef DMLOP_KERNELS_SHORT_TERMS_INL_H_
#else
#define DMLOP_KERNELS_SHORT_TERMS_INL_H_
#endif

#include <hwy/highway.h>

#include <cstdint>
#include <type_traits>

#include "core/kernels/reduce/accumulator-inl.h"
#include "core/kernels/reduce/approximate_sum.h"
#include "core/kernels/reduce/bin_vectors-inl.h"
#include "core/kernels/reduce/finalize_sums-inl.h"
#include "core/kernels/reduce/magnitudes-inl.h"
#include "core/kernels/reduce/next_rows-inl.h"
#include "core/kernels/reduce/round_results-inl.h"
#include "core/kernels/reduce/sum_maps-inl.h"
#include "core/kernels/simd/widen-inl.h"

HWY_BEFORE_NAMESPACE();
namespace dmlop::HWY_NAMESPACE {

// Sums in three parts, each at most half a unit in the last place of the one before it; `error`
// bounds the error of the last one.
template <class D>
struct ThreeVectorSum {
  hn::Vec<D> head, tail, rest;
  hn::Vec<D> error;
};

// Sums terms that do not cancel each other. What neither head nor tail can hold is so small that
// binary64 is precise enough for it.
template <SumMap kMap, class D, typename T>
HWY_INLINE ThreeVectorSum<D> SumInThreeParts(D d, const FewRows<T>& rows) {
  const auto zero = hn::Zero(d);
  TwoVectorSum<D> sum{zero, zero};
  auto rest = zero;
  auto rests = zero;  // sum of their magnitudes
  for (int64_t row = 0; row < rows.count; ++row) {
    const auto value = LoadFloats(hn::Rebind<float, D>(), rows.first + row * rows.stride);
    const auto head = AddExactly(d, sum.head, WideTerm<kMap>(d, value));
    const auto tail = AddExactly(d, sum.tail, head.tail);
    sum = {head.head, tail.head};
    rest = hn::Add(rest, tail.tail);
    rests = hn::Add(rests, hn::Abs(tail.tail));
  }
  const auto low = AddExactly(d, sum.tail, rest);
  const auto high = AddExactly(d, sum.head, low.head);
  const auto middle = AddExactly(d, high.tail, low.tail);
  const auto bound = hn::Set(d, static_cast<double>(rows.count) * 0x1p-52);
  return {high.head, middle.head, middle.tail, hn::Mul(rests, bound)};
}

// Sums up the bins from the last one to kLast, and leaves in each bin what the sum could not hold.
// Each bin is 0 or larger than the sum of those behind it, before and after that.
template <int kLast, int kBin, class D>
HWY_INLINE hn::Vec<D> SumUp(D d, hn::Vec<D>* bins, hn::Vec<D> sum) {
  if constexpr (kBin >= kLast) {
    const auto next = AddSmaller(d, bins[kBin], sum);
    bins[kBin + 1] = next.tail;
    return SumUp<kLast, kBin - 1>(d, bins, next.head);
  }
  return sum;
}

// Sums bins that have been carried over, and overwrites them.
template <class Bins, class D, int kBins>
HWY_INLINE ThreeVectorSum<D> InThreeParts(D d, BinVectors<Bins, D, kBins>& total) {
  const auto head = SumUp<0, kBins - 2>(d, total.bins, total.bins[kBins - 1]);
  const auto tail = SumUp<1, kBins - 2>(d, total.bins, total.bins[kBins - 1]);
  auto rest = hn::Zero(d);
  for (int b = kBins - 1; b >= 2; --b) rest = hn::Add(total.bins[b], rest);
  return {head, tail, rest, hn::Zero(d)};
}

// Sums any terms; `range` is that of the rows.
template <SumMap kMap, class D, typename T>
HWY_INLINE ThreeVectorSum<D> SumInBins(D d, const FewRows<T>& rows, const Range<D>& range) {
  using Bins = SumBins<T, kMap>;
  static_assert(kMaxShortRow <= Bins::kMaxCount);
  const auto zero = hn::Zero(d);
  ThreeVectorSum<D> sum{zero, zero, zero, zero};
  WithSpan<Bins>(SpanOf<Bins>(range), [&]<int kCount>(int first) HWY_ATTR {
    // The bin before those in use takes their carries.
    BinVectors<Bins, D, kCount + 1> total(first - 1);
    total.template Add<1>(rows.count, [&](int64_t row) HWY_ATTR {
      return WideTerm<kMap>(d, LoadFloats(hn::Rebind<float, D>(), rows.first + row * rows.stride));
    });
    total.CarryOver();
    sum = InThreeParts(d, total);
  });
  return sum;
}

// Finalizes groups with a substitute that rounds as the function's value does. The multiple of half
// a unit of T in the last place that is nearest to the value has few bits: the sum that it belongs
// to is exact, and so is the sign of the difference from the actual sum.
template <SumFinalizer kFinalizer, typename T, class D>
HWY_INLINE RoundedVector<D> EndExactly(D d, const ThreeVectorSum<D>& sum, int64_t count) {
  constexpr bool kIsFloat = std::is_same_v<T, float>;
  const hn::RebindToSigned<D> bits;
  const auto value = ValueOf<kFinalizer>(d, sum.head, count);
  const auto step =
      RoundMagnitude(d, hn::Abs(value), kIsFloat ? 25 : 12, kIsFloat ? 0x1p-126 : 0x1p-14);
  const auto back = SumFor<kFinalizer>(d, hn::CopySignToAbs(step, value), count);
  const auto difference = hn::Add(hn::Add(hn::Sub(sum.head, back), sum.tail), sum.rest);
  // Moves up or down by one unit of binary64 in the last place if there is a difference.
  const auto away = hn::Xor(hn::BitCast(bits, difference), hn::BitCast(bits, value));
  const auto unit = hn::Or(hn::BroadcastSignBit(away), hn::Set(bits, 1));
  const auto is_step = hn::RebindMask(bits, hn::Eq(difference, hn::Zero(d)));
  const auto place = hn::Add(hn::BitCast(bits, step), hn::IfThenZeroElse(is_step, unit));
  const auto is_tiny = hn::Eq(step, hn::Zero(d));
  const auto is_exact = hn::Eq(sum.error, hn::Zero(d));
  const auto near = hn::IfThenElse(is_tiny, value, hn::CopySignToAbs(hn::BitCast(d, place), value));
  return {RoundTo<T>(d, near), hn::Or(is_exact, hn::Gt(hn::Abs(difference), sum.error))};
}

// Sums of these are exact for any terms: FLOAT16 values are multiples of 2^-24 below 2^16.
template <typename T, SumMap kMap>
constexpr bool kAlwaysExact = std::is_same_v<T, Half>&& kMap != SumMap::kSquare;

// Their ranges are worth tracking. Sums of squares of FLOAT32 are rarely exact, and almost never
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

// SumExactly needs the terms of these, and not only the rows.
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
