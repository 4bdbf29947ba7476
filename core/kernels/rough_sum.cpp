#include "core/kernels/rough_sum.h"

// Compiled once per instruction set; see the Highway documentation on foreach_target.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "core/kernels/rough_sum.cpp"
#include <hwy/foreach_target.h>
// Must come after foreach_target.h.
#include <hwy/highway.h>

#include <algorithm>
#include <bit>
#include <cmath>

#include "core/exact/error_free.h"
#include "core/kernels/columns-inl.h"
#include "core/kernels/dispatch.h"
#include "core/kernels/widen-inl.h"

HWY_BEFORE_NAMESPACE();
namespace dmlop::HWY_NAMESPACE {

constexpr int64_t kUnroll = kStreams;  // terms added pairwise
static_assert(kUnroll == 8);

// The running state of one vector of groups (or of lanes of one group).
template <SumTerm kTerm, bool kPeak>
struct Accumulator {
  WideVec head;
  WideVec tail;
  BitsVec peak;  // only with kPeak

  // The term of a vector of elements.
  HWY_INLINE WideVec Term(NarrowVec x) {
    if constexpr (kPeak) {
      peak = hn::Max(peak, hn::BitCast(NarrowBits(), hn::Abs(x)));
    }
    const WideVec wide = hn::PromoteTo(Wide(), x);
    if constexpr (kTerm == SumTerm::kMagnitude) return hn::Abs(wide);
    if constexpr (kTerm == SumTerm::kSquare) return hn::Mul(wide, wide);
    return wide;
  }

  // Knuth's TwoSum: what head cannot hold goes to tail.
  HWY_INLINE void Add(WideVec value) {
    const WideVec sum = hn::Add(head, value);
    const WideVec value_part = hn::Sub(sum, head);
    const WideVec head_part = hn::Sub(sum, value_part);
    tail = hn::Add(tail, hn::Add(hn::Sub(head, head_part), hn::Sub(value, value_part)));
    head = sum;
  }

  // The sum of the terms of kUnroll vectors of elements, `step` elements apart.
  template <typename T>
  HWY_INLINE WideVec SumOfEight(const T* x, int64_t step) {
    const WideVec a = hn::Add(Term(LoadNarrow(x)), Term(LoadNarrow(x + step)));
    const WideVec b = hn::Add(Term(LoadNarrow(x + 2 * step)), Term(LoadNarrow(x + 3 * step)));
    const WideVec c = hn::Add(Term(LoadNarrow(x + 4 * step)), Term(LoadNarrow(x + 5 * step)));
    const WideVec d = hn::Add(Term(LoadNarrow(x + 6 * step)), Term(LoadNarrow(x + 7 * step)));
    return hn::Add(hn::Add(a, b), hn::Add(c, d));
  }
};

// The same for one group and one value.
HWY_INLINE void AddValue(double value, const RoughSums& sums) {
  const HeadTail sum = TwoSum(*sums.head, value);
  sums.head[0] = sum.head;
  sums.tail[0] += sum.tail;
}

template <SumTerm kTerm, typename T>
HWY_INLINE void AddElement(T element, const RoughSums& sums) {
  const float x = WidenElement(element);
  const double wide = static_cast<double>(x);
  if constexpr (kHasPeak<T, kTerm>) {
    sums.peak[0] = std::max(sums.peak[0], std::bit_cast<uint32_t>(std::fabs(x)));
  }
  switch (kTerm) {
    case SumTerm::kItself:
      return AddValue(wide, sums);
    case SumTerm::kMagnitude:
      return AddValue(std::fabs(wide), sums);
    case SumTerm::kSquare:
      return AddValue(wide * wide, sums);
  }
}

// Hands the lanes over to the one group that they worked for.
template <SumTerm kTerm, bool kPeak>
HWY_INLINE void Collect(const Accumulator<kTerm, kPeak>& accumulator, const RoughSums& sums) {
  HWY_ALIGN double heads[hn::MaxLanes(Wide())];
  HWY_ALIGN double tails[hn::MaxLanes(Wide())];
  HWY_ALIGN uint32_t peaks[hn::MaxLanes(Wide())];
  hn::Store(accumulator.head, Wide(), heads);
  hn::Store(accumulator.tail, Wide(), tails);
  hn::Store(accumulator.peak, NarrowBits(), peaks);
  for (size_t i = 0; i < hn::Lanes(Wide()); ++i) {
    AddValue(heads[i], sums);
    sums.tail[0] += tails[i];
    sums.peak[0] = std::max(sums.peak[0], peaks[i]);
  }
}

template <SumTerm kTerm, typename T>
void AddRow(const T* x, int64_t count, const RoughSums& sums) {
  const int64_t lanes = static_cast<int64_t>(hn::Lanes(Wide()));
  int64_t i = 0;
  if (count >= lanes) {
    Accumulator<kTerm, kHasPeak<T, kTerm>> accumulator{hn::Set(Wide(), -0.0), hn::Zero(Wide()),
                                                       hn::Zero(NarrowBits())};
    for (; i + kUnroll * lanes <= count; i += kUnroll * lanes) {
      accumulator.Add(accumulator.SumOfEight(x + i, lanes));
    }
    for (; i + lanes <= count; i += lanes) accumulator.Add(accumulator.Term(LoadNarrow(x + i)));
    Collect(accumulator, sums);
  }
  for (; i < count; ++i) AddElement<kTerm>(x[i], sums);
}

// Raises the peaks of `columns` groups, whole vectors of D.
template <class D>
HWY_INLINE void RaisePeaks(D d, const float* x, int64_t rows, int64_t stride, int64_t columns,
                           uint32_t* peaks) {
  const hn::RebindToUnsigned<D> bits;
  for (int64_t c = 0; c < columns; c += static_cast<int64_t>(hn::Lanes(d))) {
    auto peak = hn::LoadU(bits, peaks + c);
    for (int64_t row = 0; row < rows; ++row) {
      const auto values = hn::LoadU(d, x + row * stride + c);
      peak = hn::Max(peak, hn::BitCast(bits, hn::Abs(values)));
    }
    hn::StoreU(peak, bits, peaks + c);
  }
}

// The terms of a vector of columns, added up. Rounds three times where there are eight rows, and
// less often than the rows of a block are added up otherwise.
template <SumTerm kTerm, BlockPart kPart, typename T>
HWY_INLINE WideVec SumOf(const T* x, int64_t rows, int64_t stride) {
  Accumulator<kTerm, false> terms;
  if (kPart != BlockPart::kWhole || rows == kStreams) return terms.SumOfEight(x, stride);
  WideVec sum = terms.Term(LoadNarrow(x));
  for (int64_t row = 1; row < rows; ++row) {
    sum = hn::Add(sum, terms.Term(LoadNarrow(x + row * stride)));
  }
  return sum;
}

// What the rows of a block add up to gathers in `block` until its last part is there.
template <SumTerm kTerm, BlockPart kPart>
HWY_INLINE void AddVector(WideVec sum, double* head, double* tail, double* block) {
  const Wide d;
  if constexpr (kPart == BlockPart::kMiddle || kPart == BlockPart::kLast) {
    sum = hn::Add(hn::LoadU(d, block), sum);
  }
  if constexpr (kPart == BlockPart::kFirst || kPart == BlockPart::kMiddle) {
    hn::StoreU(sum, d, block);
  } else {
    Accumulator<kTerm, false> accumulator{hn::LoadU(d, head), hn::LoadU(d, tail),
                                          hn::Zero(NarrowBits())};
    accumulator.Add(sum);
    hn::StoreU(accumulator.head, d, head);
    hn::StoreU(accumulator.tail, d, tail);
  }
}

// Without lambdas and references, which would have the compiler load all of this again and again.
template <SumTerm kTerm, BlockPart kPart, typename T>
void AddFewRows(FewRows<T> few, int64_t columns, RoughSums sums) {
  constexpr int64_t kLine = 64 / static_cast<int64_t>(sizeof(T));
  const int64_t lanes = static_cast<int64_t>(hn::Lanes(Wide()));
  const int64_t rows = kPart == BlockPart::kWhole ? few.count : kStreams;
  const int64_t stride = few.stride;
  const T* x = few.first;
  int64_t c = 0;
  for (; c + kLine <= columns; c += kLine) {
    for (int64_t k = c; k < c + kLine; k += lanes) {
      AddVector<kTerm, kPart>(SumOf<kTerm, kPart>(x + k, rows, stride), sums.head + k,
                              sums.tail + k, sums.block + k);
    }
    if constexpr (kHasPeak<T, kTerm>) {
      RaisePeaks(hn::ScalableTag<float>(), x + c, rows, stride, kLine, sums.peak + c);
    }
  }
  for (; c + lanes <= columns; c += lanes) {
    AddVector<kTerm, kPart>(SumOf<kTerm, kPart>(x + c, rows, stride), sums.head + c, sums.tail + c,
                            sums.block + c);
    if constexpr (kHasPeak<T, kTerm>) {
      RaisePeaks(Narrow(), x + c, rows, stride, lanes, sums.peak + c);
    }
  }
  for (; c < columns; ++c) {
    for (int64_t row = 0; row < rows; ++row) {
      AddElement<kTerm>(x[row * stride + c], {sums.head + c, sums.tail + c, sums.peak + c});
    }
  }
}

template <SumTerm kTerm, typename T>
void AddColumns(const T* x, int64_t rows, int64_t row_stride, int64_t columns,
                const RoughSums& sums) {
  ForEachFewRows(x, rows, row_stride, [&](const FewRows<T>& few, BlockPart part) HWY_ATTR {
    switch (part) {
      case BlockPart::kFirst:
        return AddFewRows<kTerm, BlockPart::kFirst>(few, columns, sums);
      case BlockPart::kMiddle:
        return AddFewRows<kTerm, BlockPart::kMiddle>(few, columns, sums);
      case BlockPart::kLast:
        return AddFewRows<kTerm, BlockPart::kLast>(few, columns, sums);
      case BlockPart::kWhole:
        return AddFewRows<kTerm, BlockPart::kWhole>(few, columns, sums);
    }
  });
}

template <typename T>
RoughSumKernels<T> MakeKernels(SumTerm term) {
  switch (term) {
    case SumTerm::kItself:
      return {AddRow<SumTerm::kItself, T>, AddColumns<SumTerm::kItself, T>};
    case SumTerm::kMagnitude:
      return {AddRow<SumTerm::kMagnitude, T>, AddColumns<SumTerm::kMagnitude, T>};
    case SumTerm::kSquare:
      return {AddRow<SumTerm::kSquare, T>, AddColumns<SumTerm::kSquare, T>};
  }
  return {};
}

}  // namespace dmlop::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE

namespace dmlop {

template <typename T>
RoughSumKernels<T> RoughSumKernelsFor(SumTerm term) {
  constexpr IsaForms<RoughSumKernels<T>(SumTerm)> kForms = DMLOP_ISA_FORMS(MakeKernels<T>);
  return Choose(kForms)(term);
}

template RoughSumKernels<float> RoughSumKernelsFor(SumTerm term);
template RoughSumKernels<Half> RoughSumKernelsFor(SumTerm term);

}  // namespace dmlop

#endif  // HWY_ONCE
