#include "core/kernels/window/pool_sum.h"

// Compiled once per instruction set; see the Highway documentation on foreach_target.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "core/kernels/window/pool_sum.cpp"
#include <hwy/foreach_target.h>
// Must come after foreach_target.h.
#include <hwy/highway.h>

#include "core/kernels/reduce/short_terms-inl.h"
#include "core/kernels/simd/dispatch.h"

HWY_BEFORE_NAMESPACE();
namespace dmlop::HWY_NAMESPACE {

// Any distance between elements.
constexpr int64_t kAnyStep = 0;

// A vector of elements some steps apart, as FLOAT32.
template <int64_t kStep, class D, typename T>
HWY_INLINE hn::Vec<D> LoadStepped(D d, const T* x, int64_t step) {
  constexpr size_t kLanes = hn::MaxLanes(D());
  if constexpr (kStep == 1) return LoadFloats(d, x);
#if HWY_TARGET != HWY_SCALAR
  if constexpr (kStep == 2 && std::is_same_v<T, float> && kLanes > 1) {
    // Nothing behind the last element is read.
    const auto low = hn::LoadU(d, x);
    const auto high = hn::LoadU(d, x + kLanes - 1);
    return hn::ConcatUpperLower(d, hn::ConcatOdd(d, high, high), hn::ConcatEven(d, low, low));
  }
#endif
  HWY_ALIGN T lanes[kLanes];
  for (size_t i = 0; i < kLanes; ++i) lanes[i] = x[static_cast<int64_t>(i) * step];
  return LoadFloats(d, lanes);
}

// As many windows as D has lanes, from number `first` on.
template <SumMap kMap, SumFinalizer kFinalizer, int64_t kStep, class D, typename T>
HWY_INLINE void SumVector(D d, const PoolRow<T>& row, int64_t first, T* results,
                          uint8_t* unresolved) {
  const hn::Rebind<float, D> floats;
  const T* x = row.x + first * row.step;
  Terms<D> terms;
  for (const int64_t offset : row.offsets) {
    const auto value = LoadStepped<kStep>(floats, x + offset, row.step);
    if constexpr (kMayBeExact<T, kMap>) terms.range.Take(value);
    terms.sum = hn::Add(terms.sum, WideTerm<kMap>(d, value));
  }
  const int64_t taps = static_cast<int64_t>(row.offsets.size());
  const auto of_terms = WithError<kMap, T>(d, terms.sum, hn::PromoteTo(d, terms.range.Most()),
                                           hn::PromoteTo(d, terms.range.LeastPower()), taps, taps);
  const auto rounded = EndShort<kMap, kFinalizer, T>(d, of_terms, row.divisor);
  StoreRounded(d, rounded, results + first, unresolved + first);
}

template <SumMap kMap, SumFinalizer kFinalizer, int64_t kStep, typename T>
void SumRow(const PoolRow<T>& row, T* results, uint8_t* unresolved) {
  const int64_t lanes = static_cast<int64_t>(hn::Lanes(Wide()));
  if (row.count < lanes) {
    const hn::CappedTag<double, 1> one;
    for (int64_t i = 0; i < row.count; ++i) {
      SumVector<kMap, kFinalizer, kStep>(one, row, i, results, unresolved);
    }
    return;
  }
  // The last vector may overlap the one before it.
  for (int64_t i = 0; i < row.count; i += lanes) {
    SumVector<kMap, kFinalizer, kStep>(Wide(), row, HWY_MIN(i, row.count - lanes), results,
                                       unresolved);
  }
}

template <SumMap kMap, SumFinalizer kFinalizer, typename T>
void SumPoolRow(const PoolRow<T>& row, T* results, uint8_t* unresolved) {
  if (row.step == 1) return SumRow<kMap, kFinalizer, 1>(row, results, unresolved);
  if (row.step == 2) return SumRow<kMap, kFinalizer, 2>(row, results, unresolved);
  return SumRow<kMap, kFinalizer, kAnyStep>(row, results, unresolved);
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
