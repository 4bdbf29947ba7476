// SPDX-License-Identifier: Apache-2.0
// Compiled once per instruction set; see the Highway documentation on foreach_target.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "core/kernels/element_wise/transcendental/exponential.cpp"
#include <hwy/foreach_target.h>
// Must come after foreach_target.h.
#include <hwy/highway.h>

#include "core/kernels/element_wise/quick-inl.h"
#include "core/kernels/element_wise/row.h"
#include "core/kernels/element_wise/transcendental/exponential-inl.h"
#include "core/kernels/simd/dispatch.h"

HWY_BEFORE_NAMESPACE();
namespace dmlop::HWY_NAMESPACE {
namespace {

using enum ElementWiseFunction;

std::span<const ElementWiseRow> ExponentialTable() {
  static constexpr ElementWiseRow kRows[] = {
      Quick<Exp, QuickExp>(kExp),
      Approximated<Sinh>(kSinh),
      Approximated<Cosh>(kCosh),
      Quick<Tanh, QuickTanh>(kTanh),
      Quick<Sigmoid, QuickSigmoid>(kSigmoid),
      Approximated<Elu>(kElu),
      Approximated<Celu>(kCelu),
      Approximated<ScaledElu>(kScaledElu),
      Approximated<ScaledTanh>(kScaledTanh),
      Approximated<Swish>(kSwish),
  };
  return kRows;
}

}  // namespace
}  // namespace dmlop::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE

namespace dmlop {

std::span<const ElementWiseRow> ExponentialRows() {
  static constexpr IsaForms<RowTable> kTables = DMLOP_ISA_FORMS(ExponentialTable);
  return Choose(kTables)();
}

}  // namespace dmlop

#endif  // HWY_ONCE
