// SPDX-License-Identifier: Apache-2.0
#include "core/kernels/matrix/pack.h"

// Compiled once per instruction set; see the Highway documentation on foreach_target.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "core/kernels/matrix/pack_windows.cpp"
#include <hwy/foreach_target.h>
// Must come after foreach_target.h.
#include <hwy/highway.h>

#include <algorithm>

#include "core/kernels/matrix/widen_row-inl.h"
#include "core/kernels/simd/dispatch.h"

HWY_BEFORE_NAMESPACE();
namespace dmlop::HWY_NAMESPACE {

template <typename T>
void PackTap(const WindowTapCall& call) {
  const T* from = reinterpret_cast<const T*>(call.data);
  double* to = call.to;
  for (int64_t c = 0; c < call.channels; ++c, from += call.channel_stride, to += call.width) {
    double* present = to + call.before;
    std::fill(to, present, 0.0);
    std::fill_n(present + call.count, call.after, 0.0);
    if (call.stride == 1) {
      WidenRow(from, call.count, present);
    } else {
      for (int64_t i = 0; i < call.count; ++i) present[i] = WidenElement(from[i * call.stride]);
    }
  }
}

void PackFloatTap(const WindowTapCall& call) {
  PackTap<float>(call);
}
void PackHalfTap(const WindowTapCall& call) {
  PackTap<Half>(call);
}

}  // namespace dmlop::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace dmlop {

PackTapFunction* PackTapFunctionFor(DataType type) {
  static constexpr IsaForms<PackTapFunction> kFloats = DMLOP_ISA_FORMS(PackFloatTap);
  static constexpr IsaForms<PackTapFunction> kHalves = DMLOP_ISA_FORMS(PackHalfTap);
  return Choose(type == DataType::kFloat16 ? kHalves : kFloats);
}

}  // namespace dmlop
#endif
