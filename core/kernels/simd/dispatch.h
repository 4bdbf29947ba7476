// For kernel sources: which of a function's compiled forms to call. Highway's own dispatch would
// need its shared library, whose start-up takes longer than a small operator.
#pragma once

#include <hwy/highway.h>

#include "core/kernels/simd/isa.h"

namespace dmlop {

// The forms of one function, in the order of kIsaNames; null where it is not compiled.
template <typename Function>
using IsaForms = Function* const[kIsaCount];

template <typename Function>
Function* Choose(const IsaForms<Function>& forms) {
  Function* best = forms[CurrentIsaIndex()];
  return best != nullptr ? best : forms[kIsaCount - 1];
}

}  // namespace dmlop

// The forms of `function`, which each HWY_NAMESPACE inside this one defines.
#define DMLOP_ISA_FORMS(function)                                                    \
  {                                                                                  \
    HWY_CHOOSE_AVX3(function), HWY_CHOOSE_AVX2(function), HWY_CHOOSE_SSE4(function), \
        HWY_CHOOSE_NEON(function), HWY_CHOOSE_FALLBACK(function)                     \
  }
