// SPDX-License-Identifier: Apache-2.0
// Rows of FLOAT32 that a short approximation in pairs decides, for kernel sources. Included once
// for each instruction set, hence the unusual guard.
#if defined(DMLOP_KERNELS_ELEMENT_WISE_QUICK_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef DMLOP_KERNELS_ELEMENT_WISE_QUICK_INL_H_
#undef DMLOP_KERNELS_ELEMENT_WISE_QUICK_INL_H_
#else
#define DMLOP_KERNELS_ELEMENT_WISE_QUICK_INL_H_
#endif

#include <hwy/highway.h>

#include "core/kernels/element_wise/rows-inl.h"
#include "core/kernels/element_wise/transcendental/quick-inl.h"

HWY_BEFORE_NAMESPACE();
namespace dmlop::HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;

// Pairs need fused multiply-adds, and tables of at least eight entries.
constexpr bool kHasQuickForms = HWY_TARGET == HWY_AVX3 || HWY_TARGET == HWY_AVX2;

// Only notes which results are decided: to branch on it would often mispredict, and throw away what
// the processor has begun for the next vectors.
template <class F>
HWY_ATTR void ComputeQuickly(int64_t count, std::byte* to, const std::byte* from,
                             uint64_t* decided) {
  const hn::ScalableTag<float> d;
  uint8_t* const bytes = reinterpret_cast<uint8_t*>(decided);
  for (int64_t i = 0; i < count; i += static_cast<int64_t>(hn::Lanes(d))) {
    const auto y = F()(d, hn::LoadU(d, reinterpret_cast<const float*>(from) + i));
    hn::StoreU(y.value, d, reinterpret_cast<float*>(to) + i);
    hn::StoreMaskBits(d, y.is_decided, bytes + i / 8);
  }
}

// An approximated function of one value that also has a quick form.
template <class F, class QuickForm>
constexpr ElementWiseRow Quick(ElementWiseFunction function) {
  ElementWiseRow row = Approximated<F>(function);
  if constexpr (kHasQuickForms) row.quick = ComputeQuickly<QuickForm>;
  return row;
}

}  // namespace
}  // namespace dmlop::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
