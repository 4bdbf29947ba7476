// SPDX-License-Identifier: Apache-2.0
#include "core/kernels/window/pool_row.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "core/kernels/window/pool_max.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "core/kernels/reduce/ordered_keys-inl.h"
#include "core/kernels/simd/dispatch.h"
#include "core/kernels/window/stepped-inl.h"

HWY_BEFORE_NAMESPACE();
namespace dmlop::HWY_NAMESPACE {

template <typename T>
void FindMaxima(const PoolRow<T>& row, KeyOf<T> flipped, T* maxima) {
  WithStep(row.step, [&]<int64_t kStep>() HWY_ATTR {
    const hn::ScalableTag<KeyOf<T>> lanes;
    ForEachWindowVector<4>(lanes, row.count, [&](auto d, int64_t first) HWY_ATTR {
      using K = Keys<T, KeysFor::kValue, decltype(d)>;
      const K to_keys(flipped);
      const auto* x = reinterpret_cast<const KeyOf<T>*>(row.x) + first * row.step;
      auto best = K::Least();
      for (const int64_t offset : row.offsets) {
        best = hn::Max(to_keys.OfElements(LoadStepped<kStep>(d, x + offset, row.step)), best);
      }
      hn::StoreU(to_keys.ToElements(best), d, reinterpret_cast<KeyOf<T>*>(maxima + first));
    });
  });
}

// Computes as many windows as D has lanes; the first begins at x.
template <int64_t kStep, class D>
HWY_INLINE void FindVector(D d, const PoolRow<float>& row, const float* x, int32_t* keys,
                           int32_t* taps) {
  using K = Keys<float, KeysFor::kValue, D>;
  const hn::RebindToFloat<D> floats;
  const K to_keys(FlippedBits<float>(MinMax::kMax));
  auto best = K::Least();
  auto best_tap = hn::Zero(d);
  auto tap = best_tap;
  for (const int64_t offset : row.offsets) {
    const auto value = LoadStepped<kStep>(floats, x + offset, row.step);
    const auto key = to_keys.OfElements(hn::BitCast(d, value));
    best_tap = hn::IfThenElse(hn::Gt(key, best), tap, best_tap);
    best = hn::Max(key, best);
    tap = hn::Add(tap, hn::Set(d, 1));
  }
  hn::StoreU(best, d, keys);
  hn::StoreU(best_tap, d, taps);
}

void FindWinners(const PoolRow<float>& row, int32_t* keys, int32_t* taps) {
  WithStep(row.step, [&]<int64_t kStep>() HWY_ATTR {
    const hn::ScalableTag<int32_t> lanes;
    ForEachWindowVector(lanes, row.count, [&](auto d, int64_t first) HWY_ATTR {
      FindVector<kStep>(d, row, row.x + first * row.step, keys + first, taps + first);
    });
  });
}

}  // namespace dmlop::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace dmlop {

template <typename T>
PoolMaxKernel<T> PoolMaxKernelFor() {
  return DMLOP_CHOOSE(FindMaxima<T>);
}

template PoolMaxKernel<float> PoolMaxKernelFor();
template PoolMaxKernel<Half> PoolMaxKernelFor();
template PoolMaxKernel<int8_t> PoolMaxKernelFor();
template PoolMaxKernel<int16_t> PoolMaxKernelFor();
template PoolMaxKernel<int32_t> PoolMaxKernelFor();
template PoolMaxKernel<int64_t> PoolMaxKernelFor();

PoolWinnerKernel PoolWinnerKernelFor() {
  return DMLOP_CHOOSE(FindWinners);
}

}  // namespace dmlop
#endif
