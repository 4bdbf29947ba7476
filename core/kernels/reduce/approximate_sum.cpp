// SPDX-License-Identifier: Apache-2.0
#include "core/kernels/reduce/approximate_sum.h"

// Compiled once per instruction set; see the Highway documentation on foreach_target.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "core/kernels/reduce/approximate_sum.cpp"
#include <hwy/foreach_target.h>
// Must come after foreach_target.h.
#include <hwy/highway.h>

#include "core/kernels/reduce/approximate_sum-inl.h"
#include "core/kernels/simd/dispatch.h"

#if HWY_ONCE

namespace dmlop {

template <typename T>
ApproximateSumKernels<T> ApproximateSumKernelsFor(SumMap map) {
  constexpr IsaForms<ApproximateSumKernels<T>(SumMap)> kForms = DMLOP_ISA_FORMS(MakeKernels<T>);
  return Choose(kForms)(map);
}

template <typename T>
FinalizeSumsFunction<T> FinalizeSumsFor(SumMap map, SumFinalizer finalizer) {
  constexpr IsaForms<FinalizeSumsFunction<T>(SumMap, SumFinalizer)> kForms =
      DMLOP_ISA_FORMS(MakeFinalize<T>);
  return Choose(kForms)(map, finalizer);
}

template ApproximateSumKernels<float> ApproximateSumKernelsFor(SumMap map);
template ApproximateSumKernels<Half> ApproximateSumKernelsFor(SumMap map);
template FinalizeSumsFunction<float> FinalizeSumsFor(SumMap map, SumFinalizer finalizer);
template FinalizeSumsFunction<Half> FinalizeSumsFor(SumMap map, SumFinalizer finalizer);

}  // namespace dmlop

#endif  // HWY_ONCE
