// SPDX-License-Identifier: Apache-2.0
#include "core/kernels/reduce/binned_sum.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "core/kernels/reduce/binned_sum.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "core/kernels/reduce/bin_vectors-inl.h"
#include "core/kernels/reduce/columns-inl.h"
#include "core/kernels/reduce/sum_maps-inl.h"
#include "core/kernels/simd/dispatch.h"

HWY_BEFORE_NAMESPACE();
namespace dmlop::HWY_NAMESPACE {

// Adds the lanes to the one group of `sums`.
template <class Bins>
HWY_INLINE void Collect(BinVectors<Bins>& lanes, const BinnedSums& sums) {
  const Wide d;
  for (int b = 0; b < Bins::kCount; ++b) {
    lanes.bins[b] =
        hn::Add(hn::SumOfLanes(d, lanes.bins[b]), hn::Set(d, sums.bins[b * sums.pitch]));
  }
  lanes.CarryOver();
  lanes.StoreFirst(sums);
}

// Carries over the bins of a vector of groups.
template <class Bins>
HWY_INLINE void CarryOver(const BinnedSums& sums) {
  auto total = BinVectors<Bins>::Load(sums);
  total.CarryOver();
  total.Store(sums);
}

// Adds whole vectors of FLOAT32 to `sums`, which are lanes of one group.
template <SumMap kMap, typename T>
HWY_INLINE void AddVectors(const T* x, int64_t count, const BinnedSums& sums) {
  using Bins = SumBins<T, kMap>;
  const int64_t lanes = static_cast<int64_t>(hn::Lanes(Wide()));
  Magnitudes<Floats> magnitudes;
  for (int64_t i = 0; i < count; i += static_cast<int64_t>(hn::Lanes(Floats()))) {
    magnitudes.Take(LoadFloats(Floats(), x + i));
  }
  AddToSpan<Bins>(Wide(), SpanOf<Bins>(magnitudes), count / lanes, sums,
                  [&](int64_t i) HWY_ATTR { return OneVector<kMap>::Term(x + i * lanes); });
}

template <SumMap kMap, typename T>
HWY_INLINE void AddBlock(const T* x, int64_t count, const BinnedSums& sums) {
  const int64_t lanes = static_cast<int64_t>(hn::Lanes(Floats()));
  const int64_t whole = count - count % lanes;
  AddVectors<kMap>(x, whole, sums);
  if (whole == count) return;
  HWY_ALIGN T rest[hn::MaxLanes(Floats())] = {};
  std::copy_n(x + whole, count - whole, rest);
  AddVectors<kMap>(rest, lanes, sums);
}

template <SumMap kMap, typename T>
void AddRow(const T* x, int64_t count, const BinnedSums& sums) {
  using Bins = SumBins<T, kMap>;
  // A block stays in the first-level cache while it is read twice.
  constexpr int64_t kBlock = 4096 / static_cast<int64_t>(sizeof(T));
  static_assert(Bins::kMaxCount % kBlock == 0);
  const int64_t lanes = static_cast<int64_t>(hn::Lanes(Wide()));
  HWY_ALIGN double memory[Bins::kCount * hn::MaxLanes(Wide())] = {};
  const BinnedSums of_lanes{memory, lanes};
  for (int64_t i = 0; i < count;) {
    const int64_t end = std::min(count, i + Bins::kMaxCount * lanes);
    for (; i < end; i += kBlock) AddBlock<kMap>(x + i, std::min(kBlock, end - i), of_lanes);
    CarryOver<Bins>(of_lanes);
  }
  auto total = BinVectors<Bins>::Load(of_lanes);
  Collect(total, sums);
}

// Adds some rows of columns that fill vectors of D.
template <SumMap kMap, class D, typename T>
HWY_INLINE void AddSomeColumns(D d, const FewRows<T>& rows, int64_t columns,
                               const BinnedSums& sums) {
  using Bins = SumBins<T, kMap>;
  const int64_t lanes = static_cast<int64_t>(hn::Lanes(Wide()));
  Magnitudes<D> magnitudes;
  for (int64_t row = 0; row < rows.count; ++row) {
    const T* x = rows.first + row * rows.stride;
    for (int64_t c = 0; c < columns; c += static_cast<int64_t>(hn::Lanes(d))) {
      magnitudes.Take(LoadFloats(d, x + c));
    }
  }
  const BinSpan span = SpanOf<Bins>(magnitudes);
  for (int64_t c = 0; c < columns; c += lanes) {
    AddToSpan<Bins>(Wide(), span, rows.count, sums.From(c), [&](int64_t row) HWY_ATTR {
      return OneVector<kMap>::Term(rows.first + row * rows.stride + c);
    });
    if (rows.left == 0) CarryOver<Bins>(sums.From(c));
  }
}

// Does the same for fewer columns than a vector has lanes.
template <SumMap kMap, typename T>
HWY_INLINE void AddLastColumns(const FewRows<T>& rows, int64_t columns, const BinnedSums& sums) {
  constexpr int64_t kLanes = hn::MaxLanes(Wide());
  HWY_ALIGN T elements[kFewRows * kLanes] = {};
  for (int64_t row = 0; row < rows.count; ++row) {
    std::copy_n(rows.first + row * rows.stride, columns, elements + row * kLanes);
  }
  const FewRows<T> few{elements, rows.count, kLanes, rows.number, rows.left};
  AddSomeColumns<kMap>(Narrow(), few, static_cast<int64_t>(hn::Lanes(Wide())), sums);
}

template <SumMap kMap, typename T>
void AddFewRows(const FewRows<T>& rows, int64_t columns, const BinnedSums& sums) {
  const int64_t lanes = static_cast<int64_t>(hn::Lanes(Wide()));
  NextRows<T> next(rows, columns);
  int64_t c = 0;
  for (; c + kLine<T> <= columns; c += kLine<T>) {
    next.Prefetch(kLine<T>);
    AddSomeColumns<kMap>(Floats(), rows.From(c), kLine<T>, sums.From(c));
  }
  for (; c + lanes <= columns; c += lanes) {
    AddSomeColumns<kMap>(Narrow(), rows.From(c), lanes, sums.From(c));
  }
  if (c < columns) AddLastColumns<kMap>(rows.From(c), columns - c, sums.From(c));
}

template <SumMap kMap, typename T>
void AddColumns(const T* x, int64_t rows, int64_t row_stride, int64_t columns,
                const BinnedSums& sums) {
  constexpr int64_t kMaxCount = SumBins<T, kMap>::kMaxCount;
  for (int64_t row = 0; row < rows; row += kMaxCount) {
    ForEachFewRows(x + row * row_stride, std::min(kMaxCount, rows - row), row_stride,
                   [&](const FewRows<T>& few, BlockPart)
                       HWY_ATTR { AddFewRows<kMap>(few, columns, sums); });
  }
}

template <class Bins>
void Merge(const BinnedSums& other, const BinnedSums& sums) {
  const Wide d;
  BinVectors<Bins> total;
  for (int b = 0; b < Bins::kCount; ++b) {
    total.bins[b] =
        hn::Add(hn::Set(d, other.bins[b * other.pitch]), hn::Set(d, sums.bins[b * sums.pitch]));
  }
  total.CarryOver();
  total.StoreFirst(sums);
}

template <typename T>
BinnedSumKernels<T> MakeKernels(SumMap map) {
  return VisitSumMap(map, []<SumMap kMap>() -> BinnedSumKernels<T> {
    return {AddRow<kMap, T>, AddColumns<kMap, T>, Merge<SumBins<T, kMap>>};
  });
}

}  // namespace dmlop::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace dmlop {

template <typename T>
BinnedSumKernels<T> BinnedSumKernelsFor(SumMap map) {
  return DMLOP_CHOOSE(MakeKernels<T>)(map);
}

template BinnedSumKernels<float> BinnedSumKernelsFor(SumMap map);
template BinnedSumKernels<Half> BinnedSumKernelsFor(SumMap map);

}  // namespace dmlop
#endif
