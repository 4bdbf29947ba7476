#include "core/kernels/kept_bytes.h"

// Compiled once per instruction set; see the Highway documentation on foreach_target.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "core/kernels/kept_bytes.cpp"
#include <hwy/foreach_target.h>
// Must come after foreach_target.h.
#include <hwy/highway.h>

#include "core/kernels/dispatch.h"

HWY_BEFORE_NAMESPACE();
namespace dmlop::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

void CopyKept(int64_t bytes, std::byte* to, const std::byte* from, const std::byte* kept) {
  const hn::ScalableTag<uint8_t> d;
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  const auto copy = [&](int64_t i) HWY_ATTR {
    const auto value = hn::LoadU(d, reinterpret_cast<const uint8_t*>(from + i));
    const auto mask = hn::LoadU(d, reinterpret_cast<const uint8_t*>(kept + i));
    hn::StoreU(hn::And(value, mask), d, reinterpret_cast<uint8_t*>(to + i));
  };
  if (bytes < lanes) {
    for (int64_t i = 0; i < bytes; ++i) to[i] = from[i] & kept[i];
    return;
  }
  for (int64_t i = 0; i + lanes <= bytes; i += lanes) copy(i);
  if (bytes % lanes != 0) copy(bytes - lanes);
}

}  // namespace dmlop::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE

#include <type_traits>

namespace dmlop {
namespace {
constexpr IsaForms<std::remove_pointer_t<CopyKeptFunction>> kCopyKept = DMLOP_ISA_FORMS(CopyKept);
}  // namespace

CopyKeptFunction CopyKeptForIsa() {
  return Choose(kCopyKept);
}

}  // namespace dmlop

#endif  // HWY_ONCE
