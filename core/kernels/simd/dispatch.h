// SPDX-License-Identifier: Apache-2.0
// Chooses, for kernel sources, which compiled form of a function to call. Highway's own dispatch
// would need its shared library, whose start-up takes longer than a small operator.
//
// Highway's foreach_target.h, which must come before highway.h, compiles a kernel source once for
// each instruction set. Headers called -inl.h are included as often, hence their unusual guards.
#pragma once

#include <hwy/highway.h>

#include <type_traits>

#include "core/kernels/simd/isa.h"

namespace dmlop {

// The forms of one function, in the order of kIsaNames; null if it is not compiled for one.
template <typename Function>
using IsaForms = Function* const[kIsaCount];

template <typename Function>
Function* Choose(const IsaForms<Function>& forms) {
  Function* best = forms[CurrentIsaIndex()];
  return best != nullptr ? best : forms[kIsaCount - 1];
}

}  // namespace dmlop

// Lists the forms of `function`, which every HWY_NAMESPACE inside this namespace defines.
#define DMLOP_ISA_FORMS(function)                                                    \
  {                                                                                  \
    HWY_CHOOSE_AVX3(function), HWY_CHOOSE_AVX2(function), HWY_CHOOSE_SSE4(function), \
        HWY_CHOOSE_NEON(function), HWY_CHOOSE_FALLBACK(function)                     \
  }

// Chooses the form of such a function for the current instruction set.
#define DMLOP_CHOOSE(function)                                                  \
  [] {                                                                          \
    using Function = std::remove_pointer_t<decltype(&HWY_NAMESPACE::function)>; \
    static constexpr IsaForms<Function> kForms = DMLOP_ISA_FORMS(function);     \
    return Choose(kForms);                                                      \
  }()
