// SPDX-License-Identifier: Apache-2.0
#include "core/kernels/window/pool_row.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "core/kernels/window/pool_sum.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "core/kernels/reduce/short_terms-inl.h"
#include "core/kernels/simd/dispatch.h"
#include "core/kernels/window/stepped-inl.h"

HWY_BEFORE_NAMESPACE();
namespace dmlop::HWY_NAMESPACE {

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
void SumIntegerPoolRow(const PoolRow<T>& row, int64_t* sums) {
  WithStep(row.step, [&]<int64_t kStep>() HWY_ATTR {
    const hn::ScalableTag<int32_t> lanes;
    ForEachWindowVector(lanes, row.count, [&](auto d, int64_t first) HWY_ATTR {
      const T* x = row.x + first * row.step;
      auto sum = hn::Zero(d);
      for (const int64_t offset : row.offsets) {
        const auto taps = LoadStepped<kStep>(hn::Rebind<T, decltype(d)>(), x + offset, row.step);
        sum = hn::Add(sum, hn::PromoteTo(d, taps));
      }
      HWY_ALIGN int32_t narrow[hn::MaxLanes(decltype(d)())];
      hn::Store(sum, d, narrow);
      for (size_t i = 0; i < hn::Lanes(d); ++i) sums[first + static_cast<int64_t>(i)] = narrow[i];
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
  return DMLOP_CHOOSE(MakeKernel<T>)(map, finalizer);
}

template <typename T>
IntegerPoolSumKernel<T> IntegerPoolSumKernelFor() {
  return DMLOP_CHOOSE(SumIntegerPoolRow<T>);
}

template IntegerPoolSumKernel<int8_t> IntegerPoolSumKernelFor();
template IntegerPoolSumKernel<uint8_t> IntegerPoolSumKernelFor();
template PoolSumKernel<float> PoolSumKernelFor(SumMap map, SumFinalizer finalizer);
template PoolSumKernel<Half> PoolSumKernelFor(SumMap map, SumFinalizer finalizer);

}  // namespace dmlop
#endif
