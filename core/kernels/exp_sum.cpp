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
#include "core/kernels/rough_exp-inl.h"
#include "core/kernels/widen-inl.h"

HWY_BEFORE_NAMESPACE();
namespace dmlop::HWY_NAMESPACE {

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
    even = AddExp(hn::Sub(LoadWide(x + i), max), even);
    odd = AddExp(hn::Sub(LoadWide(x + i + lanes), max), odd);
  }
  double sum = Total(hn::Add(even, odd));
  for (; i < count; ++i) {
    sum += ExpOrNan(static_cast<double>(WidenElement(x[i])) - max_of_row);
  }
  return sum;
}

#if HWY_TARGET != HWY_SCALAR
// FLOAT16 in binary32: twice as many at a time.

// Adds kCount terms, `step` elements apart, which are added up in binary32 first.
template <int64_t kCount>
HWY_INLINE void AddTerms(const Half* x, int64_t step, FloatVec max, WideFloats& sum) {
  const Floats d;
  FloatVec terms = hn::Zero(d);
  for (int64_t i = 0; i < kCount; ++i) {
    terms = AddExp(hn::Sub(LoadFloats(d, x + i * step), max), terms);
  }
  const WideFloats wide = WidenFloats(terms);
  sum.low = hn::Add(sum.low, wide.low);
  sum.high = hn::Add(sum.high, wide.high);
}

HWY_INLINE void AddManyTerms(const Half* x, int64_t count, int64_t step, FloatVec max,
                             WideFloats& sum) {
  int64_t i = 0;
  for (; i + 4 <= count; i += 4) AddTerms<4>(x + i * step, step, max, sum);
  for (; i < count; ++i) AddTerms<1>(x + i * step, step, max, sum);
}

HWY_INLINE double SumOfRow(const Half* x, int64_t count, double max_of_row) {
  const int64_t lanes = static_cast<int64_t>(hn::Lanes(Floats()));
  WideFloats sum{hn::Zero(Wide()), hn::Zero(Wide())};
  const int64_t vectors = count / lanes;
  AddManyTerms(x, vectors, lanes, hn::Set(Floats(), static_cast<float>(max_of_row)), sum);
  double total = Total(hn::Add(sum.low, sum.high));
  for (int64_t i = vectors * lanes; i < count; ++i) {
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
    sum = AddExp(hn::Sub(LoadWide(x + row * row_stride), max), sum);
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
  WideFloats sum{hn::LoadU(d, sums.sum), hn::LoadU(d, high.sum)};
  AddManyTerms(x, rows, row_stride, max, sum);
  hn::StoreU(sum.low, d, sums.sum);
  hn::StoreU(sum.high, d, high.sum);
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
