// SPDX-License-Identifier: Apache-2.0
// Widens rows of elements to FLOAT64, for kernel sources.
#if defined(DMLOP_KERNELS_MATRIX_WIDEN_ROW_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef DMLOP_KERNELS_MATRIX_WIDEN_ROW_INL_H_
#undef DMLOP_KERNELS_MATRIX_WIDEN_ROW_INL_H_
#else
#define DMLOP_KERNELS_MATRIX_WIDEN_ROW_INL_H_
#endif

#include <hwy/highway.h>

#include <cstdint>

#include "core/kernels/simd/widen-inl.h"

HWY_BEFORE_NAMESPACE();
namespace dmlop::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

// The last vector overlaps the one before it, instead of a remainder loop.
template <typename T>
HWY_INLINE void WidenRow(const T* from, int64_t count, double* to) {
  const int64_t lanes = static_cast<int64_t>(hn::Lanes(Wide()));
  if (count < lanes) {
    for (int64_t i = 0; i < count; ++i) to[i] = WidenElement(from[i]);
    return;
  }
  for (int64_t i = 0; i < count; i += lanes) {
    const int64_t at = HWY_MIN(i, count - lanes);
    hn::StoreU(LoadWide(from + at), Wide(), to + at);
  }
}

}  // namespace dmlop::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
