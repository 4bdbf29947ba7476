// SPDX-License-Identifier: Apache-2.0
#include "core/kernels/reduce/exp_sum.h"

#include <bit>
#include <cmath>
#include <iterator>
#include <type_traits>

#include "core/kernels/reduce/powers_of_two.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "core/kernels/reduce/fixed_exp_sum.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "core/kernels/reduce/columns-inl.h"
#include "core/kernels/simd/dispatch.h"
#include "core/kernels/simd/widen-inl.h"

HWY_BEFORE_NAMESPACE();
namespace dmlop::HWY_NAMESPACE {

using Integers = hn::RebindToSigned<Wide>;
using IntegerVec = hn::Vec<Integers>;

// Returns 2^(k / 16), where k is in the lowest bits.
HWY_INLINE WideVec PowerOfTwo(IntegerVec k) {
  const Integers d;
#if HWY_TARGET <= HWY_AVX3
  const IntegerVec fraction{_mm512_permutex2var_epi64(_mm512_load_si512(kPowerBits.data()), k.raw,
                                                      _mm512_load_si512(kPowerBits.data() + 8))};
#else
  const IntegerVec fraction =
      hn::GatherIndex(d, kPowerBits.data(), hn::And(k, hn::Set(d, kPowerBits.size() - 1)));
#endif
  return hn::BitCast(Wide(), hn::Add(fraction, hn::ShiftLeft<kSixteenthsAt>(k)));
}

// Returns e^x for x <= 0, within FixedExpSums::kRelativeBound of the result, and 1 for 0; nearly 0
// below -708. Only uses products and sums, each rounded, so that the bits are the same everywhere.
template <typename T>
HWY_INLINE WideVec ExpOfDifference(WideVec x) {
  const Wide d;
  const WideVec least = hn::Set(d, -708.0);
  x = hn::IfThenElse(hn::Gt(x, least), x, least);  // NaN too, if the maximum is not finite
  // Adding 1.5 * 2^48 leaves x / ln 2, rounded to 16ths, in the low bits of the sum.
  const WideVec shifter = hn::Set(d, 0x1.8p48);
  const WideVec shifted = hn::Add(hn::Mul(x, hn::Set(d, 0x1.71547652b82fep0)), shifter);
  const WideVec k = hn::Sub(shifted, shifter);
  WideVec r;
  if constexpr (std::is_same_v<T, Half>) {
    r = hn::Sub(x, hn::Mul(k, hn::Set(d, 0x1.62e42fefa39efp-1)));
  } else {
    // ln 2 has two parts; the product with the first, which ends in 20 zero bits, is exact.
    r = hn::Sub(x, hn::Mul(k, hn::Set(d, 0x1.62e42feep-1)));
    r = hn::Sub(r, hn::Mul(k, hn::Set(d, 0x1.a39ef35793c76p-33)));
  }
  // The Taylor series is within 2^-51 for |r| <= ln 2 / 32; without its two highest terms, 2^-34.5.
  constexpr double kCoefficients[] = {1.0 / 720, 1.0 / 120, 1.0 / 24, 1.0 / 6, 1.0 / 2, 1.0, 1.0};
  constexpr size_t kFirst = std::is_same_v<T, Half> ? 2 : 0;
  WideVec rest = hn::Set(d, kCoefficients[kFirst]);
  for (size_t i = kFirst + 1; i < std::size(kCoefficients); ++i) {
    rest = hn::Add(hn::Mul(rest, r), hn::Set(d, kCoefficients[i]));
  }
  return hn::Mul(PowerOfTwo(hn::BitCast(Integers(), shifted)), rest);
}

// A vector of sums. A term is rounded to a multiple of the high unit, and the rest to one of the
// low unit: adding 1.5 * 2^52 units leaves their number in the low bits.
class FixedSums {
 public:
  FixedSums(IntegerVec high, IntegerVec low) : high_(high), low_(low) {}

  HWY_INLINE void Add(WideVec term) {
    const WideVec shifter = hn::Set(Wide(), kHighShifter);
    const WideVec shifted = hn::Add(term, shifter);
    const WideVec rest = hn::Sub(term, hn::Sub(shifted, shifter));
    high_ = hn::Add(high_, hn::BitCast(Integers(), shifted));
    low_ = hn::Add(low_, hn::BitCast(Integers(), hn::Add(rest, hn::Set(Wide(), kLowShifter))));
  }

  // Return the number of units after `count` additions.
  HWY_INLINE IntegerVec High(int64_t count) const { return Without(kHighShifter, count, high_); }
  HWY_INLINE IntegerVec Low(int64_t count) const { return Without(kLowShifter, count, low_); }

 private:
  static constexpr double kHighShifter = 0x1.8p52 * FixedExpSums::kHighUnit;
  static constexpr double kLowShifter = 0x1.8p52 * FixedExpSums::kLowUnit;

  // Sums wrap around, and subtracting what was added wraps them back.
  static HWY_INLINE IntegerVec Without(double shifter, int64_t count, IntegerVec sum) {
    const uint64_t added = std::bit_cast<uint64_t>(shifter) * static_cast<uint64_t>(count);
    return hn::Sub(sum, hn::Set(Integers(), static_cast<int64_t>(added)));
  }

  IntegerVec high_, low_;
};

// Adds as vectors do. Only sums that mean nothing wrap around.
HWY_INLINE int64_t WrappingSum(int64_t a, int64_t b) {
  return static_cast<int64_t>(static_cast<uint64_t>(a) + static_cast<uint64_t>(b));
}

template <typename T>
void AddRow(const T* x, int64_t count, const FixedExpSums& sums) {
  const Wide d;
  const int64_t lanes = static_cast<int64_t>(hn::Lanes(d));
  const WideVec max = hn::Set(d, *sums.max);
  FixedSums total(hn::Zero(Integers()), hn::Zero(Integers()));
  int64_t i = 0;
  for (; i + lanes <= count; i += lanes) {
    total.Add(ExpOfDifference<T>(hn::Sub(LoadWide(x + i), max)));
  }
  if (i < count) {
    const WideVec rest = hn::PromoteTo(d, LoadRest(Narrow(), x + i, count - i));
    total.Add(ExpOfDifference<T>(hn::Sub(rest, max)));
  }
  HWY_ALIGN int64_t highs[hn::MaxLanes(Wide())], lows[hn::MaxLanes(Wide())];
  const int64_t vectors = (count + lanes - 1) / lanes;
  hn::Store(total.High(vectors), Integers(), highs);
  hn::Store(total.Low(vectors), Integers(), lows);
  for (int64_t lane = 0; lane < lanes; ++lane) {
    *sums.high = WrappingSum(*sums.high, highs[lane]);
    *sums.low = WrappingSum(*sums.low, lows[lane]);
  }
}

template <typename T>
void AddColumns(const T* x, int64_t rows, int64_t row_stride, int64_t columns,
                const FixedExpSums& sums) {
  const Wide d;
  const auto vector = [&](const FewRows<T>& few, int64_t c) HWY_ATTR {
    const WideVec max = hn::LoadU(d, sums.max + c);
    FixedSums total(hn::LoadU(Integers(), sums.high + c), hn::LoadU(Integers(), sums.low + c));
    for (int64_t row = 0; row < few.count; ++row) {
      total.Add(ExpOfDifference<T>(hn::Sub(LoadWide(few.first + row * few.stride), max)));
    }
    hn::StoreU(total.High(few.count), Integers(), sums.high + c);
    hn::StoreU(total.Low(few.count), Integers(), sums.low + c);
  };
  const auto single = [&](const FewRows<T>& few, int64_t c) HWY_ATTR {
    T column[kFewRows];
    few.Pack(column);
    AddRow(column, few.count, {sums.max + c, sums.high + c, sums.low + c});
  };
  ForEachColumns(x, rows, row_stride, columns, static_cast<int64_t>(hn::Lanes(d)), vector, single);
}

// Returns the larger operand, or NaN if either is.
template <class D>
HWY_INLINE hn::Vec<D> MaxOrNan(D, hn::Vec<D> max, hn::Vec<D> x) {
  return hn::IfThenElse(hn::Or(hn::Gt(x, max), hn::IsNaN(x)), x, max);
}
HWY_INLINE double MaxOrNan(double max, float x) {
  return static_cast<double>(x) > max || std::isnan(x) ? static_cast<double>(x) : max;
}

template <typename T>
void MaxRow(const T* x, int64_t count, double* max) {
  const Floats d;
  const int64_t lanes = static_cast<int64_t>(hn::Lanes(d));
  FloatVec even = hn::Set(d, -INFINITY);
  FloatVec odd = even;
  int64_t i = 0;
  for (; i + 2 * lanes <= count; i += 2 * lanes) {
    even = MaxOrNan(d, even, LoadFloats(d, x + i));
    odd = MaxOrNan(d, odd, LoadFloats(d, x + i + lanes));
  }
  HWY_ALIGN float values[hn::MaxLanes(Floats())];
  hn::Store(MaxOrNan(d, even, odd), d, values);
  for (int64_t lane = 0; lane < lanes; ++lane) *max = MaxOrNan(*max, values[lane]);
  for (; i < count; ++i) *max = MaxOrNan(*max, WidenElement(x[i]));
}

template <typename T>
void MaxColumns(const T* x, int64_t rows, int64_t row_stride, int64_t columns, double* max) {
  const Wide d;
  const auto vector = [&](const FewRows<T>& few, int64_t c) HWY_ATTR {
    NarrowVec greatest = LoadNarrow(few.first);
    for (int64_t row = 1; row < few.count; ++row) {
      greatest = MaxOrNan(Narrow(), greatest, LoadNarrow(few.first + row * few.stride));
    }
    hn::StoreU(MaxOrNan(d, hn::LoadU(d, max + c), hn::PromoteTo(d, greatest)), d, max + c);
  };
  const auto single = [&](const FewRows<T>& few, int64_t c) HWY_ATTR {
    for (int64_t row = 0; row < few.count; ++row) {
      max[c] = MaxOrNan(max[c], WidenElement(few.first[row * few.stride]));
    }
  };
  ForEachColumns(x, rows, row_stride, columns, static_cast<int64_t>(hn::Lanes(d)), vector, single);
}

template <typename T>
FixedExpSumKernels<T> MakeKernels() {
  return {MaxRow<T>, MaxColumns<T>, AddRow<T>, AddColumns<T>};
}

}  // namespace dmlop::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace dmlop {

template <typename T>
FixedExpSumKernels<T> FixedExpSumKernelsFor() {
  return DMLOP_CHOOSE(MakeKernels<T>)();
}

template FixedExpSumKernels<float> FixedExpSumKernelsFor();
template FixedExpSumKernels<Half> FixedExpSumKernelsFor();

}  // namespace dmlop
#endif
