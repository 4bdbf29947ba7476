// SPDX-License-Identifier: Apache-2.0
// Rounds vectors of binary64 to results, for kernel sources.
#if defined(DMLOP_KERNELS_ROUND_RESULTS_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef DMLOP_KERNELS_ROUND_RESULTS_INL_H_
#undef DMLOP_KERNELS_ROUND_RESULTS_INL_H_
#else
#define DMLOP_KERNELS_ROUND_RESULTS_INL_H_
#endif

#include <hwy/highway.h>

#include <cmath>
#include <cstdint>
#include <type_traits>

#include "core/kernels/simd/widen-inl.h"

HWY_BEFORE_NAMESPACE();
namespace dmlop::HWY_NAMESPACE {

#if HWY_TARGET == HWY_SCALAR || HWY_TARGET == HWY_EMU128
// Highway's software conversion takes infinities for the largest numbers.
template <class D>
HWY_INLINE hn::Vec<hn::Rebind<float, D>> ToFloats(D d, hn::Vec<D> x) {
  HWY_ALIGN double wide[hn::MaxLanes(D())];
  HWY_ALIGN float narrow[hn::MaxLanes(D())];
  hn::Store(x, d, wide);
  for (size_t i = 0; i < hn::Lanes(d); ++i) narrow[i] = static_cast<float>(wide[i]);
  return hn::Load(hn::Rebind<float, D>(), narrow);
}
#else
template <class D>
HWY_INLINE hn::Vec<hn::Rebind<float, D>> ToFloats(D, hn::Vec<D> x) {
  return hn::DemoteTo(hn::Rebind<float, D>(), x);
}
#endif

// Rounds |x| to `bits` bits, ties to even; to fewer if it is less than the least normal number.
template <class D>
HWY_INLINE hn::Vec<D> RoundMagnitude(D d, hn::Vec<D> magnitude, int bits, double least_normal) {
  // The power of two at or below |x|, scaled by 1.5 * 2^53 / 2^bits, leaves no place for other
  // bits.
  const hn::RebindToUnsigned<D> du;
  const auto exponent = hn::And(hn::BitCast(du, magnitude), hn::Set(du, 0x7FFull << 52));
  // For an infinity, the shifter must still be finite.
  const auto power =
      hn::Min(hn::Max(hn::BitCast(d, exponent), hn::Set(d, least_normal)), hn::Set(d, 0x1p512));
  const auto shifter = hn::Mul(power, hn::Set(d, 0x1.8p53 / static_cast<double>(1ull << bits)));
  return hn::Sub(hn::Add(magnitude, shifter), shifter);
}

// Rounds to the nearest value of T, ties to even, still in binary64.
template <typename T, class D>
HWY_INLINE hn::Vec<D> RoundTo(D d, hn::Vec<D> x) {
  if constexpr (std::is_same_v<T, float>) return hn::PromoteTo(d, ToFloats(d, x));
  const auto rounded = RoundMagnitude(d, hn::Abs(x), 11, 0x1p-14);
  const auto overflows = hn::Gt(rounded, hn::Set(d, 65504.0));
  const auto infinity = hn::Set(d, INFINITY);
  return hn::CopySignToAbs(hn::IfThenElse(overflows, infinity, rounded), x);
}

// Finds the finite values that may not round to the nearest of T as any number within 2^-50 of them
// does: those near the middle between two normal results, and those that round to subnormal ones.
template <typename T, class D>
HWY_INLINE hn::Mask<D> NearTies(D d, hn::Vec<D> x) {
  constexpr bool kIsFloat = std::is_same_v<T, float>;
  constexpr int kDropped = kIsFloat ? 29 : 42;  // bits
  constexpr double kLeastNormal = kIsFloat ? 0x1p-126 : 0x1p-14;
  constexpr uint64_t kReach = 8;  // 2^-50 is at most 8 units in the last place
  const hn::RebindToUnsigned<D> du;
  const auto dropped = hn::And(hn::BitCast(du, x), hn::Set(du, (uint64_t{1} << kDropped) - 1));
  const auto first = hn::Set(du, (uint64_t{1} << (kDropped - 1)) - kReach);
  const auto others = hn::Set(du, ~(2 * kReach - 1));
  const auto near = hn::Eq(hn::And(hn::Sub(dropped, first), others), hn::Zero(du));
  return hn::Or(hn::RebindMask(d, near), hn::Lt(hn::Abs(x), hn::Set(d, kLeastNormal)));
}

// Replaces any NaN by the canonical one.
template <class Floats>
HWY_INLINE hn::Vec<Floats> Canonical(Floats floats, hn::Vec<Floats> x) {
  const hn::RebindToUnsigned<Floats> bits;
  return hn::IfThenElse(hn::IsNaN(x), hn::BitCast(floats, hn::Set(bits, 0x7FC00000u)), x);
}
template <class D>
HWY_INLINE hn::Vec<hn::Rebind<float, D>> ToResults(D d, hn::Vec<D> x) {
  return Canonical(hn::Rebind<float, D>(), ToFloats(d, x));
}

// Stores values that are representable in T.
template <class D>
HWY_INLINE void StoreResults(D d, hn::Vec<D> x, float* to) {
  hn::StoreU(ToResults(d, x), hn::Rebind<float, D>(), to);
}
template <class D>
HWY_INLINE void StoreResults(D d, hn::Vec<D> x, Half* to) {
#if HWY_TARGET == HWY_SSE4 || HWY_TARGET == HWY_SCALAR || HWY_TARGET == HWY_EMU128
  HWY_ALIGN double lanes[hn::MaxLanes(D())];
  hn::Store(x, d, lanes);
  for (size_t i = 0; i < hn::Lanes(d); ++i) to[i] = ToHalf(lanes[i]);
#else
  const hn::Rebind<hwy::float16_t, D> halves;
  hn::StoreU(hn::DemoteTo(halves, ToResults(d, x)), halves, reinterpret_cast<hwy::float16_t*>(to));
#endif
}

// Stores numbers, each rounded once to T.
template <class D, typename T>
HWY_INLINE void StoreRoundedOnce(D d, hn::Vec<D> x, T* to) {
  if constexpr (std::is_same_v<T, float>) {
    StoreResults(d, x, to);  // rounds as well
  } else {
    StoreResults(d, RoundTo<T>(d, x), to);
  }
}

}  // namespace dmlop::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
