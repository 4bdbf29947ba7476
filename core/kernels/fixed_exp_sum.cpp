#include "core/kernels/fixed_exp_sum.h"

#include <algorithm>
#include <cmath>

// Compiled once per instruction set; see the Highway documentation on foreach_target.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "core/kernels/fixed_exp_sum.cpp"
#include <hwy/foreach_target.h>
// Must come after foreach_target.h.
#include <hwy/highway.h>

#include "core/kernels/columns-inl.h"
#include "core/kernels/dispatch.h"
#include "core/kernels/widen-inl.h"

HWY_BEFORE_NAMESPACE();
namespace dmlop::HWY_NAMESPACE {

using Integers = hn::RebindToSigned<Wide>;
using IntegerVec = hn::Vec<Integers>;

// e^x for x <= 0, within 2^-49 of the result, and 1 for 0; nearly 0 below -708. Only products and
// sums, each rounded, so that the bits are the same everywhere.
HWY_INLINE WideVec ExpOfDifference(WideVec x) {
  const Wide d;
  const hn::RebindToUnsigned<Wide> bits;
  const WideVec least = hn::Set(d, -708.0);
  x = hn::IfThenElse(hn::Gt(x, least), x, least);  // NaN too, which groups of other maxima give
  // Adding 1.5 * 2^52 leaves k = round(x / ln 2) in the low bits of the sum.
  const WideVec shifter = hn::Set(d, 0x1.8p52);
  const WideVec shifted = hn::Add(hn::Mul(x, hn::Set(d, 0x1.71547652b82fep0)), shifter);
  const WideVec k = hn::Sub(shifted, shifter);
  // ln 2 in two parts; the product with the first, which ends in 20 zero bits, is exact.
  WideVec r = hn::Sub(x, hn::Mul(k, hn::Set(d, 0x1.62e42feep-1)));
  r = hn::Sub(r, hn::Mul(k, hn::Set(d, 0x1.a39ef35793c76p-33)));
  // The Taylor series to r^13 / 13! leaves 2^-57 for |r| <= ln(2) / 2. Its terms are combined as a
  // tree to keep the chain of dependent operations short.
  const WideVec r2 = hn::Mul(r, r);
  const WideVec r4 = hn::Mul(r2, r2);
  const auto four_terms = [&](double a, double b, double c, double e) HWY_ATTR {
    const WideVec low = hn::Add(hn::Set(d, a), hn::Mul(r, hn::Set(d, b)));
    const WideVec high = hn::Add(hn::Set(d, c), hn::Mul(r, hn::Set(d, e)));
    return hn::Add(low, hn::Mul(r2, high));
  };
  const WideVec c2 = four_terms(1.0 / 2, 1.0 / 6, 1.0 / 24, 1.0 / 120);
  const WideVec c6 = four_terms(1.0 / 720, 1.0 / 5040, 1.0 / 40320, 1.0 / 362880);
  const WideVec c10 = four_terms(1.0 / 3628800, 1.0 / 39916800, 1.0 / 479001600, 1.0 / 6227020800);
  const WideVec rest = hn::Add(c2, hn::Mul(r4, hn::Add(c6, hn::Mul(r4, c10))));
  const WideVec power = hn::Add(hn::Set(d, 1.0), hn::Add(r, hn::Mul(r2, rest)));
  const auto exponent = hn::ShiftLeft<52>(hn::BitCast(bits, shifted));
  return hn::BitCast(d, hn::Add(hn::BitCast(bits, power), exponent));
}

// A vector of sums. A term is rounded to a multiple of the high unit, and what that leaves to one
// of the low unit: adding 1.5 * 2^52 units leaves their number in the low bits.
struct FixedSums {
  IntegerVec high, low;

  HWY_INLINE void Add(WideVec term) {
    const Wide d;
    const WideVec shifter = hn::Set(d, 0x1.8p52 * FixedExpSums::kHighUnit);
    const WideVec low_shifter = hn::Set(d, 0x1.8p52 * FixedExpSums::kLowUnit);
    const WideVec shifted = hn::Add(term, shifter);
    const WideVec rest = hn::Sub(term, hn::Sub(shifted, shifter));
    high = hn::Add(high, UnitsIn(shifted, shifter));
    low = hn::Add(low, UnitsIn(hn::Add(rest, low_shifter), low_shifter));
  }

  static HWY_INLINE IntegerVec UnitsIn(WideVec shifted, WideVec shifter) {
    return hn::Sub(hn::BitCast(Integers(), shifted), hn::BitCast(Integers(), shifter));
  }
};

// As vectors add. Only what means nothing wraps around.
HWY_INLINE int64_t WrappingSum(int64_t a, int64_t b) {
  return static_cast<int64_t>(static_cast<uint64_t>(a) + static_cast<uint64_t>(b));
}

template <typename T>
void AddRow(const T* x, int64_t count, const FixedExpSums& sums) {
  const Wide d;
  const int64_t lanes = static_cast<int64_t>(hn::Lanes(d));
  const WideVec max = hn::Set(d, *sums.max);
  FixedSums total{hn::Zero(Integers()), hn::Zero(Integers())};
  int64_t i = 0;
  for (; i + lanes <= count; i += lanes) {
    total.Add(ExpOfDifference(hn::Sub(LoadWide(x + i), max)));
  }
  if (i < count) {
    HWY_ALIGN double rest[hn::MaxLanes(Wide())];
    std::fill_n(rest, lanes, -INFINITY);
    for (int64_t k = i; k < count; ++k) rest[k - i] = static_cast<double>(WidenElement(x[k]));
    total.Add(ExpOfDifference(hn::Sub(hn::Load(d, rest), max)));
  }
  HWY_ALIGN int64_t highs[hn::MaxLanes(Wide())], lows[hn::MaxLanes(Wide())];
  hn::Store(total.high, Integers(), highs);
  hn::Store(total.low, Integers(), lows);
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
    FixedSums total{hn::LoadU(Integers(), sums.high + c), hn::LoadU(Integers(), sums.low + c)};
    for (int64_t row = 0; row < few.count; ++row) {
      total.Add(ExpOfDifference(hn::Sub(LoadWide(few.first + row * few.stride), max)));
    }
    hn::StoreU(total.high, Integers(), sums.high + c);
    hn::StoreU(total.low, Integers(), sums.low + c);
  };
  const auto single = [&](const FewRows<T>& few, int64_t c) HWY_ATTR {
    for (int64_t row = 0; row < few.count; ++row) {
      AddRow(few.first + row * few.stride, 1, {sums.max + c, sums.high + c, sums.low + c});
    }
  };
  ForEachColumns(x, rows, row_stride, columns, static_cast<int64_t>(hn::Lanes(d)), vector, single);
}

// The larger; NaN if one is.
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
  constexpr IsaForms<FixedExpSumKernels<T>()> kForms = DMLOP_ISA_FORMS(MakeKernels<T>);
  return Choose(kForms)();
}

template FixedExpSumKernels<float> FixedExpSumKernelsFor();
template FixedExpSumKernels<Half> FixedExpSumKernelsFor();

}  // namespace dmlop

#endif  // HWY_ONCE
