// SPDX-License-Identifier: Apache-2.0
#include "core/kernels/window/pool_row.h"

// Compiled once per instruction set; see the Highway documentation on foreach_target.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "core/kernels/window/pool_sum.cpp"
#include <hwy/foreach_target.h>
// Must come after foreach_target.h.
#include <hwy/highway.h>

#include "core/kernels/reduce/short_terms-inl.h"
#include "core/kernels/simd/dispatch.h"
#include "core/kernels/window/stepped-inl.h"

HWY_BEFORE_NAMESPACE();
namespace dmlop::HWY_NAMESPACE {

// Loads a vector of elements as FLOAT32.
template <int64_t kStep, class D>
HWY_INLINE hn::Vec<D> LoadSteppedFloats(D d, const float* x, int64_t step) {
  return LoadStepped<kStep>(d, x, step);
}
template <int64_t kStep, class D>
HWY_INLINE hn::Vec<D> LoadSteppedFloats(D d, const Half* x, int64_t step) {
  constexpr size_t kLanes = hn::MaxLanes(D());
  if constexpr (kStep == 1) return LoadFloats(d, x);
  if constexpr (kStep == 2 && kLanes >= 4) {
    const hn::Rebind<uint16_t, D> bits;
    const auto loaded = LoadStepped<2>(bits, reinterpret_cast<const uint16_t*>(x), step);
    return FloatsOf(d, hn::BitCast(hn::Rebind<hwy::float16_t, D>(), loaded));
  }
  HWY_ALIGN Half lanes[kLanes];
  for (size_t i = 0; i < hn::Lanes(d); ++i) lanes[i] = x[static_cast<int64_t>(i) * step];
  return LoadFloats(d, lanes);
}

// Computes as many windows as D has lanes; the first begins at x.
template <SumMap kMap, SumFinalizer kFinalizer, int64_t kStep, class D, typename T>
HWY_INLINE void SumVector(D d, const PoolRow<T>& row, const T* x, int64_t divisor, T* results,
                          uint8_t* unresolved) {
  const hn::Rebind<float, D> floats;
  Terms<D> terms;
  for (const int64_t offset : row.offsets) {
    const auto value = LoadSteppedFloats<kStep>(floats, x + offset, row.step);
    if constexpr (kMayBeExact<T, kMap>) terms.range.Take(value);
    terms.sum = hn::Add(terms.sum, WideTerm<kMap>(d, value));
  }
  const int64_t taps = static_cast<int64_t>(row.offsets.size());
  const auto of_terms = WithError<kMap, T>(d, terms.sum, hn::PromoteTo(d, terms.range.Most()),
                                           hn::PromoteTo(d, terms.range.LeastPower()), taps, taps);
  const auto rounded = EndShort<kMap, kFinalizer, T>(d, of_terms, divisor);
  StoreRounded(d, rounded, results, unresolved);
}

template <SumMap kMap, SumFinalizer kFinalizer, typename T>
void SumPoolRow(const PoolRow<T>& row, int64_t divisor, T* results, uint8_t* unresolved) {
  WithStep(row.step, [&]<int64_t kStep>() HWY_ATTR {
    ForEachWindowVector(Wide(), row.count, [&](auto d, int64_t first) HWY_ATTR {
      SumVector<kMap, kFinalizer, kStep>(d, row, row.x + first * row.step, divisor, results + first,
                                         unresolved + first);
    });
  });
}

template <typename T>
PoolSumKernel<T> MakeKernel(SumMap map, SumFinalizer finalizer) {
  if (finalizer == SumFinalizer::kSquareRoot) {
    return SumPoolRow<SumMap::kSquare, SumFinalizer::kSquareRoot, T>;
  }
  if (finalizer == SumFinalizer::kAverage) {
    return SumPoolRow<SumMap::kItself, SumFinalizer::kAverage, T>;
  }
  if (map == SumMap::kMagnitude) return SumPoolRow<SumMap::kMagnitude, SumFinalizer::kItself, T>;
  return SumPoolRow<SumMap::kItself, SumFinalizer::kItself, T>;
}

}  // namespace dmlop::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE

namespace dmlop {

template <typename T>
PoolSumKernel<T> PoolSumKernelFor(SumMap map, SumFinalizer finalizer) {
  constexpr IsaForms<PoolSumKernel<T>(SumMap, SumFinalizer)> kForms =
      DMLOP_ISA_FORMS(MakeKernel<T>);
  return Choose(kForms)(map, finalizer);
}

template PoolSumKernel<float> PoolSumKernelFor(SumMap map, SumFinalizer finalizer);
template PoolSumKernel<Half> PoolSumKernelFor(SumMap map, SumFinalizer finalizer);

}  // namespace dmlop

#endif  // HWY_ONCE
