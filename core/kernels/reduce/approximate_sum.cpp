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

template <>
ApproximateSumKernels<float> ApproximateSumKernelsFor(SumMap map) {
  constexpr IsaForms<ApproximateSumKernels<float>(SumMap)> kForms =
      DMLOP_ISA_FORMS(MakeKernels<float>);
  return Choose(kForms)(map);
}

template <>
FinalizeSumsFunction<float> FinalizeSumsFor(SumMap map, SumFinalizer finalizer) {
  constexpr IsaForms<FinalizeSumsFunction<float>(SumMap, SumFinalizer)> kForms =
      DMLOP_ISA_FORMS(MakeFinalize<float>);
  return Choose(kForms)(map, finalizer);
}

template <>
ApproximateSumKernels<Half> ApproximateSumKernelsFor(SumMap map) {
  constexpr IsaForms<ApproximateSumKernels<Half>(SumMap)> kForms =
      DMLOP_ISA_FORMS(MakeKernels<Half>);
  return Choose(kForms)(map);
}

template <>
FinalizeSumsFunction<Half> FinalizeSumsFor(SumMap map, SumFinalizer finalizer) {
  constexpr IsaForms<FinalizeSumsFunction<Half>(SumMap, SumFinalizer)> kForms =
      DMLOP_ISA_FORMS(MakeFinalize<Half>);
  return Choose(kForms)(map, finalizer);
}

}  // namespace dmlop

#endif  // HWY_ONCE
