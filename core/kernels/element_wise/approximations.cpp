// SPDX-License-Identifier: Apache-2.0
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "core/kernels/element_wise/approximations.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "core/kernels/element_wise/row.h"

#include "core/kernels/element_wise/narrow-inl.h"
#include "core/kernels/simd/dispatch.h"

HWY_BEFORE_NAMESPACE();
namespace dmlop::HWY_NAMESPACE {
namespace {

// A result is resolved if both ends of its error interval round to the same number.
template <typename T>
HWY_ATTR int64_t RoundRow(double relative_error, int64_t count, std::byte* to,
                          const std::byte* from, int32_t* unresolved) {
  const Wide d;
  const double* x = reinterpret_cast<const double*>(from);
  const WideVec below = hn::Set(d, 1.0 - relative_error);
  const WideVec above = hn::Set(d, 1.0 + relative_error);
  int64_t unresolved_count = 0;
  for (int64_t i = 0; i < count; i += static_cast<int64_t>(hn::Lanes(d))) {
    const WideVec y = hn::LoadU(d, x + i);
    const auto result = RoundedTo(T(), hn::Mul(y, below));
    const auto other = RoundedTo(T(), hn::Mul(y, above));
    const hn::DFromV<decltype(result)> bits;
    hn::StoreU(result, bits, reinterpret_cast<hn::TFromD<decltype(bits)>*>(to) + i);
    if (HWY_LIKELY(hn::AllTrue(bits, hn::Eq(result, other)))) continue;
    HWY_ALIGN hn::TFromD<decltype(bits)> ends[2][hn::MaxLanes(Wide())];
    hn::StoreU(result, bits, ends[0]);
    hn::StoreU(other, bits, ends[1]);
    for (size_t lane = 0; lane < hn::Lanes(d); ++lane) {
      if (ends[0][lane] == ends[1][lane]) continue;
      unresolved[unresolved_count++] = static_cast<int32_t>(i + static_cast<int64_t>(lane));
    }
  }
  return unresolved_count;
}

}  // namespace
}  // namespace dmlop::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace dmlop {

RoundFunction* RoundFunctionFor(DataType type) {
  return type == DataType::kFloat32 ? DMLOP_CHOOSE(RoundRow<float>) : DMLOP_CHOOSE(RoundRow<Half>);
}

}  // namespace dmlop
#endif
