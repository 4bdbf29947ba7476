// SPDX-License-Identifier: Apache-2.0
// Adds up rows and columns of FLOAT16 as integers, for kernel sources with AVX-512.
#if defined(DMLOP_KERNELS_HALF_SUMS_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef DMLOP_KERNELS_HALF_SUMS_INL_H_
#undef DMLOP_KERNELS_HALF_SUMS_INL_H_
#else
#define DMLOP_KERNELS_HALF_SUMS_INL_H_
#endif

#include <hwy/cache_control.h>
#include <hwy/highway.h>

#include <array>
#include <cstdint>
#include <type_traits>

#include "core/kernels/reduce/accumulator-inl.h"
#include "core/kernels/reduce/approximate_sum.h"
#include "core/kernels/reduce/sum_map.h"
#include "core/kernels/reduce/sum_maps-inl.h"
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

#if HWY_TARGET <= HWY_AVX3

// Terms of these can be summed as integers.
template <SumMap kMap, typename T>
inline constexpr bool kAsIntegers = std::is_same_v<T, Half>&& kMap != SumMap::kSquare;

// Adds all elements but the last few, and returns how many it added.
template <SumMap kMap>
HWY_INLINE int64_t AddAsIntegers(const Half* x, int64_t count, Accumulator& accumulator) {
  // There is enough work while prefetches are under way, so that one stream is as fast as several.
  constexpr int64_t kAhead = 1 << 12;
  const HalfBits d;
  const int64_t lanes = static_cast<int64_t>(hn::Lanes(d));
  const int64_t whole = count / lanes * lanes;
  const auto add = [&](const Half* from, int64_t some) HWY_ATTR {
    HalfIntegers integers = HalfIntegers::OfNothing();
    HalfBitsVec largest = hn::Zero(d);
    for (int64_t i = 0; i < some; i += lanes) {
      hwy::Prefetch(from + kAhead + i);
      largest = hn::Max(largest, integers.AddPairs<kMap>(LoadHalfBits(from + i)));
    }
    // If all elements are zeros, their sum may be -0.
    if (AreFinite(largest) && !hn::AllTrue(d, hn::Eq(largest, hn::Zero(d)))) {
      const WideFloats total = integers.Total();
      accumulator.Add(total.low);
      accumulator.Add(total.high);
      return;
    }
    for (int64_t i = 0; i < some; i += static_cast<int64_t>(hn::Lanes(Wide()))) {
      accumulator.Add(OneVector<kMap>::Term(from + i));
    }
  };
  const int64_t block = kHalfProducts / 2 * lanes;
  for (int64_t i = 0; i < whole; i += block) add(x + i, HWY_MIN(block, whole - i));
  return whole;
}

// The sums of pairs of rows in the columns whose elements fill half a vector.
struct HalfColumns {
  using PairBits = hn::RebindToUnsigned<Ints>;

  HalfIntegers sums;
  hn::Vec<PairBits> seen;  // bits, nonzero once anything but -0 was added

  static HWY_INLINE HalfColumns OfNothing() {
    return {HalfIntegers::OfNothing(), hn::Zero(PairBits())};
  }

  // The sums of an incomplete block are stored in place of the groups' blocks and peaks.
  static HWY_INLINE HalfColumns Load(const double* block, const uint32_t* peak) {
    const Ints d;
    const int32_t* integers = static_cast<const int32_t*>(static_cast<const void*>(block));
    return {{hn::LoadU(d, integers), hn::LoadU(d, integers + hn::Lanes(d))},
            hn::LoadU(PairBits(), peak)};
  }
  HWY_INLINE void Store(double* block, uint32_t* peak) const {
    const Ints d;
    int32_t* integers = static_cast<int32_t*>(static_cast<void*>(block));
    hn::StoreU(sums.low, d, integers);
    hn::StoreU(sums.high, d, integers + hn::Lanes(d));
    hn::StoreU(seen, PairBits(), peak);
  }

  // Returns the magnitudes.
  template <SumMap kMap>
  HWY_INLINE HalfBitsVec AddPairs(HalfBitsVec x) {
    const HalfBitsVec magnitudes = sums.AddPairs<kMap>(x);
    See(magnitudes);
    return magnitudes;
  }
  HWY_INLINE void See(HalfBitsVec x) { seen = hn::Or(seen, hn::BitCast(PairBits(), x)); }

  HWY_INLINE bool HaveSeenAll() const {
    return hn::AllTrue(PairBits(), hn::Ne(seen, hn::Zero(PairBits())));
  }

  template <SumMap kMap>
  HWY_INLINE WideFloats Total() const {
    const WideFloats total = sums.Total();
    // Magnitudes cannot add up to -0.
    if (kMap == SumMap::kMagnitude || HaveSeenAll()) return total;
    const hn::Half<PairBits> half;
    return {WithSign(total.low, hn::LowerHalf(half, seen)),
            WithSign(total.high, hn::UpperHalf(half, seen))};
  }

 private:
  // Returns -0 for lanes that have seen nothing else.
  template <class V>
  static HWY_INLINE WideVec WithSign(WideVec total, V seen) {
    const hn::RebindToUnsigned<Wide> bits;
    const auto seen_nothing = hn::Eq(hn::PromoteTo(bits, seen), hn::Zero(bits));
    return hn::IfThenElse(hn::RebindMask(Wide(), seen_nothing), hn::Set(Wide(), -0.0), total);
  }
};

// The columns of a vector of elements, as interleaving the lower and the upper halves of each 16
// bytes of two rows arranges them.
struct HalfLine {
  HalfColumns lower, upper;

  static HWY_INLINE HalfLine OfNothing() {
    return {HalfColumns::OfNothing(), HalfColumns::OfNothing()};
  }
  static HWY_INLINE HalfLine Load(const ApproximateSums& sums) {
    const size_t columns = hn::Lanes(Ints());
    return {HalfColumns::Load(sums.block, sums.peak),
            HalfColumns::Load(sums.block + columns, sums.peak + columns)};
  }
  HWY_INLINE void Store(const ApproximateSums& sums) const {
    const size_t columns = hn::Lanes(Ints());
    lower.Store(sums.block, sums.peak);
    upper.Store(sums.block + columns, sums.peak + columns);
  }

  // Returns the larger magnitude of each pair.
  template <SumMap kMap>
  HWY_INLINE HalfBitsVec AddRows(HalfBitsVec a, HalfBitsVec b) {
    return hn::Max(lower.AddPairs<kMap>(hn::InterleaveLower(HalfBits(), a, b)),
                   upper.AddPairs<kMap>(hn::InterleaveUpper(HalfBits(), a, b)));
  }

  HWY_INLINE bool HaveSeenAll() const { return lower.HaveSeenAll() && upper.HaveSeenAll(); }

  HWY_INLINE void SeePositiveZeros(HalfBitsVec a, HalfBitsVec b) {
    const HalfBits d;
    const HalfBitsVec negative_zero = hn::Set(d, 0x8000);
    lower.See(hn::Xor(hn::InterleaveLower(d, a, b), negative_zero));
    upper.See(hn::Xor(hn::InterleaveUpper(d, a, b), negative_zero));
  }

  template <SumMap kMap>
  HWY_INLINE void AddTo(const ApproximateSums& sums) const {
    const Wide d;
    const size_t lanes = hn::Lanes(d);
    const WideFloats a = lower.Total<kMap>();
    const WideFloats b = upper.Total<kMap>();
    AddToGroups(hn::ConcatLowerLower(d, b.low, a.low), sums.head, sums.tail);
    AddToGroups(hn::ConcatUpperUpper(d, b.low, a.low), sums.head + lanes, sums.tail + lanes);
    AddToGroups(hn::ConcatLowerLower(d, b.high, a.high), sums.head + 2 * lanes,
                sums.tail + 2 * lanes);
    AddToGroups(hn::ConcatUpperUpper(d, b.high, a.high), sums.head + 3 * lanes,
                sums.tail + 3 * lanes);
  }
};

// Calls body(a, b) for pairs of rows of a line; a last row without a partner is paired with -0.
template <typename Body>
HWY_INLINE void ForEachPairOfRows(const Half* x, int64_t rows, int64_t stride, Body&& body) {
  int64_t row = 0;
  for (; row + 2 <= rows; row += 2) {
    body(LoadHalfBits(x + row * stride), LoadHalfBits(x + (row + 1) * stride));
  }
  if (row < rows) body(LoadHalfBits(x + row * stride), hn::Set(HalfBits(), 0x8000));
}

// Adds a few rows of a line. Returns false, and adds nothing, if there are infinities or NaN.
template <SumMap kMap>
HWY_INLINE bool AddFiniteRows(const Half* x, int64_t rows, int64_t stride, HalfLine& line) {
  HalfLine sum = line;
  HalfBitsVec largest = hn::Zero(HalfBits());
  ForEachPairOfRows(x, rows, stride, [&](HalfBitsVec a, HalfBitsVec b) HWY_ATTR {
    largest = hn::Max(largest, sum.AddRows<kMap>(a, b));
  });
  if (!AreFinite(largest)) return false;
  if (kMap == SumMap::kItself && !sum.HaveSeenAll()) {
    ForEachPairOfRows(x, rows, stride,
                      [&](HalfBitsVec a, HalfBitsVec b) HWY_ATTR { sum.SeePositiveZeros(a, b); });
  }
  line = sum;
  return true;
}

#endif  // HWY_TARGET <= HWY_AVX3

}  // namespace dmlop::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
