// SPDX-License-Identifier: Apache-2.0
// Sums of FLOAT16 as integers, for kernel sources with AVX-512. Included once for each instruction
// set, hence the unusual guard.
#if defined(DMLOP_KERNELS_HALF_INTEGERS_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef DMLOP_KERNELS_HALF_INTEGERS_INL_H_
#undef DMLOP_KERNELS_HALF_INTEGERS_INL_H_
#else
#define DMLOP_KERNELS_HALF_INTEGERS_INL_H_
#endif

#include <hwy/highway.h>

#include <array>
#include <cstdint>

#include "core/kernels/reduce/sum_map.h"
#include "core/kernels/simd/widen-inl.h"

HWY_BEFORE_NAMESPACE();
namespace dmlop::HWY_NAMESPACE {

#if HWY_TARGET <= HWY_AVX3

using HalfBits = hn::ScalableTag<uint16_t>;
using HalfBitsVec = hn::Vec<HalfBits>;
using Ints = hn::ScalableTag<int32_t>;
using IntVec = hn::Vec<Ints>;

// A finite value is significand * factor * unit, where the significand is less than 2^11 and the
// factor, which has the sign, is a power of two up to 2^14. The unit is 2^-24 for values whose
// biased exponent is below 16, and 2^-9 for others: one of the two factors is 0. Factors are
// indexed by sign and exponent.
struct HalfFactors {
  alignas(64) std::array<int16_t, 64> low{};
  alignas(64) std::array<int16_t, 64> high{};
};

constexpr HalfFactors FactorsFor(SumMap map) {
  HalfFactors factors;
  for (int exponent = 0; exponent < 31; ++exponent) {
    // Subnormal values have the unit of the least normal ones.
    const int power = exponent == 0 ? 0 : exponent < 16 ? exponent - 1 : exponent - 16;
    auto& half = exponent < 16 ? factors.low : factors.high;
    const int16_t factor = static_cast<int16_t>(1 << power);
    half[static_cast<size_t>(exponent)] = factor;
    half[static_cast<size_t>(exponent + 32)] =
        map == SumMap::kMagnitude ? factor : static_cast<int16_t>(-factor);
  }
  return factors;
}

template <SumMap kMap>
inline constexpr HalfFactors kHalfFactors = FactorsFor(kMap);

// Number of products, of 25 bits each, for which a sum has room.
constexpr int64_t kHalfProducts = 64;

// The sums of the values of either unit, in their units.
struct HalfIntegers {
  IntVec low, high;

  static HWY_INLINE HalfIntegers OfNothing() { return {hn::Zero(Ints()), hn::Zero(Ints())}; }

  // Adds the values of each pair of lanes, except infinities and NaN. Returns the magnitudes.
  template <SumMap kMap>
  HWY_INLINE HalfBitsVec AddPairs(HalfBitsVec x) {
    const HalfBits d;
    const HalfBitsVec magnitude = hn::And(x, hn::Set(d, 0x7FFF));
    // Only a subnormal magnitude is less than its significand with the implicit bit.
    const HalfBitsVec with_bit = hn::OrAnd(hn::Set(d, 0x400), x, hn::Set(d, 0x3FF));
    const HalfBitsVec significand = hn::Min(with_bit, magnitude);
    const HalfBitsVec place = hn::ShiftRight<10>(x);
    low = hn::Add(low, Products(significand, place, kHalfFactors<kMap>.low));
    high = hn::Add(high, Products(significand, place, kHalfFactors<kMap>.high));
    return magnitude;
  }

  // Returns the exact totals: multiples of 2^-24 that are less than 2^23.
  HWY_INLINE WideFloats Total() const {
    const hn::Half<Ints> half;
    return {Value(hn::LowerHalf(half, low), hn::LowerHalf(half, high)),
            Value(hn::UpperHalf(half, low), hn::UpperHalf(half, high))};
  }

 private:
  static HWY_INLINE IntVec Products(HalfBitsVec significand, HalfBitsVec place,
                                    const std::array<int16_t, 64>& factors) {
    const __m512i positive = _mm512_load_si512(factors.data());
    const __m512i negative = _mm512_load_si512(factors.data() + 32);
    const __m512i factor = _mm512_permutex2var_epi16(positive, place.raw, negative);
    return IntVec{_mm512_madd_epi16(significand.raw, factor)};
  }

  template <class V>
  static HWY_INLINE WideVec Value(V low, V high) {
    const Wide d;
    const WideVec low_value = hn::Mul(hn::PromoteTo(d, low), hn::Set(d, 0x1p-24));
    return hn::MulAdd(hn::PromoteTo(d, high), hn::Set(d, 0x1p-9), low_value);
  }
};

// Returns whether values of these magnitudes are all finite.
HWY_INLINE bool AreFinite(HalfBitsVec magnitudes) {
  const HalfBits d;
  return hn::AllTrue(d, hn::Lt(magnitudes, hn::Set(d, 0x7C00)));
}

HWY_INLINE HalfBitsVec LoadHalfBits(const Half* x) {
  return hn::LoadU(HalfBits(), reinterpret_cast<const uint16_t*>(x));
}

#endif  // HWY_TARGET <= HWY_AVX3

}  // namespace dmlop::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
