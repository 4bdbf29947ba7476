// SPDX-License-Identifier: Apache-2.0
#include "core/kernels/recurrent/states.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "core/kernels/recurrent/states.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "core/kernels/reduce/round_results-inl.h"
#include "core/kernels/simd/dispatch.h"
#include "core/kernels/simd/widen-inl.h"

HWY_BEFORE_NAMESPACE();
namespace dmlop::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

// Calls body(d, i) for vectors of elements from element i on; each element comes once.
template <typename Body>
HWY_INLINE void ForEachVector(int64_t count, Body&& body) {
  const Wide d;
  const int64_t lanes = static_cast<int64_t>(hn::Lanes(d));
  int64_t i = 0;
  for (; i + lanes <= count; i += lanes) body(d, i);
  for (; i < count; ++i) body(hn::CappedTag<double, 1>(), i);
}

template <class D, typename T>
HWY_INLINE hn::Vec<D> Widened(D d, const T* x) {
  return hn::PromoteTo(d, LoadFloats(hn::Rebind<float, D>(), x));
}

// Adds two numbers. If the sum is not exact, its last bit is 1, so that fewer bits round as those
// of the exact sum do.
template <class D>
HWY_INLINE hn::Vec<D> AddToOdd(D d, hn::Vec<D> a, hn::Vec<D> b) {
  const hn::RebindToSigned<D> integers;
  const auto sum = hn::Add(a, b);
  const auto b_part = hn::Sub(sum, a);
  const auto tail = hn::Add(hn::Sub(a, hn::Sub(sum, b_part)), hn::Sub(b, b_part));
  const auto bits = hn::BitCast(integers, sum);
  const auto one = hn::Set(integers, 1);
  const auto signs = hn::Xor(bits, hn::BitCast(integers, tail));
  const auto away_or_back = hn::Or(hn::BroadcastSignBit(signs), one);
  const auto is_inexact = hn::And(hn::Ne(tail, hn::Zero(d)), hn::IsFinite(sum));
  const auto is_even = hn::Eq(hn::And(bits, one), hn::Zero(integers));
  const auto is_off = hn::And(is_inexact, hn::RebindMask(d, is_even));
  return hn::IfThenElse(is_off, hn::BitCast(d, hn::Add(bits, away_or_back)), sum);
}

// Adds two numbers, whose sum is to be rounded once more, to T. FLOAT64 does for that but near the
// middle of two results.
template <typename T, class D>
HWY_INLINE hn::Vec<D> AddToRound(D d, hn::Vec<D> a, hn::Vec<D> b) {
  const auto sum = hn::Add(a, b);
  return hn::AllFalse(d, NearTies<T>(d, sum)) ? sum : AddToOdd(d, a, b);
}

template <typename T>
void Mix(int64_t count, float* forget, const float* input, const float* added, T* memory) {
  ForEachVector(count, [&](auto d, int64_t i) HWY_ATTR {
    const auto kept = hn::Mul(Widened(d, forget + i), Widened(d, memory + i));
    const auto more = hn::Mul(Widened(d, input + i), Widened(d, added + i));
    StoreRoundedOnce(d, AddToRound<T>(d, kept, more), memory + i);
    const hn::Rebind<float, decltype(d)> floats;
    hn::StoreU(LoadFloats(floats, memory + i), floats, forget + i);
  });
}

template <typename T>
void MultiplyGates(int64_t count, const float* a, const float* b, T* products) {
  ForEachVector(count, [&](auto d, int64_t i) HWY_ATTR {
    StoreRoundedOnce(d, hn::Mul(Widened(d, a + i), Widened(d, b + i)), products + i);
  });
}

template <typename T>
StateKernels<T> MakeStateKernels() {
  return {Mix<T>, MultiplyGates<T>};
}

}  // namespace dmlop::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace dmlop {

template <typename T>
StateKernels<T> StateKernelsFor() {
  static constexpr IsaForms<StateKernels<T>()> kForms = DMLOP_ISA_FORMS(MakeStateKernels<T>);
  return Choose(kForms)();
}

template StateKernels<float> StateKernelsFor();
template StateKernels<Half> StateKernelsFor();

}  // namespace dmlop
#endif
