// SPDX-License-Identifier: Apache-2.0
#include "core/kernels/reduce/min_max.h"

// Compiled once per instruction set; see the Highway documentation on foreach_target.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "core/kernels/reduce/min_max.cpp"
#include <hwy/foreach_target.h>
// Must come after foreach_target.h.
#include <hwy/highway.h>

#include "core/kernels/reduce/min_max-inl.h"
#include "core/kernels/simd/dispatch.h"

#if HWY_ONCE

namespace dmlop {

template <typename T>
MinMaxKernels<T> MinMaxKernelsFor() {
  constexpr IsaForms<MinMaxKernels<T>()> kForms = DMLOP_ISA_FORMS(MakeKernels<T>);
  return Choose(kForms)();
}

template <typename T>
MinMaxIndexKernels<T> MinMaxIndexKernelsFor() {
  constexpr IsaForms<MinMaxIndexKernels<T>()> kForms = DMLOP_ISA_FORMS(MakeIndexKernels<T>);
  return Choose(kForms)();
}

template MinMaxKernels<float> MinMaxKernelsFor();
template MinMaxIndexKernels<float> MinMaxIndexKernelsFor();
template MinMaxKernels<Half> MinMaxKernelsFor();
template MinMaxIndexKernels<Half> MinMaxIndexKernelsFor();
template MinMaxKernels<int64_t> MinMaxKernelsFor();
template MinMaxIndexKernels<int64_t> MinMaxIndexKernelsFor();
template MinMaxKernels<int32_t> MinMaxKernelsFor();
template MinMaxIndexKernels<int32_t> MinMaxIndexKernelsFor();
template MinMaxKernels<int16_t> MinMaxKernelsFor();
template MinMaxIndexKernels<int16_t> MinMaxIndexKernelsFor();
template MinMaxKernels<int8_t> MinMaxKernelsFor();
template MinMaxIndexKernels<int8_t> MinMaxIndexKernelsFor();

}  // namespace dmlop

#endif  // HWY_ONCE
