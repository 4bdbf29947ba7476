// SPDX-License-Identifier: Apache-2.0
#include "core/kernels/reduce/approximate_sum.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "core/kernels/reduce/short_sum.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "core/kernels/reduce/columns-inl.h"
#include "core/kernels/reduce/finalize_sums-inl.h"
#include "core/kernels/reduce/magnitudes-inl.h"
#include "core/kernels/reduce/round_results-inl.h"
#include "core/kernels/reduce/short_terms-inl.h"
#include "core/kernels/reduce/sum_maps-inl.h"
#include "core/kernels/simd/dispatch.h"
#include "core/kernels/simd/widen-inl.h"

HWY_BEFORE_NAMESPACE();
namespace dmlop::HWY_NAMESPACE {

// Calls body(d, c) for all columns, a vector at a time and then one at a time.
template <typename Body>
HWY_INLINE void ForEachVector(int64_t columns, Body&& body) {
  const int64_t lanes = static_cast<int64_t>(hn::Lanes(Wide()));
  int64_t c = 0;
  for (; c + lanes <= columns; c += lanes) body(Wide(), c);
  for (; c < columns; ++c) body(hn::CappedTag<double, 1>(), c);
}

// Does the same, but the last vector may overlap the one before it.
template <typename Body>
HWY_INLINE void ForEachVectorOnce(int64_t columns, Body&& body) {
  const int64_t lanes = static_cast<int64_t>(hn::Lanes(Wide()));
  if (columns < lanes) return ForEachVector(columns, body);
  for (int64_t c = 0; c < columns; c += lanes) body(Wide(), HWY_MIN(c, columns - lanes));
}

// The terms of many columns, so that memory can be read row by row.
class ManyTerms {
 public:
  static constexpr int64_t kColumns = 2048;

  HWY_INLINE explicit ManyTerms(int64_t columns) {
    ForEachVector(columns, [&](auto d, int64_t c) HWY_ATTR { Store(d, Terms<decltype(d)>(), c); });
  }

  template <class D>
  HWY_INLINE Terms<D> Load(D d, int64_t c) const {
    const typename Range<D>::Bits bits;
    return {hn::LoadU(d, sum_ + c), {hn::LoadU(bits, most_ + c), hn::LoadU(bits, least_ + c)}};
  }

  template <class D>
  HWY_INLINE void Store(D d, const Terms<D>& terms, int64_t c) {
    const typename Range<D>::Bits bits;
    hn::StoreU(terms.sum, d, sum_ + c);
    hn::StoreU(terms.range.most, bits, most_ + c);
    hn::StoreU(terms.range.least, bits, least_ + c);
  }

 private:
  HWY_ALIGN double sum_[kColumns];
  HWY_ALIGN uint32_t most_[kColumns];
  HWY_ALIGN uint32_t least_[kColumns];
};

// Sums at most ManyTerms::kColumns columns.
template <SumMap kMap, SumFinalizer kFinalizer, typename T>
void SumManyColumns(const T* x, int64_t rows, int64_t row_stride, int64_t columns, T* results,
                    uint8_t* unresolved) {
  ManyTerms all(columns);
  ForEachFewRows(x, rows, row_stride, [&](const FewRows<T>& few, BlockPart) HWY_ATTR {
    NextRows<T> next(few, columns);
    ForEachVector(columns, [&](auto d, int64_t c) HWY_ATTR {
      next.Prefetch(static_cast<int64_t>(hn::Lanes(d)));
      auto terms = all.Load(d, c);
      terms.template Take<kMap>(few.From(c));
      all.Store(d, terms, c);
    });
  });
  ForEachVector(columns, [&](auto d, int64_t c) HWY_ATTR {
    FinishColumns<kMap, kFinalizer>(d, all.Load(d, c), FewRows<T>{x + c, rows, row_stride, 0, 0},
                                    results + c, unresolved + c);
  });
}

// Prefetches adjacent elements, whether or not they exist.
template <typename T>
HWY_INLINE void PrefetchElements(const T* x, int64_t count) {
  PrefetchLines(x, count * static_cast<int64_t>(sizeof(T)));
}

template <SumMap kMap, SumFinalizer kFinalizer, typename T>
void SumShortColumns(const T* x, int64_t rows, int64_t row_stride, int64_t columns, T* results,
                     uint8_t* unresolved) {
  constexpr int64_t kFewElements = 1 << 12;
  if (columns * rows <= kFewElements || rows <= kFewRows) {
    // Adjacent rows are mostly followed by those of other groups.
    const int64_t ahead = row_stride == columns ? rows : 0;
    return ForEachVectorOnce(columns, [&](auto d, int64_t c) HWY_ATTR {
      PrefetchElements(x + rows * row_stride + c * ahead,
                       ahead * static_cast<int64_t>(hn::Lanes(d)));
      const FewRows<T> all{x + c, rows, row_stride, 0, 0};
      Terms<decltype(d)> terms;
      terms.template Take<kMap>(all);
      FinishColumns<kMap, kFinalizer>(d, terms, all, results + c, unresolved + c);
    });
  }
  for (int64_t c = 0; c < columns; c += ManyTerms::kColumns) {
    const int64_t some = HWY_MIN(columns - c, ManyTerms::kColumns);
    SumManyColumns<kMap, kFinalizer>(x + c, rows, row_stride, some, results + c, unresolved + c);
  }
}

#if HWY_TARGET == HWY_SCALAR
template <SumMap kMap, SumFinalizer kFinalizer, typename T>
void SumShortRows(const T* x, int64_t count, int64_t pitch, int64_t rows, T* results,
                  uint8_t* unresolved) {
  for (int64_t row = 0; row < rows; ++row) {
    SumShortColumns<kMap, kFinalizer>(x + row * pitch, count, 1, 1, results + row,
                                      unresolved + row);
  }
}
#else

// Folds as many vectors as D has lanes to one: lane i is the fold of the lanes of vector i.
// Overwrites the vectors.
template <class D, class Fold>
HWY_INLINE hn::Vec<D> FoldLanes(D d, hn::Vec<D>* vectors, Fold&& fold) {
  constexpr size_t kLanes = hn::MaxLanes(D());
  for (size_t i = 0; i < kLanes / 2; ++i) {
    const auto a = vectors[2 * i];
    const auto b = vectors[2 * i + 1];
    vectors[i] = fold(hn::InterleaveLower(d, a, b), hn::InterleaveUpper(d, a, b));
  }
#if HWY_TARGET <= HWY_AVX3
  for (size_t i = 0; i < kLanes / 4; ++i) {
    const auto a = vectors[2 * i];
    const auto b = vectors[2 * i + 1];
    vectors[i] = fold(hn::OddEvenBlocks(b, a), hn::SwapAdjacentBlocks(hn::OddEvenBlocks(a, b)));
  }
#endif
  if constexpr (kLanes == 2) return vectors[0];
  return fold(hn::ConcatLowerLower(d, vectors[1], vectors[0]),
              hn::ConcatUpperUpper(d, vectors[1], vectors[0]));
}

// Sums as many adjacent elements as two vectors hold.
template <SumMap kMap, bool kWithRange, class D, typename T>
HWY_INLINE hn::Vec<D> SumOfTwoVectors(D d, const T* x, Range<D>& range) {
  const hn::Rebind<float, D> floats;
  if constexpr (kWithRange) {
    range.Take(LoadFloats(floats, x));
    range.Take(LoadFloats(floats, x + hn::Lanes(d)));
  }
  const auto terms = TwoVectors<kMap>::Term(x);
  return hn::Add(terms.low, terms.high);
}

// Whole vectors may be read if other rows follow.
enum class Rows { kFollowed, kLast };

// Sums `count` adjacent elements; lanes of the last vector beyond them hold terms that change
// nothing.
template <SumMap kMap, bool kWithRange, Rows kRows, class D, typename T>
HWY_INLINE hn::Vec<D> SumOfRow(D d, const T* x, int64_t count, Range<D>& range) {
  const hn::Rebind<float, D> floats;
  const int64_t lanes = static_cast<int64_t>(hn::Lanes(d));
  auto sum = hn::Set(d, -0.0);  // a sum of only -0 is -0
  int64_t i = 0;
  for (; i + 2 * lanes <= count; i += 2 * lanes) {
    sum = hn::Add(sum, SumOfTwoVectors<kMap, kWithRange>(d, x + i, range));
  }
  for (; i < count; i += lanes) {
    auto value = kRows == Rows::kLast && i + lanes > count ? LoadRest(floats, x + i, count - i)
                                                           : LoadFloats(floats, x + i);
    if (i + lanes > count) {
      const auto mask = hn::FirstN(floats, static_cast<size_t>(count - i));
      value = hn::IfThenElse(mask, value, hn::Set(floats, -0.0f));
    }
    if constexpr (kWithRange) range.Take(value);
    sum = hn::Add(sum, WideTerm<kMap>(d, value));
  }
  return sum;
}

// Finds the ranges of as many rows as there are lanes, one for each row.
template <SumMap kMap, Rows kRows, class D, typename T>
HWY_NOINLINE void RangesOfRows(D d, const T* x, int64_t count, int64_t pitch, hn::Vec<D>& most,
                               hn::Vec<D>& least_power) {
  constexpr size_t kLanes = hn::MaxLanes(D());
  hn::Vec<D> all_most[kLanes], all_least[kLanes];
  for (size_t row = 0; row < kLanes; ++row) {
    Range<D> range;
    SumOfRow<kMap, true, kRows>(d, x + static_cast<int64_t>(row) * pitch, count, range);
    all_most[row] = hn::PromoteTo(d, range.Most());
    all_least[row] = hn::PromoteTo(d, range.LeastPower());
  }
  using V = hn::Vec<D>;
  most = FoldLanes(d, all_most, [](V a, V b) HWY_ATTR { return hn::Max(a, b); });
  least_power = FoldLanes(d, all_least, [](V a, V b) HWY_ATTR { return hn::Min(a, b); });
}

// Sums as many rows as there are lanes. Mostly a single range for all of them shows that the sums
// are exact.
template <SumMap kMap, Rows kRows, class D, typename T>
HWY_INLINE SumAndError<D> SumOfRows(D d, const T* x, int64_t count, int64_t pitch) {
  constexpr bool kWithRange = kMayBeExact<T, kMap>;
  constexpr int64_t kLanes = static_cast<int64_t>(hn::MaxLanes(D()));
  hn::Vec<D> sums[kLanes];
  Range<D> range;
  for (int64_t row = 0; row < kLanes; ++row) {
    sums[row] = SumOfRow<kMap, kWithRange, kRows>(d, x + row * pitch, count, range);
  }
  using V = hn::Vec<D>;
  const V sum = FoldLanes(d, sums, [](V a, V b) HWY_ATTR { return hn::Add(a, b); });
  const int64_t depth = count / kLanes + 8;
  if constexpr (!kMayBeExact<T, kMap>) return WithError<kMap, T>(d, sum, sum, sum, count, depth);
  V most = hn::PromoteTo(d, range.MostOfLanes());
  V least_power = hn::MinOfLanes(d, hn::PromoteTo(d, range.LeastPower()));
  const auto all = WithError<kMap, T>(d, sum, most, least_power, count, depth);
  if (hn::AllTrue(d, hn::Eq(all.error, hn::Zero(d)))) return all;
  RangesOfRows<kMap, kRows>(d, x, count, pitch, most, least_power);
  return WithError<kMap, T>(d, sum, most, least_power, count, depth);
}

template <SumMap kMap, class D, typename T>
HWY_NOINLINE SumAndError<D> SumOfLastRows(D d, const T* x, int64_t count, int64_t pitch) {
  return SumOfRows<kMap, Rows::kLast>(d, x, count, pitch);
}

// Does the same as ResolveExactly for as many rows as there are lanes.
template <SumMap kMap, SumFinalizer kFinalizer, class D, typename T>
HWY_NOINLINE void ResolveRows(D d, const T* x, int64_t count, int64_t pitch,
                              const RoundedVector<D>& rounded, T* results, uint8_t* unresolved) {
  constexpr int64_t kLanes = static_cast<int64_t>(hn::MaxLanes(D()));
  HWY_ALIGN T columns[kMaxShortRow * kLanes];
  for (int64_t i = 0; i < count; ++i) {
    for (int64_t row = 0; row < kLanes; ++row) columns[i * kLanes + row] = x[row * pitch + i];
  }
  const FewRows<T> rows{columns, count, kLanes, 0, 0};
  Terms<D> terms;
  if constexpr (kNeedsTerms<T, kMap>) terms.template Take<kMap>(rows);
  ResolveExactly<kMap, kFinalizer>(d, terms, rows, rounded, results, unresolved);
}

template <SumMap kMap, SumFinalizer kFinalizer, typename T>
void SumShortRows(const T* x, int64_t count, int64_t pitch, int64_t rows, T* results,
                  uint8_t* unresolved) {
  const Wide d;
  const int64_t lanes = static_cast<int64_t>(hn::Lanes(d));
  const int64_t excess = (lanes - count % lanes) % lanes;  // surplus of the last vector
  const int64_t end = (rows - 1) * pitch + count;
  int64_t row = 0;
  // Short rows take so much work that memory would wait without prefetches.
  constexpr int64_t kBytesAhead = 1 << 13;
  constexpr int64_t kPrefetchedBytes = 1 << 9;
  const int64_t bytes = count * static_cast<int64_t>(sizeof(T));
  const bool prefetches = pitch == count && bytes <= kPrefetchedBytes;
  for (; row + lanes <= rows; row += lanes) {
    const T* from = x + row * pitch;
    if (prefetches)
      PrefetchElements(from + kBytesAhead / static_cast<int64_t>(sizeof(T)), lanes * count);
    const bool are_last = (row + lanes - 1) * pitch + count + excess > end;
    const auto sums = are_last ? SumOfLastRows<kMap>(d, from, count, pitch)
                               : SumOfRows<kMap, Rows::kFollowed>(d, from, count, pitch);
    const auto rounded = EndShort<kMap, kFinalizer, T>(d, sums, count);
    if (HWY_LIKELY(hn::AllTrue(d, rounded.certain))) {
      StoreResults(d, rounded.value, results + row);
    } else {
      ResolveRows<kMap, kFinalizer>(d, from, count, pitch, rounded, results + row,
                                    unresolved + row);
    }
  }
  for (; row < rows; ++row) {
    SumShortColumns<kMap, kFinalizer>(x + row * pitch, count, 1, 1, results + row,
                                      unresolved + row);
  }
}
#endif

template <SumMap kMap, SumFinalizer kFinalizer, typename T>
constexpr ShortSumKernels<T> kKernels{SumShortRows<kMap, kFinalizer, T>,
                                      SumShortColumns<kMap, kFinalizer, T>};

template <typename T>
ShortSumKernels<T> MakeKernels(SumMap map, SumFinalizer finalizer) {
  if (finalizer == SumFinalizer::kSquareRoot) {
    return kKernels<SumMap::kSquare, SumFinalizer::kSquareRoot, T>;
  }
  if (finalizer == SumFinalizer::kAverage)
    return kKernels<SumMap::kItself, SumFinalizer::kAverage, T>;
  return VisitSumMap(map, []<SumMap kMap>() { return kKernels<kMap, SumFinalizer::kItself, T>; });
}

}  // namespace dmlop::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace dmlop {

template <typename T>
ShortSumKernels<T> ShortSumKernelsFor(SumMap map, SumFinalizer finalizer) {
  return DMLOP_CHOOSE(MakeKernels<T>)(map, finalizer);
}

template ShortSumKernels<float> ShortSumKernelsFor(SumMap map, SumFinalizer finalizer);
template ShortSumKernels<Half> ShortSumKernelsFor(SumMap map, SumFinalizer finalizer);

}  // namespace dmlop
#endif
