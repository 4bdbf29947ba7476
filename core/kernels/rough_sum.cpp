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
#include "core/kernels/row_streams-inl.h"
#include "core/kernels/sum_terms-inl.h"
#include "core/kernels/widen-inl.h"

HWY_BEFORE_NAMESPACE();
namespace dmlop::HWY_NAMESPACE {

constexpr int64_t kUnroll = kStreams;  // terms added pairwise
static_assert(kUnroll == 8);

// The running state of one vector of groups (or of lanes of one group).
struct Accumulator {
  WideVec head, tail;

  // Knuth's TwoSum: what head cannot hold goes to tail.
  HWY_INLINE void Add(WideVec value) {
    const WideVec sum = hn::Add(head, value);
    const WideVec value_part = hn::Sub(sum, head);
    const WideVec head_part = hn::Sub(sum, value_part);
    tail = hn::Add(tail, hn::Add(hn::Sub(head, head_part), hn::Sub(value, value_part)));
    head = sum;
  }
};

// The same as Accumulator for one group and one value.
HWY_INLINE void AddValue(double value, const RoughSums& sums) {
  const HeadTail sum = TwoSum(*sums.head, value);
  sums.head[0] = sum.head;
  sums.tail[0] += sum.tail;
}

template <SumTerm kTerm, SumRange kRange, typename T>
HWY_INLINE void AddElement(T element, const RoughSums& sums) {
  const float x = WidenElement(element);
  const double wide = static_cast<double>(x);
  const uint32_t bits = std::bit_cast<uint32_t>(std::fabs(x));
  if constexpr (kRange != SumRange::kNothing) *sums.peak = std::max(*sums.peak, bits);
  if constexpr (kRange == SumRange::kPeakAndLeast) *sums.least = std::min(*sums.least, bits - 1);
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
HWY_INLINE void Collect(const Accumulator& accumulator, const RoughSums& sums) {
  HWY_ALIGN double heads[hn::MaxLanes(Wide())];
  HWY_ALIGN double tails[hn::MaxLanes(Wide())];
  hn::Store(accumulator.head, Wide(), heads);
  hn::Store(accumulator.tail, Wide(), tails);
  HeadTail total{*sums.head, *sums.tail};
  for (size_t i = 0; i < hn::Lanes(Wide()); ++i) {
    const HeadTail sum = TwoSum(total.head, heads[i]);
    total = {sum.head, total.tail + (sum.tail + tails[i])};
  }
  *sums.head = total.head;
  *sums.tail = total.tail;
}

// The ranges of magnitudes in the lanes of D, as in RoughSums.
template <class D, SumRange kRange>
struct Ranges {
  using Bits = hn::RebindToUnsigned<D>;

  hn::Vec<Bits> peak, least;

  static HWY_INLINE Ranges OfNothing() {
    return {hn::Zero(Bits()), hn::Set(Bits(), RoughSums::kNoLeast)};
  }

  template <typename T>
  HWY_INLINE void Widen(const T* x) {
    if constexpr (kRange == SumRange::kNothing) return;
    const auto bits = hn::BitCast(Bits(), hn::Abs(LoadFloats(D(), x)));
    peak = hn::Max(peak, bits);
    if constexpr (kRange == SumRange::kPeakAndLeast) {
      least = hn::Min(least, hn::Sub(bits, hn::Set(Bits(), 1)));
    }
  }

  HWY_INLINE void Collect(const RoughSums& sums) const {
    if constexpr (kRange == SumRange::kNothing) return;
    HWY_ALIGN uint32_t lanes[hn::MaxLanes(D())];
    hn::Store(peak, Bits(), lanes);
    *sums.peak = std::max(*sums.peak, *std::max_element(lanes, lanes + hn::Lanes(D())));
    if constexpr (kRange != SumRange::kPeakAndLeast) return;
    hn::Store(least, Bits(), lanes);
    *sums.least = std::min(*sums.least, *std::min_element(lanes, lanes + hn::Lanes(D())));
  }
};

// Returns how many elements it added, all but the last few.
template <SumTerm kTerm, SumRange kRange, typename T>
HWY_INLINE int64_t AddBlocks(const T* x, int64_t count, Accumulator& accumulator,
                             const RoughSums& sums) {
  const int64_t block = kUnroll * static_cast<int64_t>(hn::Lanes(Wide()));
  if (count < block) return 0;
  auto ranges = Ranges<Floats, kRange>::OfNothing();
  const int64_t added = ForEachBlock(x, count, block, [&](const T* from) HWY_ATTR {
    const int64_t floats = static_cast<int64_t>(hn::Lanes(Floats()));
    for (int64_t k = 0; k < block; k += floats) ranges.Widen(from + k);
    accumulator.Add(SumOfEight<kTerm>(from));
  });
  ranges.Collect(sums);
  return added;
}

template <SumTerm kTerm, SumRange kRange, typename T>
void AddRow(const T* x, int64_t count, const RoughSums& sums) {
  const int64_t lanes = static_cast<int64_t>(hn::Lanes(Wide()));
  Accumulator accumulator{hn::Set(Wide(), -0.0), hn::Zero(Wide())};
  int64_t i = AddBlocks<kTerm, kRange>(x, count, accumulator, sums);
  if (i + lanes <= count) {
    auto ranges = Ranges<Narrow, kRange>::OfNothing();
    for (; i + lanes <= count; i += lanes) {
      accumulator.Add(OneVector<kTerm>::Term(x + i));
      ranges.Widen(x + i);
    }
    ranges.Collect(sums);
  }
  if (i > 0) Collect(accumulator, sums);
  for (; i < count; ++i) AddElement<kTerm, kRange>(x[i], sums);
}

// Widens the ranges of `columns` groups, whole vectors of D.
template <SumRange kRange, class D, typename T>
HWY_INLINE void WidenRanges(D d, const T* x, int64_t rows, int64_t stride, int64_t columns,
                            uint32_t* peaks, uint32_t* leasts) {
  if constexpr (kRange == SumRange::kNothing) return;
  constexpr bool kLeast = kRange == SumRange::kPeakAndLeast;
  const hn::RebindToUnsigned<D> bits;
  for (int64_t c = 0; c < columns; c += static_cast<int64_t>(hn::Lanes(d))) {
    auto ranges = Ranges<D, kRange>::OfNothing();
    ranges.peak = hn::LoadU(bits, peaks + c);
    if constexpr (kLeast) ranges.least = hn::LoadU(bits, leasts + c);
    for (int64_t row = 0; row < rows; ++row) ranges.Widen(x + row * stride + c);
    hn::StoreU(ranges.peak, bits, peaks + c);
    if constexpr (kLeast) hn::StoreU(ranges.least, bits, leasts + c);
  }
}

// The terms of a vector of columns, or of two, added up. Rounds three times where there are eight
// rows, and less often than the rows of a block are added up otherwise.
template <class Vectors, BlockPart kPart, typename T>
HWY_INLINE typename Vectors::Sum SumOf(const T* x, int64_t rows, int64_t stride) {
  if (kPart != BlockPart::kWhole || rows == kStreams) return SumOfEight<Vectors>(x, stride);
  auto sum = Vectors::Term(x);
  for (int64_t row = 1; row < rows; ++row) {
    sum = Vectors::Add(sum, Vectors::Term(x + row * stride));
  }
  return sum;
}

// What the rows of a block add up to gathers in `block` until its last part is there.
template <BlockPart kPart>
HWY_INLINE void AddVector(WideVec sum, double* head, double* tail, double* block) {
  const Wide d;
  if constexpr (kPart == BlockPart::kMiddle || kPart == BlockPart::kLast) {
    sum = hn::Add(hn::LoadU(d, block), sum);
  }
  if constexpr (kPart == BlockPart::kFirst || kPart == BlockPart::kMiddle) {
    hn::StoreU(sum, d, block);
  } else {
    Accumulator accumulator{hn::LoadU(d, head), hn::LoadU(d, tail)};
    accumulator.Add(sum);
    hn::StoreU(accumulator.head, d, head);
    hn::StoreU(accumulator.tail, d, tail);
  }
}

// Without lambdas and references, which would have the compiler load all of this again and again.
template <SumTerm kTerm, SumRange kRange, BlockPart kPart, typename T>
void AddFewRows(FewRows<T> few, int64_t columns, RoughSums sums) {
  constexpr int64_t kLine = 64 / static_cast<int64_t>(sizeof(T));
  const int64_t lanes = static_cast<int64_t>(hn::Lanes(Wide()));
  const int64_t rows = kPart == BlockPart::kWhole ? few.count : kStreams;
  const int64_t stride = few.stride;
  const T* x = few.first;
  int64_t c = 0;
  for (; c + kLine <= columns; c += kLine) {
    for (int64_t k = c; k < c + kLine; k += 2 * lanes) {
      const WideFloats sum = SumOf<TwoVectors<kTerm>, kPart>(x + k, rows, stride);
      const int64_t l = k + lanes;
      AddVector<kPart>(sum.low, sums.head + k, sums.tail + k, sums.block + k);
      AddVector<kPart>(sum.high, sums.head + l, sums.tail + l, sums.block + l);
    }
    WidenRanges<kRange>(Floats(), x + c, rows, stride, kLine, sums.peak + c, sums.least + c);
  }
  for (; c + lanes <= columns; c += lanes) {
    const WideVec sum = SumOf<OneVector<kTerm>, kPart>(x + c, rows, stride);
    AddVector<kPart>(sum, sums.head + c, sums.tail + c, sums.block + c);
    WidenRanges<kRange>(Narrow(), x + c, rows, stride, lanes, sums.peak + c, sums.least + c);
  }
  for (; c < columns; ++c) {
    for (int64_t row = 0; row < rows; ++row) {
      AddElement<kTerm, kRange>(x[row * stride + c],
                                {sums.head + c, sums.tail + c, sums.peak + c, sums.least + c});
    }
  }
}

template <SumTerm kTerm, SumRange kRange, typename T>
void AddColumns(const T* x, int64_t rows, int64_t row_stride, int64_t columns,
                const RoughSums& sums) {
  ForEachFewRows(x, rows, row_stride, [&](const FewRows<T>& few, BlockPart part) HWY_ATTR {
    switch (part) {
      case BlockPart::kFirst:
        return AddFewRows<kTerm, kRange, BlockPart::kFirst>(few, columns, sums);
      case BlockPart::kMiddle:
        return AddFewRows<kTerm, kRange, BlockPart::kMiddle>(few, columns, sums);
      case BlockPart::kLast:
        return AddFewRows<kTerm, kRange, BlockPart::kLast>(few, columns, sums);
      case BlockPart::kWhole:
        return AddFewRows<kTerm, kRange, BlockPart::kWhole>(few, columns, sums);
    }
  });
}

template <SumTerm kTerm, typename T>
RoughSumKernels<T> KernelsOf(bool ranged) {
  constexpr SumRange kRange = kLeastRange<T, kTerm>;
  if constexpr (kMayBeExact<T, kTerm>) {
    constexpr SumRange kWhole = SumRange::kPeakAndLeast;
    if (ranged) return {AddRow<kTerm, kWhole, T>, AddColumns<kTerm, kWhole, T>};
  }
  return {AddRow<kTerm, kRange, T>, AddColumns<kTerm, kRange, T>};
}

template <typename T>
RoughSumKernels<T> MakeKernels(SumTerm term, bool ranged) {
  switch (term) {
    case SumTerm::kItself:
      return KernelsOf<SumTerm::kItself, T>(ranged);
    case SumTerm::kMagnitude:
      return KernelsOf<SumTerm::kMagnitude, T>(ranged);
    case SumTerm::kSquare:
      return KernelsOf<SumTerm::kSquare, T>(ranged);
  }
  return {};
}

}  // namespace dmlop::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE

namespace dmlop {

template <typename T>
RoughSumKernels<T> RoughSumKernelsFor(SumTerm term, bool ranged) {
  constexpr IsaForms<RoughSumKernels<T>(SumTerm, bool)> kForms = DMLOP_ISA_FORMS(MakeKernels<T>);
  return Choose(kForms)(term, ranged);
}

template RoughSumKernels<float> RoughSumKernelsFor(SumTerm term, bool ranged);
template RoughSumKernels<Half> RoughSumKernelsFor(SumTerm term, bool ranged);

}  // namespace dmlop

#endif  // HWY_ONCE
