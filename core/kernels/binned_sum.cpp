#include "core/kernels/binned_sum.h"

// Compiled once per instruction set; see the Highway documentation on foreach_target.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "core/kernels/binned_sum.cpp"
#include <hwy/foreach_target.h>
// Must come after foreach_target.h.
#include <hwy/highway.h>

#include <algorithm>

#include "core/kernels/bin_vectors-inl.h"
#include "core/kernels/columns-inl.h"
#include "core/kernels/dispatch.h"
#include "core/kernels/sum_terms-inl.h"

HWY_BEFORE_NAMESPACE();
namespace dmlop::HWY_NAMESPACE {

// Adds what the lanes hold to the one group of `sums`.
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

// The terms of less than a vector of elements, and zeros.
template <SumTerm kTerm, typename T>
HWY_INLINE WideVec LastTerms(const T* x, int64_t count) {
  HWY_ALIGN T elements[hn::MaxLanes(Wide())] = {};
  std::copy_n(x, count, elements);
  return OneVector<kTerm>::Term(elements);
}

template <SumTerm kTerm, typename T>
void AddRow(const T* x, int64_t count, const BinnedSums& sums) {
  using Bins = SumBins<T, kTerm>;
  const int64_t lanes = static_cast<int64_t>(hn::Lanes(Wide()));
  auto total = BinVectors<Bins>::OfNothing();
  for (int64_t i = 0; i < count;) {
    const int64_t end = std::min(count, i + Bins::kMaxCount * lanes);
    total.Begin();
    for (; i + lanes <= end; i += lanes) total.Add(OneVector<kTerm>::Term(x + i));
    if (i < end) total.Add(LastTerms<kTerm>(x + i, end - i));
    i = end;
    total.End();
    total.CarryOver();
  }
  Collect(total, sums);
}

// Adds some rows of a vector of columns.
template <class Bins, typename Term>
HWY_INLINE void AddVector(int64_t rows, bool last, const BinnedSums& sums, Term&& term) {
  auto total = BinVectors<Bins>::Load(sums);
  total.Begin();
  for (int64_t row = 0; row < rows; ++row) total.Add(term(row));
  total.End();
  if (last) total.CarryOver();
  total.Store(sums);
}

template <SumTerm kTerm, typename T>
void AddColumns(const T* x, int64_t rows, int64_t row_stride, int64_t columns,
                const BinnedSums& sums) {
  using Bins = SumBins<T, kTerm>;
  const int64_t lanes = static_cast<int64_t>(hn::Lanes(Wide()));
  const int64_t whole = columns - columns % lanes;
  for (int64_t row = 0; row < rows; row += Bins::kMaxCount) {
    const int64_t count = std::min(Bins::kMaxCount, rows - row);
    const T* first = x + row * row_stride;
    const auto vector = [&](const FewRows<T>& few, int64_t c) HWY_ATTR {
      const bool last = few.left == 0;
      AddVector<Bins>(few.count, last, sums.From(c), [&](int64_t r) HWY_ATTR {
        return OneVector<kTerm>::Term(few.first + r * few.stride);
      });
    };
    const auto none = [](const FewRows<T>&, int64_t) {};
    ForEachColumns(first, count, row_stride, whole, lanes, vector, none);
    if (whole == columns) continue;
    AddVector<Bins>(count, /*last=*/true, sums.From(whole), [&](int64_t r) HWY_ATTR {
      return LastTerms<kTerm>(first + whole + r * row_stride, columns - whole);
    });
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
BinnedSumKernels<T> MakeKernels(SumTerm term) {
  return VisitSumTerm(term, []<SumTerm kTerm>() -> BinnedSumKernels<T> {
    return {AddRow<kTerm, T>, AddColumns<kTerm, T>, Merge<SumBins<T, kTerm>>};
  });
}

}  // namespace dmlop::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE

namespace dmlop {

template <typename T>
BinnedSumKernels<T> BinnedSumKernelsFor(SumTerm term) {
  constexpr IsaForms<BinnedSumKernels<T>(SumTerm)> kForms = DMLOP_ISA_FORMS(MakeKernels<T>);
  return Choose(kForms)(term);
}

template BinnedSumKernels<float> BinnedSumKernelsFor(SumTerm term);
template BinnedSumKernels<Half> BinnedSumKernelsFor(SumTerm term);

}  // namespace dmlop

#endif  // HWY_ONCE
