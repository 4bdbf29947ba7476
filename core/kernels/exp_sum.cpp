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
  const int64_t lanes = static_cast<int64_t>(hn::Lanes(Narrow()));
  double max = -INFINITY;
  int64_t i = 0;
  if (count >= lanes) {
    NarrowVec vector = LoadNarrow(x);
    for (; i + lanes <= count; i += lanes) vector = hn::Max(vector, LoadNarrow(x + i));
    HWY_ALIGN float values[hn::MaxLanes(Narrow())];
    hn::Store(vector, Narrow(), values);
    for (int64_t lane = 0; lane < lanes; ++lane) max = std::max<double>(max, values[lane]);
  }
  for (; i < count; ++i) max = std::max<double>(max, WidenElement(x[i]));
  return max;
}

// A piece at a time: its maximum, then its exponentials while it is in the first-level cache.
constexpr int64_t kPiece = 1024;

template <typename T>
void AddRow(const T* x, int64_t count, const ExpSums& sums) {
  const Wide d;
  const int64_t lanes = static_cast<int64_t>(hn::Lanes(d));
  for (int64_t begin = 0; begin < count; begin += kPiece) {
    const T* piece = x + begin;
    const int64_t size = HWY_MIN(kPiece, count - begin);
    Rebase(std::max(*sums.max, MaxOf(piece, size)), sums);
    const WideVec max = hn::Set(d, *sums.max);
    // Two at a time: a long polynomial waits for itself.
    WideVec even = hn::Zero(d);
    WideVec odd = hn::Zero(d);
    int64_t i = 0;
    for (; i + 2 * lanes <= size; i += 2 * lanes) {
      even = hn::Add(even, RoughExp(hn::Sub(LoadWide(piece + i), max)));
      odd = hn::Add(odd, RoughExp(hn::Sub(LoadWide(piece + i + lanes), max)));
    }
    HWY_ALIGN double values[hn::MaxLanes(Wide())];
    hn::Store(hn::Add(even, odd), d, values);
    for (int64_t lane = 0; lane < lanes; ++lane) *sums.sum += values[lane];
    for (; i < size; ++i) {
      *sums.sum += ExpOrNan(static_cast<double>(WidenElement(piece[i])) - *sums.max);
    }
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

template <typename T>
void AddColumns(const T* x, int64_t rows, int64_t row_stride, int64_t columns,
                const ExpSums& sums) {
  const Wide d;
  const auto vector = [&](const T* from, int64_t count, int64_t c) HWY_ATTR {
    NarrowVec highest = LoadNarrow(from);
    for (int64_t row = 1; row < count; ++row) {
      highest = hn::Max(highest, LoadNarrow(from + row * row_stride));
    }
    const WideVec old_max = hn::LoadU(d, sums.max + c);
    const WideVec new_max = hn::PromoteTo(d, highest);
    const auto moves = hn::Gt(new_max, hn::Add(old_max, hn::Set(d, ExpSums::kHeadroom)));
    const WideVec max = hn::IfThenElse(moves, new_max, old_max);
    WideVec sum = Rebase(old_max, max, hn::LoadU(d, sums.sum + c));
    for (int64_t row = 0; row < count; ++row) {
      sum = hn::Add(sum, RoughExp(hn::Sub(LoadWide(from + row * row_stride), max)));
    }
    hn::StoreU(max, d, sums.max + c);
    hn::StoreU(sum, d, sums.sum + c);
  };
  const auto single = [&](const T* from, int64_t count, int64_t c) HWY_ATTR {
    for (int64_t row = 0; row < count; ++row) {
      AddRow(from + row * row_stride, 1, {sums.max + c, sums.sum + c});
    }
  };
  ForEachColumns(x, rows, row_stride, columns, static_cast<int64_t>(hn::Lanes(d)), vector, single);
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
