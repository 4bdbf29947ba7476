#include "core/kernels/min_max.h"

// Compiled once per instruction set; see the Highway documentation on foreach_target.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "core/kernels/min_max.cpp"
#include <hwy/foreach_target.h>
// Must come after foreach_target.h.
#include <hwy/highway.h>

#include "core/kernels/dispatch.h"
#include "core/kernels/min_max_columns-inl.h"
#include "core/kernels/min_max_rows-inl.h"
#include "core/kernels/ordered_keys-inl.h"

HWY_BEFORE_NAMESPACE();
namespace dmlop::HWY_NAMESPACE {

// Integers have no two keys for one number.
template <typename T>
constexpr KeysFor kKeysForIndex = std::is_integral_v<T> ? KeysFor::kValue : KeysFor::kIndex;

template <typename T>
MinMaxKernels<T> MakeKernels() {
  using K = Keys<T, KeysFor::kValue>;
  return {BestOfRow<K>, BestOfRows<K>, BestOfColumns<K>};
}

template <typename T>
MinMaxIndexKernels<T> MakeIndexKernels() {
  using K = Keys<T, kKeysForIndex<T>>;
  return {BestOfRow<K>, BestOfRows<K>, FirstInRow<K>, IndexOfColumns<K>};
}

}  // namespace dmlop::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

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
template MinMaxKernels<int64_t> MinMaxKernelsFor();
template MinMaxKernels<int32_t> MinMaxKernelsFor();
template MinMaxKernels<int16_t> MinMaxKernelsFor();
template MinMaxKernels<int8_t> MinMaxKernelsFor();

template MinMaxIndexKernels<float> MinMaxIndexKernelsFor();
template MinMaxIndexKernels<Half> MinMaxIndexKernelsFor();
template MinMaxIndexKernels<int64_t> MinMaxIndexKernelsFor();
template MinMaxIndexKernels<int32_t> MinMaxIndexKernelsFor();
template MinMaxIndexKernels<int16_t> MinMaxIndexKernelsFor();
template MinMaxIndexKernels<int8_t> MinMaxIndexKernelsFor();

}  // namespace dmlop

#endif  // HWY_ONCE
