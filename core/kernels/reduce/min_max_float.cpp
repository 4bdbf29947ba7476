#include "core/kernels/reduce/min_max.h"

// Compiled once per instruction set; see the Highway documentation on foreach_target.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "core/kernels/reduce/min_max_float.cpp"
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
template MinMaxKernels<Half> MinMaxKernelsFor();

template MinMaxIndexKernels<float> MinMaxIndexKernelsFor();
template MinMaxIndexKernels<Half> MinMaxIndexKernelsFor();

}  // namespace dmlop

#endif  // HWY_ONCE
