// SPDX-License-Identifier: Apache-2.0
#include "core/kernels/reduce/exp_sum.h"

#include <cmath>
#include <type_traits>

#include "core/exact/elementary.h"

// Compiled once per instruction set; see the Highway documentation on foreach_target.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "core/kernels/reduce/exp_sum.cpp"
#include <hwy/foreach_target.h>
// Must come after foreach_target.h.
#include <hwy/cache_control.h>
#include <hwy/highway.h>

#include "core/kernels/reduce/approximate_exp-inl.h"
#include "core/kernels/reduce/columns-inl.h"
#include "core/kernels/simd/dispatch.h"
#include "core/kernels/simd/widen-inl.h"

HWY_BEFORE_NAMESPACE();
namespace dmlop::HWY_NAMESPACE {

// Moves one group's sum to a new maximum, unless the old one is larger.
HWY_INLINE void Rebase(float max, const ExpSums& sums) {
  if (!(max > *sums.max)) return;
  if (*sums.sum != 0) *sums.sum *= Exp(static_cast<double>(*sums.max) - max);
  *sums.max = max;
}

// Returns the largest of at least one element; any of them if one is NaN.
template <typename T>
HWY_INLINE float MaxOf(const T* x, int64_t count) {
  const Floats d;
  const int64_t lanes = static_cast<int64_t>(hn::Lanes(d));
  // Four chains hide the latency of each maximum.
  FloatVec max[4];
  for (FloatVec& vector : max) vector = hn::Set(d, -INFINITY);
  int64_t i = 0;
  for (; i + 4 * lanes <= count; i += 4 * lanes) {
    for (int64_t k = 0; k < 4; ++k) max[k] = hn::Max(max[k], LoadFloats(d, x + i + k * lanes));
  }
  for (; i + lanes <= count; i += lanes) max[0] = hn::Max(max[0], LoadFloats(d, x + i));
  if (i < count) {
    const bool is_long = count >= lanes;  // seeing some elements twice is cheaper
    const FloatVec last = is_long ? LoadFloats(d, x + count - lanes) : LoadRest(d, x, count);
    max[1] = hn::Max(max[1], last);
  }
  const FloatVec most = hn::Max(hn::Max(max[0], max[1]), hn::Max(max[2], max[3]));
  return hn::GetLane(hn::MaxOfLanes(d, most));
}

// Prefetch distance in elements: computing takes longer than the hardware prefetcher looks ahead.
template <typename T>
constexpr int64_t kAhead = (1 << 12) / static_cast<int64_t>(sizeof(T));

// Returns the sum of e^(x - max) over adjacent elements.
template <typename T>
HWY_INLINE double SumOfRow(const T* x, int64_t count, float max_of_row) {
  const Wide d;
  const int64_t lanes = static_cast<int64_t>(hn::Lanes(d));
  const WideVec max = hn::Set(d, static_cast<double>(max_of_row));
  // Two chains hide the latency of a long polynomial.
  WideVec even = hn::Zero(d);
  WideVec odd = hn::Zero(d);
  int64_t i = 0;
  for (; i + 2 * lanes <= count; i += 2 * lanes) {
    if (i % kLine<T> == 0) hwy::Prefetch(x + i + kAhead<T>);
    even = AddExp(hn::Sub(LoadWide(x + i), max), even);
    odd = AddExp(hn::Sub(LoadWide(x + i + lanes), max), odd);
  }
  for (; i < count; i += lanes) {
    const WideVec last = i + lanes <= count
                             ? LoadWide(x + i)
                             : hn::PromoteTo(d, LoadRest(Narrow(), x + i, count - i));
    even = AddExp(hn::Sub(last, max), even);
  }
  return hn::GetLane(hn::SumOfLanes(d, hn::Add(even, odd))) * ExpUnit(d);
}

#if HWY_TARGET != HWY_SCALAR
// FLOAT16 is computed in binary32, twice as many lanes at a time. This many terms are added up
// before they are widened.
constexpr int64_t kNarrowTerms = 8;

HWY_INLINE double SumOfRow(const Half* x, int64_t count, float max_of_row) {
  const Floats d;
  const int64_t lanes = static_cast<int64_t>(hn::Lanes(d));
  const FloatVec max = hn::Set(d, max_of_row);
  WideFloats sum{hn::Zero(Wide()), hn::Zero(Wide())};
  const auto add = [&](FloatVec terms) HWY_ATTR {
    const WideFloats wide = WidenFloats(terms);
    sum.low = hn::Add(sum.low, wide.low);
    sum.high = hn::Add(sum.high, wide.high);
  };
  const int64_t some = kNarrowTerms * lanes;
  int64_t i = 0;
  for (; i + some <= count; i += some) {
    FloatVec terms = hn::Zero(d);
    for (int64_t k = i; k < i + some; k += lanes) {
      if (k % kLine<Half> == 0) hwy::Prefetch(x + k + kAhead<Half>);
      terms = AddExp(hn::Sub(LoadFloats(d, x + k), max), terms);
    }
    add(terms);
  }
  for (; i < count; i += lanes) {
    const FloatVec last = i + lanes <= count ? LoadFloats(d, x + i) : LoadRest(d, x + i, count - i);
    add(AddExp(hn::Sub(last, max), hn::Zero(d)));
  }
  return hn::GetLane(hn::SumOfLanes(Wide(), hn::Add(sum.low, sum.high))) * ExpUnit(d);
}
#endif

// Takes a piece at a time, which is still in the first-level cache if the maximum so far turns out
// to be too small. The first elements give the initial maximum.
constexpr int64_t kPiece = 2048;
constexpr int64_t kFirstElements = 256;

template <typename T>
void AddRow(const T* x, int64_t count, const ExpSums& sums) {
  for (int64_t begin = 0; begin < count; begin += kPiece) {
    const T* piece = x + begin;
    const int64_t size = HWY_MIN(kPiece, count - begin);
    if (*sums.max == ExpSums::kStartMax) {
      Rebase(MaxOf(piece, HWY_MIN(size, kFirstElements)), sums);
    }
    double sum = SumOfRow(piece, size, *sums.max);
    if (!(sum <= kMostOfTerms)) {
      Rebase(MaxOf(piece, size), sums);
      sum = SumOfRow(piece, size, *sums.max);
    }
    *sums.sum += sum;
  }
}

// The type of a vector of columns, and the number of FLOAT64 vectors for their sums.
template <typename T>
struct ColumnsOf {
  using D = Narrow;
  static constexpr int64_t kSums = 1;
};
#if HWY_TARGET != HWY_SCALAR
template <>
struct ColumnsOf<Half> {
  using D = Floats;
  static constexpr int64_t kSums = 2;
};
#endif

template <typename T>
HWY_INLINE int64_t ColumnsPerVector() {
  return static_cast<int64_t>(hn::Lanes(typename ColumnsOf<T>::D()));
}

// Moves the sums of a vector of columns to the maxima of some rows.
template <typename T>
HWY_INLINE void RebaseColumns(const FewRows<T>& rows, const ExpSums& sums) {
  const typename ColumnsOf<T>::D d;
  auto highest = LoadFloats(d, rows.first);
  for (int64_t row = 1; row < rows.count; ++row) {
    highest = hn::Max(highest, LoadFloats(d, rows.first + row * rows.stride));
  }
  HWY_ALIGN float maxima[hn::MaxLanes(d)];
  hn::Store(highest, d, maxima);
  for (size_t i = 0; i < hn::Lanes(d); ++i) Rebase(maxima[i], sums.From(static_cast<int64_t>(i)));
}

// Computes the sums of e^(x - max) over at most kFewRows rows. kVectors vectors take turns, since
// each sum waits for its last term.
template <int64_t kVectors, typename T>
HWY_INLINE void SumRows(const T* x, int64_t rows, int64_t row_stride, const float* max,
                        WideVec* sums) {
  const Wide d;
  const int64_t lanes = ColumnsPerVector<T>();
  WideVec maxima[kVectors];
  for (int64_t v = 0; v < kVectors; ++v) {
    maxima[v] = LoadWide(max + v * lanes);
    sums[v] = hn::Zero(d);
  }
  for (int64_t row = 0; row < rows; ++row) {
    for (int64_t v = 0; v < kVectors; ++v) {
      sums[v] = AddExp(hn::Sub(LoadWide(x + row * row_stride + v * lanes), maxima[v]), sums[v]);
    }
  }
  for (int64_t v = 0; v < kVectors; ++v) sums[v] = hn::Mul(sums[v], hn::Set(d, ExpUnit(d)));
}

#if HWY_TARGET != HWY_SCALAR
template <int64_t kVectors>
HWY_INLINE void SumRows(const Half* x, int64_t rows, int64_t row_stride, const float* max,
                        WideVec* sums) {
  static_assert(kFewRows <= kNarrowTerms);
  const Floats d;
  const int64_t lanes = ColumnsPerVector<Half>();
  FloatVec maxima[kVectors], terms[kVectors];
  for (int64_t v = 0; v < kVectors; ++v) {
    maxima[v] = hn::LoadU(d, max + v * lanes);
    terms[v] = hn::Zero(d);
  }
  for (int64_t row = 0; row < rows; ++row) {
    for (int64_t v = 0; v < kVectors; ++v) {
      terms[v] =
          AddExp(hn::Sub(LoadFloats(d, x + row * row_stride + v * lanes), maxima[v]), terms[v]);
    }
  }
  const WideVec unit = hn::Set(Wide(), ExpUnit(d));
  for (int64_t v = 0; v < kVectors; ++v) {
    const WideFloats wide = WidenFloats(terms[v]);
    sums[2 * v] = hn::Mul(wide.low, unit);
    sums[2 * v + 1] = hn::Mul(wide.high, unit);
  }
}
#endif

// Tells for which sums of terms the maxima were large enough; false for NaN.
HWY_INLINE hn::Mask<Wide> HasRoom(WideVec terms) {
  return hn::Le(terms, hn::Set(Wide(), kMostOfTerms));
}

// Number of columns whose terms are added up before any of their sums is checked.
constexpr int64_t kPieceColumns = 256;

template <typename T>
HWY_NOINLINE void RebasePiece(const FewRows<T>& rows, int64_t columns, const ExpSums& sums) {
  for (int64_t c = 0; c < columns; c += ColumnsPerVector<T>()) {
    RebaseColumns(rows.From(c), sums.From(c));
  }
}

// Computes the sums of e^(x - max) over some rows of a piece whose columns fill vectors. Returns
// whether all have room. Not inlined: without calls, constants stay in registers.
template <typename T>
HWY_NOINLINE bool SumPiece(const FewRows<T>& rows, int64_t columns, const float* max,
                           NextRows<T>& next, double* terms) {
  const Wide d;
  const int64_t lanes = ColumnsPerVector<T>();
  auto room = HasRoom(hn::Zero(d));
  const auto sum_vectors = [&](auto vectors, int64_t c) HWY_ATTR {
    constexpr int64_t kVectors = decltype(vectors)::value;
    next.Prefetch(kVectors * lanes);
    WideVec sums[kVectors * ColumnsOf<T>::kSums];
    SumRows<kVectors>(rows.first + c, rows.count, rows.stride, max + c, sums);
    for (const WideVec sum : sums) {
      room = hn::And(room, HasRoom(sum));
      hn::Store(sum, d, terms);
      terms += hn::Lanes(d);
    }
  };
  const std::integral_constant<int64_t, 1> one;
  const std::integral_constant<int64_t, 2> two;
  int64_t c = 0;
  for (; c + 2 * lanes <= columns; c += 2 * lanes) sum_vectors(two, c);
  if (c < columns) sum_vectors(one, c);
  return hn::AllTrue(d, room);
}

// Moves the sums of the columns without room to new maxima, and adds up their terms again.
template <typename T>
HWY_NOINLINE void MakeRoom(const FewRows<T>& rows, int64_t columns, const ExpSums& sums,
                           double* terms) {
  const Wide d;
  const int64_t lanes = static_cast<int64_t>(hn::Lanes(d));
  const int64_t step = ColumnsPerVector<T>();
  for (int64_t c = 0; c < columns; c += step) {
    bool all = true;
    for (int64_t i = c; i < c + step; i += lanes) {
      all = all && hn::AllTrue(d, HasRoom(hn::Load(d, terms + i)));
    }
    if (all) continue;
    RebaseColumns(rows.From(c), sums.From(c));
    WideVec again[ColumnsOf<T>::kSums];
    SumRows<1>(rows.first + c, rows.count, rows.stride, sums.max + c, again);
    for (int64_t i = 0; i < step; i += lanes) hn::Store(again[i / lanes], d, terms + c + i);
  }
}

template <typename T>
HWY_INLINE void AddPiece(const FewRows<T>& rows, int64_t columns, NextRows<T>& next,
                         const ExpSums& sums) {
  // Adjacent groups mostly begin together; if not, one of them has no room.
  if (*sums.max == ExpSums::kStartMax) RebasePiece(rows, columns, sums);
  HWY_ALIGN double terms[kPieceColumns];
  if (!SumPiece(rows, columns, sums.max, next, terms)) MakeRoom(rows, columns, sums, terms);
  for (int64_t c = 0; c < columns; ++c) sums.sum[c] += terms[c];
}

template <typename T>
void AddColumns(const T* x, int64_t rows, int64_t row_stride, int64_t columns,
                const ExpSums& sums) {
  const int64_t lanes = ColumnsPerVector<T>();
  const int64_t whole = columns / lanes * lanes;
  ForEachFewRows(x, rows, row_stride, [&](const FewRows<T>& few, BlockPart) HWY_ATTR {
    NextRows<T> next(few, columns);
    for (int64_t c = 0; c < whole; c += kPieceColumns) {
      AddPiece(few.From(c), HWY_MIN(kPieceColumns, whole - c), next, sums.From(c));
    }
    for (int64_t c = whole; c < columns; ++c) {
      T column[kFewRows];
      few.From(c).Pack(column);
      AddRow(column, few.count, sums.From(c));
    }
  });
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
