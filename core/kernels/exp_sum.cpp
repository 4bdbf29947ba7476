#include "core/kernels/exp_sum.h"

#include <algorithm>
#include <cmath>

#include "core/exact/elementary.h"

// Compiled once per instruction set; see the Highway documentation on foreach_target.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "core/kernels/exp_sum.cpp"
#include <hwy/foreach_target.h>
// Must come after foreach_target.h.
#include <hwy/highway.h>

#include "core/kernels/columns-inl.h"
#include "core/kernels/dispatch.h"
#include "core/kernels/widen-inl.h"

HWY_BEFORE_NAMESPACE();
namespace dmlop::HWY_NAMESPACE {

// e^x for x <= ExpSums::kHeadroom, within 2^-37 of the result, and 1 for 0; nearly 0 below -700;
// NaN for NaN.
HWY_INLINE WideVec RoughExp(WideVec x) {
  const Wide d;
  const hn::RebindToUnsigned<Wide> bits;
  const WideVec least = hn::Set(d, -700.0);
  x = hn::IfThenElse(hn::Lt(x, least), least, x);
  // Adding 1.5 * 2^52 leaves k = round(x / ln 2) in the low bits of the sum.
  const WideVec shifter = hn::Set(d, 0x1.8p52);
  const WideVec shifted = hn::MulAdd(x, hn::Set(d, 0x1.71547652b82fep0), shifter);
  const WideVec k = hn::Sub(shifted, shifter);
  const WideVec r = hn::NegMulAdd(k, hn::Set(d, 0x1.62e42fefa39efp-1), x);  // within 2^-42
  // 1 + r + r^2 * p(r), where p meets (e^r - 1 - r) / r^2 at the Chebyshev nodes of
  // |r| <= ln(2) / 2: within 2^-37.7.
  constexpr double kCoefficients[] = {0x1.a1132015ba37ep-16,
                                      0x1.a15179d80ae96p-13,
                                      0x1.6c16858b7acb9p-10,
                                      0x1.1110c632a3088p-7,
                                      0x1.5555555c87148p-5,
                                      0x1.55555567532adp-3,
                                      0.5,
                                      1.0,
                                      1.0};
  WideVec power = hn::Set(d, kCoefficients[0]);
  for (size_t i = 1; i < std::size(kCoefficients); ++i) {
    power = hn::MulAdd(power, r, hn::Set(d, kCoefficients[i]));
  }
  const auto exponent = hn::ShiftLeft<52>(hn::BitCast(bits, shifted));
  return hn::BitCast(d, hn::Add(hn::BitCast(bits, power), exponent));
}

// The same in binary32, within 2^-22.8; nearly 0 below -87.
HWY_INLINE FloatVec RoughExp(FloatVec x) {
  const Floats d;
  const hn::RebindToUnsigned<Floats> bits;
  const FloatVec least = hn::Set(d, -87.0f);
  x = hn::IfThenElse(hn::Lt(x, least), least, x);
  const FloatVec shifter = hn::Set(d, 0x1.8p23f);
  const FloatVec shifted = hn::MulAdd(x, hn::Set(d, 0x1.715476p0f), shifter);
  const FloatVec k = hn::Sub(shifted, shifter);
  // ln 2 in two parts; the product with the first, of 15 bits, is exact.
  FloatVec r = hn::NegMulAdd(k, hn::Set(d, 0x1.62e4p-1f), x);
  r = hn::NegMulAdd(k, hn::Set(d, 0x1.7f7d1cp-20f), r);
  // As above; p leaves 2^-26.5, and rounding 2^-23.
  constexpr float kCoefficients[] = {
      0x1.6d113cp-10f, 0x1.120ba2p-7f, 0x1.55551ap-5f, 0x1.5554dcp-3f, 0.5f, 1.0f, 1.0f};
  FloatVec power = hn::Set(d, kCoefficients[0]);
  for (size_t i = 1; i < std::size(kCoefficients); ++i) {
    power = hn::MulAdd(power, r, hn::Set(d, kCoefficients[i]));
  }
  const auto exponent = hn::ShiftLeft<23>(hn::BitCast(bits, shifted));
  return hn::BitCast(d, hn::Add(hn::BitCast(bits, power), exponent));
}

HWY_INLINE double ExpOrNan(double x) {
  return std::isnan(x) ? x : Exp(x);
}

// Moves one group's sum to a new maximum, which is not less than the old one.
HWY_INLINE void Rebase(double max, const ExpSums& sums) {
  if (max == *sums.max) return;
  if (*sums.sum != 0) *sums.sum *= ExpOrNan(*sums.max - max);
  *sums.max = max;
}

template <typename T>
HWY_INLINE double MaxOf(const T* x, int64_t count) {
  const Floats d;
  const int64_t lanes = static_cast<int64_t>(hn::Lanes(d));
  double max = -INFINITY;
  int64_t i = 0;
  if (count >= lanes) {
    FloatVec vector = LoadFloats(d, x);
    for (; i + lanes <= count; i += lanes) vector = hn::Max(vector, LoadFloats(d, x + i));
    HWY_ALIGN float values[hn::MaxLanes(Floats())];
    hn::Store(vector, d, values);
    for (int64_t lane = 0; lane < lanes; ++lane) max = std::max<double>(max, values[lane]);
  }
  for (; i < count; ++i) max = std::max<double>(max, WidenElement(x[i]));
  return max;
}

// The sum of the lanes.
HWY_INLINE double Total(WideVec sum) {
  HWY_ALIGN double values[hn::MaxLanes(Wide())];
  hn::Store(sum, Wide(), values);
  double total = 0;
  for (size_t lane = 0; lane < hn::Lanes(Wide()); ++lane) total += values[lane];
  return total;
}

// The sum of e^(x - max) over neighbours.
template <typename T>
HWY_INLINE double SumOfRow(const T* x, int64_t count, double max_of_row) {
  const Wide d;
  const int64_t lanes = static_cast<int64_t>(hn::Lanes(d));
  const WideVec max = hn::Set(d, max_of_row);
  // Two at a time: a long polynomial waits for itself.
  WideVec even = hn::Zero(d);
  WideVec odd = hn::Zero(d);
  int64_t i = 0;
  for (; i + 2 * lanes <= count; i += 2 * lanes) {
    even = hn::Add(even, RoughExp(hn::Sub(LoadWide(x + i), max)));
    odd = hn::Add(odd, RoughExp(hn::Sub(LoadWide(x + i + lanes), max)));
  }
  double sum = Total(hn::Add(even, odd));
  for (; i < count; ++i) {
    sum += ExpOrNan(static_cast<double>(WidenElement(x[i])) - max_of_row);
  }
  return sum;
}

#if HWY_TARGET != HWY_SCALAR
// FLOAT16 in binary32: twice as many at a time.

// Of `count` rows of neighbours, four at most.
HWY_INLINE FloatVec SumOfFour(const Half* x, int64_t count, int64_t step, FloatVec max) {
  const Floats d;
  const auto term = [&](int64_t i)
                        HWY_ATTR { return RoughExp(hn::Sub(LoadFloats(d, x + i * step), max)); };
  if (count == 4) return hn::Add(hn::Add(term(0), term(1)), hn::Add(term(2), term(3)));
  FloatVec sum = term(0);
  for (int64_t i = 1; i < count; ++i) sum = hn::Add(sum, term(i));
  return sum;
}

HWY_INLINE double SumOfRow(const Half* x, int64_t count, double max_of_row) {
  const Floats d;
  const int64_t lanes = static_cast<int64_t>(hn::Lanes(d));
  const FloatVec max = hn::Set(d, static_cast<float>(max_of_row));
  WideFloats sum{hn::Zero(Wide()), hn::Zero(Wide())};
  const auto add = [&](FloatVec terms) HWY_ATTR {
    const WideFloats wide = WidenFloats(terms);
    sum.low = hn::Add(sum.low, wide.low);
    sum.high = hn::Add(sum.high, wide.high);
  };
  int64_t i = 0;
  for (; i + 4 * lanes <= count; i += 4 * lanes) add(SumOfFour(x + i, 4, lanes, max));
  for (; i + lanes <= count; i += lanes) add(SumOfFour(x + i, 1, lanes, max));
  double total = Total(hn::Add(sum.low, sum.high));
  for (; i < count; ++i) {
    total += ExpOrNan(static_cast<double>(WidenElement(x[i])) - max_of_row);
  }
  return total;
}
#endif

// A piece at a time: its maximum, then its exponentials while it is in the first-level cache.
constexpr int64_t kPiece = 1024;

template <typename T>
void AddRow(const T* x, int64_t count, const ExpSums& sums) {
  for (int64_t begin = 0; begin < count; begin += kPiece) {
    const T* piece = x + begin;
    const int64_t size = HWY_MIN(kPiece, count - begin);
    Rebase(std::max(*sums.max, MaxOf(piece, size)), sums);
    *sums.sum += SumOfRow(piece, size, *sums.max);
  }
}

// The same for each lane, where there is a new maximum.
HWY_INLINE WideVec Rebase(WideVec old_max, WideVec max, WideVec sum) {
  const Wide d;
  if (hn::AllTrue(d, hn::Eq(old_max, max))) return sum;
  HWY_ALIGN double factors[hn::MaxLanes(Wide())];
  hn::Store(hn::Sub(old_max, max), d, factors);
  for (size_t lane = 0; lane < hn::Lanes(d); ++lane) factors[lane] = ExpOrNan(factors[lane]);
  return hn::Mul(sum, hn::Load(d, factors));
}

// Makes room for new terms: where one is too large, there is a new maximum. Returns the maxima.
HWY_INLINE WideVec MakeRoom(WideVec highest, const ExpSums& sums) {
  const Wide d;
  const WideVec old_max = hn::LoadU(d, sums.max);
  const auto moves = hn::Gt(highest, hn::Add(old_max, hn::Set(d, ExpSums::kHeadroom)));
  if (hn::AllFalse(d, moves)) return old_max;
  const WideVec max = hn::IfThenElse(moves, highest, old_max);
  hn::StoreU(max, d, sums.max);
  hn::StoreU(Rebase(old_max, max, hn::LoadU(d, sums.sum)), d, sums.sum);
  return max;
}

template <typename D, typename T>
HWY_INLINE hn::Vec<D> MaxOfRows(D d, const T* x, int64_t rows, int64_t row_stride) {
  hn::Vec<D> highest = LoadFloats(d, x);
  for (int64_t row = 1; row < rows; ++row) {
    highest = hn::Max(highest, LoadFloats(d, x + row * row_stride));
  }
  return highest;
}

template <typename T>
HWY_INLINE int64_t ColumnsAtATime() {
  return static_cast<int64_t>(hn::Lanes(Wide()));
}

template <typename T>
HWY_INLINE void AddVectorOfColumns(const T* x, int64_t rows, int64_t row_stride,
                                   const ExpSums& sums) {
  const Wide d;
  const WideVec max = MakeRoom(hn::PromoteTo(d, MaxOfRows(Narrow(), x, rows, row_stride)), sums);
  WideVec sum = hn::LoadU(d, sums.sum);
  for (int64_t row = 0; row < rows; ++row) {
    sum = hn::Add(sum, RoughExp(hn::Sub(LoadWide(x + row * row_stride), max)));
  }
  hn::StoreU(sum, d, sums.sum);
}

#if HWY_TARGET != HWY_SCALAR
template <>
HWY_INLINE int64_t ColumnsAtATime<Half>() {
  return static_cast<int64_t>(hn::Lanes(Floats()));
}

HWY_INLINE void AddVectorOfColumns(const Half* x, int64_t rows, int64_t row_stride,
                                   const ExpSums& sums) {
  const Wide d;
  const int64_t lanes = static_cast<int64_t>(hn::Lanes(Floats()) / 2);
  const ExpSums high{sums.max + lanes, sums.sum + lanes};
  const WideFloats highest = WidenFloats(MaxOfRows(Floats(), x, rows, row_stride));
  const FloatVec max = NarrowFloats({MakeRoom(highest.low, sums), MakeRoom(highest.high, high)});
  for (int64_t row = 0; row < rows; row += 4) {
    const WideFloats terms =
        WidenFloats(SumOfFour(x + row * row_stride, HWY_MIN(rows - row, 4), row_stride, max));
    hn::StoreU(hn::Add(hn::LoadU(d, sums.sum), terms.low), d, sums.sum);
    hn::StoreU(hn::Add(hn::LoadU(d, high.sum), terms.high), d, high.sum);
  }
}
#endif

template <typename T>
void AddColumns(const T* x, int64_t rows, int64_t row_stride, int64_t columns,
                const ExpSums& sums) {
  const auto vector = [&](const FewRows<T>& few, int64_t c) HWY_ATTR {
    AddVectorOfColumns(few.first, few.count, few.stride, {sums.max + c, sums.sum + c});
  };
  const auto single = [&](const FewRows<T>& few, int64_t c) HWY_ATTR {
    for (int64_t row = 0; row < few.count; ++row) {
      AddRow(few.first + row * few.stride, 1, {sums.max + c, sums.sum + c});
    }
  };
  ForEachColumns(x, rows, row_stride, columns, ColumnsAtATime<T>(), vector, single);
}

template <typename T>
ExpSumKernels<T> MakeKernels() {
  return {AddRow<T>, AddColumns<T>};
}

}  // namespace dmlop::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE

namespace dmlop {

template <typename T>
ExpSumKernels<T> ExpSumKernelsFor() {
  constexpr IsaForms<ExpSumKernels<T>()> kForms = DMLOP_ISA_FORMS(MakeKernels<T>);
  return Choose(kForms)();
}

template ExpSumKernels<float> ExpSumKernelsFor();
template ExpSumKernels<Half> ExpSumKernelsFor();

}  // namespace dmlop

#endif  // HWY_ONCE
