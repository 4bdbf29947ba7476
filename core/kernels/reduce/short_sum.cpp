// SPDX-License-Identifier: Apache-2.0
#include "core/kernels/reduce/approximate_sum.h"

// Compiled once per instruction set; see the Highway documentation on foreach_target.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "core/kernels/reduce/short_sum.cpp"
#include <hwy/foreach_target.h>
// Must come after foreach_target.h.
#include <hwy/highway.h>

#include "core/kernels/reduce/short_sum-inl.h"
#include "core/kernels/simd/dispatch.h"

#if HWY_ONCE

namespace dmlop {

template <typename T>
ShortSumKernels<T> ShortSumKernelsFor(SumMap map, SumFinalizer finalizer) {
  constexpr IsaForms<ShortSumKernels<T>(SumMap, SumFinalizer)> kForms =
      DMLOP_ISA_FORMS(MakeKernels<T>);
  return Choose(kForms)(map, finalizer);
}

template ShortSumKernels<float> ShortSumKernelsFor(SumMap map, SumFinalizer finalizer);
template ShortSumKernels<Half> ShortSumKernelsFor(SumMap map, SumFinalizer finalizer);

}  // namespace dmlop

#endif  // HWY_ONCE
