// SPDX-License-Identifier: Apache-2.0
// Finalizes sums to results if a bound shows that the rounding is resolved, for kernel sources.
#if defined(DMLOP_KERNELS_FINALIZE_SUMS_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef DMLOP_KERNELS_FINALIZE_SUMS_INL_H_
#undef DMLOP_KERNELS_FINALIZE_SUMS_INL_H_
#else
#define DMLOP_KERNELS_FINALIZE_SUMS_INL_H_
#endif

#include <hwy/highway.h>

#include <cstdint>

#include "core/kernels/reduce/round_results-inl.h"
#include "core/kernels/reduce/sum_map.h"

HWY_BEFORE_NAMESPACE();
namespace dmlop::HWY_NAMESPACE {

// ValueOf returns the function's value for `sum`; SumFor is its inverse.
template <SumFinalizer kFinalizer, class D>
HWY_INLINE hn::Vec<D> ValueOf(D d, hn::Vec<D> sum, int64_t count) {
  if (kFinalizer == SumFinalizer::kAverage)
    return hn::Div(sum, hn::Set(d, static_cast<double>(count)));
  return kFinalizer == SumFinalizer::kSquareRoot ? hn::Sqrt(sum) : sum;
}
template <SumFinalizer kFinalizer, class D>
HWY_INLINE hn::Vec<D> SumFor(D d, hn::Vec<D> value, int64_t count) {
  if (kFinalizer == SumFinalizer::kAverage) {
    return hn::Mul(value, hn::Set(d, static_cast<double>(count)));
  }
  return kFinalizer == SumFinalizer::kSquareRoot ? hn::Mul(value, value) : value;
}

// A sum and its error bound.
template <class D>
struct SumAndError {
  hn::Vec<D> sum, error;
};

// Returns the function's value for a sum, and its error bound. An error of 0 means that the value
// rounds as the exact one does.
template <SumFinalizer kFinalizer, class D>
HWY_INLINE SumAndError<D> End(D d, const SumAndError<D>& of_terms, int64_t count) {
  const auto sum = of_terms.sum;
  auto error = of_terms.error;
  const auto value = ValueOf<kFinalizer>(d, sum, count);
  if constexpr (kFinalizer == SumFinalizer::kAverage) {
    error = hn::Div(error, hn::Set(d, static_cast<double>(count)));
  }
  if constexpr (kFinalizer == SumFinalizer::kSquareRoot) {
    error = hn::IfThenZeroElse(hn::Eq(sum, hn::Zero(d)), hn::Div(error, value));
  }
  // A value halfway between two results has few bits, so computing back is exact.
  const auto back = SumFor<kFinalizer>(d, value, count);
  const auto is_exact = hn::And(hn::Eq(error, hn::Zero(d)), hn::Eq(back, sum));
  const auto room = hn::MulAdd(hn::Abs(value), hn::Set(d, 0x1p-50), error);
  return {value, hn::IfThenZeroElse(is_exact, room)};
}

// Values of T, still in binary64, and whether they are the exact values rounded.
template <class D>
struct RoundedVector {
  hn::Vec<D> value;
  hn::Mask<D> certain;
};

// Rounds values within their error bounds.
template <typename T, class D>
HWY_INLINE RoundedVector<D> RoundVector(D d, const SumAndError<D>& end) {
  const auto zero = hn::Zero(d);
  // Rounding cannot change a value that is not finite.
  const auto off = hn::IfThenElse(hn::IsFinite(end.sum), end.error, zero);
  const auto above = RoundTo<T>(d, hn::Add(end.sum, off));
  const auto below = RoundTo<T>(d, hn::Sub(end.sum, off));
  // Zeros of both signs are equal here, so a zero that is not exact is unresolved: its sign may be
  // wrong.
  const auto is_same = hn::AndNot(hn::Eq(below, zero), hn::Eq(above, below));
  return {below, hn::Or(hn::Eq(off, zero), is_same)};
}

// Finalizes as many groups as D has lanes.
template <SumFinalizer kFinalizer, typename T, class D>
HWY_INLINE RoundedVector<D> EndVector(D d, const SumAndError<D>& of_terms, int64_t count) {
  return RoundVector<T>(d, End<kFinalizer>(d, of_terms, count));
}

// Stores the values and, if any of them is unresolved, which ones.
template <class D, typename T>
HWY_INLINE void StoreRounded(D d, const RoundedVector<D>& rounded, T* results,
                             uint8_t* unresolved) {
  StoreResults(d, rounded.value, results);
  if (HWY_LIKELY(hn::AllTrue(d, rounded.certain))) return;
  HWY_ALIGN double lanes[hn::MaxLanes(D())];
  hn::Store(hn::IfThenZeroElse(rounded.certain, hn::Set(d, 1.0)), d, lanes);
  for (size_t i = 0; i < hn::Lanes(d); ++i) unresolved[i] = lanes[i] != 0;
}

}  // namespace dmlop::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
