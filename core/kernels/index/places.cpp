// SPDX-License-Identifier: Apache-2.0
#include "core/kernels/index/index_value.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "core/kernels/index/places.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "core/kernels/simd/dispatch.h"

HWY_BEFORE_NAMESPACE();
namespace dmlop::HWY_NAMESPACE {

// The compiler vectorizes this loop.
template <typename T>
void AddPlaces(int64_t count, const T* HWY_RESTRICT indices, int64_t size, int64_t stride,
               int64_t* HWY_RESTRICT offsets) {
  for (int64_t i = 0; i < count; ++i) offsets[i] += ResolveIndex(indices[i], size).place * stride;
}

}  // namespace dmlop::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace dmlop {

template <typename T>
AddPlacesFunction<T> AddPlacesForIsa() {
  return DMLOP_CHOOSE(AddPlaces<T>);
}

template AddPlacesFunction<int32_t> AddPlacesForIsa();
template AddPlacesFunction<uint32_t> AddPlacesForIsa();
template AddPlacesFunction<int64_t> AddPlacesForIsa();
template AddPlacesFunction<uint64_t> AddPlacesForIsa();

}  // namespace dmlop
#endif
