#include "core/kernels/extreme.h"

// Compiled once per instruction set; see the Highway documentation on foreach_target.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "core/kernels/extreme.cpp"
#include <hwy/foreach_target.h>
// Must come after foreach_target.h.
#include <hwy/highway.h>

#include "core/kernels/dispatch.h"
#include "core/kernels/extreme_columns-inl.h"
#include "core/kernels/extreme_keys-inl.h"
#include "core/kernels/extreme_rows-inl.h"

HWY_BEFORE_NAMESPACE();
namespace dmlop::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

template <typename T, Extreme kExtreme>
int64_t FirstInRow(const T* x, int64_t count, typename KeyOfType<T>::Key key) {
  using K = Keys<T, kExtreme, true>;
  const typename K::D d;
  const int64_t lanes = K::Lanes();
  int64_t i = 0;
  for (; i + lanes <= count; i += lanes) {
    const int64_t lane = hn::FindFirstTrue(d, hn::Eq(K::Load(x + i), hn::Set(d, key)));
    if (lane >= 0) return i + lane;
  }
  while (i < count && K::Scalar(x[i]) != key) ++i;
  return i;
}

template <typename T, Extreme kExtreme>
ValueKernels<T> Values() {
  return {BestOfRow<T, kExtreme, false>, BestOfRows<T, kExtreme, false>,
          BestOfColumns<T, kExtreme>};
}

template <typename T, Extreme kExtreme>
IndexKernels<T> Indices() {
  return {BestOfRow<T, kExtreme, true>, BestOfRows<T, kExtreme, true>, FirstInRow<T, kExtreme>,
          IndexOfColumns<T, kExtreme>};
}

template <typename T>
ExtremeKernels<T> MakeKernels() {
  return {Values<T, Extreme::kMax>(), Values<T, Extreme::kMin>(), Indices<T, Extreme::kMax>(),
          Indices<T, Extreme::kMin>()};
}

}  // namespace dmlop::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE

namespace dmlop {

template <typename T>
ExtremeKernels<T> ExtremeKernelsFor() {
  constexpr IsaForms<ExtremeKernels<T>()> kForms = DMLOP_ISA_FORMS(MakeKernels<T>);
  return Choose(kForms)();
}

template ExtremeKernels<float> ExtremeKernelsFor();
template ExtremeKernels<Half> ExtremeKernelsFor();
template ExtremeKernels<int64_t> ExtremeKernelsFor();
template ExtremeKernels<uint64_t> ExtremeKernelsFor();
template ExtremeKernels<int32_t> ExtremeKernelsFor();
template ExtremeKernels<uint32_t> ExtremeKernelsFor();
template ExtremeKernels<int16_t> ExtremeKernelsFor();
template ExtremeKernels<uint16_t> ExtremeKernelsFor();
template ExtremeKernels<int8_t> ExtremeKernelsFor();
template ExtremeKernels<uint8_t> ExtremeKernelsFor();

}  // namespace dmlop

#endif  // HWY_ONCE
