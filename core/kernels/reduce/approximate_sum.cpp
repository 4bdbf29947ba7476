// SPDX-License-Identifier: Apache-2.0
#include "core/kernels/reduce/approximate_sum.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "core/kernels/reduce/approximate_sum.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include <algorithm>
#include <bit>
#include <cmath>

#include "core/exact/double_double.h"
#include "core/kernels/reduce/accumulator-inl.h"
#include "core/kernels/reduce/columns-inl.h"
#include "core/kernels/reduce/finalize_sums-inl.h"
#include "core/kernels/reduce/half_sums-inl.h"
#include "core/kernels/reduce/sum_maps-inl.h"
#include "core/kernels/simd/dispatch.h"
#include "core/kernels/simd/widen-inl.h"

HWY_BEFORE_NAMESPACE();
namespace dmlop::HWY_NAMESPACE {

constexpr int64_t kUnroll = kFewRows;  // number of terms added pairwise
static_assert(kUnroll == 8);

// Does the same as Accumulator for one group and one value.
HWY_INLINE void AddValue(double value, const ApproximateSums& sums) {
  const HeadTail sum = TwoSum(*sums.head, value);
  sums.head[0] = sum.head;
  sums.tail[0] += sum.tail;
}

template <SumMap kMap, typename T>
HWY_INLINE void AddElement(T element, const ApproximateSums& sums) {
  const float x = WidenElement(element);
  if constexpr (kNeedsPeak<T, kMap>) {
    *sums.peak = std::max(*sums.peak, std::bit_cast<uint32_t>(std::fabs(x)));
  }
  AddValue(MapOf<kMap>(x), sums);
}

// Adds a few terms, `stride` elements apart, and their sum at once to the one group.
template <SumMap kMap, typename T>
HWY_INLINE void AddColumn(const T* x, int64_t rows, int64_t stride, const ApproximateSums& sums) {
  double sum = -0.0;  // changes no sum, not even the sign of a zero
  uint32_t peak = 0;
  for (int64_t row = 0; row < rows; ++row) {
    const float value = WidenElement(x[row * stride]);
    sum += MapOf<kMap>(value);
    peak = std::max(peak, std::bit_cast<uint32_t>(std::fabs(value)));
  }
  if constexpr (kNeedsPeak<T, kMap>) *sums.peak = std::max(*sums.peak, peak);
  AddValue(sum, sums);
}

// Adds the lanes to the one group that they worked for.
HWY_INLINE void Collect(const Accumulator& accumulator, const ApproximateSums& sums) {
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

// The largest magnitudes in the lanes of D, as in ApproximateSums, if they are needed.
template <class D, bool kNeeded>
struct Peaks {
  using Bits = hn::RebindToUnsigned<D>;

  hn::Vec<Bits> bits;

  static HWY_INLINE Peaks OfNothing() { return {hn::Zero(Bits())}; }

  template <typename T>
  HWY_INLINE void Raise(const T* x) {
    if constexpr (kNeeded) bits = hn::Max(bits, hn::BitCast(Bits(), hn::Abs(LoadFloats(D(), x))));
  }

  HWY_INLINE void Collect(const ApproximateSums& sums) const {
    if constexpr (!kNeeded) return;
    HWY_ALIGN uint32_t lanes[hn::MaxLanes(D())];
    hn::Store(bits, Bits(), lanes);
    *sums.peak = std::max(*sums.peak, *std::max_element(lanes, lanes + hn::Lanes(D())));
  }
};

// The sum of up to eight blocks of eight vectors each, before it goes to an accumulator.
struct FewBlocks {
  WideVec sum;
  int count;

  static HWY_INLINE FewBlocks OfNothing() { return {hn::Set(Wide(), -0.0), 0}; }

  HWY_INLINE void Add(WideVec block, Accumulator& accumulator) {
    sum = hn::Add(sum, block);
    if (++count == kUnroll) Flush(accumulator);
  }

  HWY_INLINE void Flush(Accumulator& accumulator) {
    accumulator.Add(sum);
    *this = OfNothing();
  }
};

// Adds all elements but the last few, and returns how many it added.
template <SumMap kMap, typename T>
HWY_INLINE int64_t AddBlocks(const T* x, int64_t count, Accumulator& accumulator,
                             const ApproximateSums& sums) {
#if HWY_TARGET <= HWY_AVX3
  if constexpr (kAsIntegers<kMap, T>) return AddAsIntegers<kMap>(x, count, accumulator);
#endif
  const int64_t block = kUnroll * static_cast<int64_t>(hn::Lanes(Wide()));
  if (count < block) return 0;
  auto peaks = Peaks<Floats, kNeedsPeak<T, kMap>>::OfNothing();
  auto blocks = FewBlocks::OfNothing();
  const int64_t added = ForEachBlock(x, count, block, [&](const T* from) HWY_ATTR {
    const int64_t floats = static_cast<int64_t>(hn::Lanes(Floats()));
    for (int64_t k = 0; k < block; k += floats) peaks.Raise(from + k);
    blocks.Add(SumOfEight<VectorsOf<kMap, T>>(from), accumulator);
  });
  blocks.Flush(accumulator);
  peaks.Collect(sums);
  return added;
}

template <SumMap kMap, typename T>
void AddRow(const T* x, int64_t count, const ApproximateSums& sums) {
  const int64_t lanes = static_cast<int64_t>(hn::Lanes(Wide()));
  Accumulator accumulator{hn::Set(Wide(), -0.0), hn::Zero(Wide())};
  int64_t i = AddBlocks<kMap>(x, count, accumulator, sums);
  if (i + lanes <= count) {
    auto peaks = Peaks<Narrow, kNeedsPeak<T, kMap>>::OfNothing();
    for (; i + lanes <= count; i += lanes) {
      accumulator.Add(OneVector<kMap>::Term(x + i));
      peaks.Raise(x + i);
    }
    peaks.Collect(sums);
  }
  if (i > 0) Collect(accumulator, sums);
  for (; i < count; ++i) AddElement<kMap>(x[i], sums);
}

// Raises the peaks of `columns` groups, which fill vectors of D.
template <class D, typename T>
HWY_INLINE void RaisePeaks(D d, const T* x, int64_t rows, int64_t stride, int64_t columns,
                           uint32_t* peaks) {
  const hn::RebindToUnsigned<D> bits;
  for (int64_t c = 0; c < columns; c += static_cast<int64_t>(hn::Lanes(d))) {
    Peaks<D, true> raised{hn::LoadU(bits, peaks + c)};
    for (int64_t row = 0; row < rows; ++row) raised.Raise(x + row * stride + c);
    hn::StoreU(raised.bits, bits, peaks + c);
  }
}

// Adds up the terms of one or two vectors of columns in binary64. Rounds less often than adding the
// rows of a block otherwise does.
template <class Vectors, typename T>
HWY_INLINE typename Vectors::Sum SumOfFewer(const T* x, int64_t rows, int64_t stride) {
  auto sum = Vectors::Term(x);
  for (int64_t row = 1; row < rows; ++row) {
    sum = Vectors::Add(sum, Vectors::Term(x + row * stride));
  }
  return sum;
}

// Sums two vectors of columns. Rounds three times for eight rows.
template <SumMap kMap, BlockPart kPart, typename T>
HWY_INLINE WideFloats SumOfTwo(const T* x, int64_t rows, int64_t stride) {
  using Vectors = VectorsOf<kMap, T>;
  if (kPart != BlockPart::kWhole || rows == kFewRows) {
    return Vectors::Widen(SumOfEight<Vectors>(x, stride));
  }
  return SumOfFewer<TwoVectors<kMap>>(x, rows, stride);
}

// The sum of a block's rows accumulates in `block` until its last part is added.
HWY_INLINE void AddVector(BlockPart part, WideVec sum, double* head, double* tail, double* block) {
  const Wide d;
  if (!Begins(part)) sum = hn::Add(hn::LoadU(d, block), sum);
  if (Ends(part)) {
    AddToGroups(sum, head, tail);
  } else {
    hn::StoreU(sum, d, block);
  }
}

// Adds the columns that fill a cache line.
template <SumMap kMap, BlockPart kPart, typename T>
HWY_INLINE void AddLine(const T* x, int64_t rows, int64_t stride, ApproximateSums sums) {
  const int64_t lanes = static_cast<int64_t>(hn::Lanes(Wide()));
  for (int64_t k = 0; k < kLine<T>; k += 2 * lanes) {
    const WideFloats sum = SumOfTwo<kMap, kPart>(x + k, rows, stride);
    const int64_t l = k + lanes;
    AddVector(kPart, sum.low, sums.head + k, sums.tail + k, sums.block + k);
    AddVector(kPart, sum.high, sums.head + l, sums.tail + l, sums.block + l);
  }
  if constexpr (kNeedsPeak<T, kMap>) {
    RaisePeaks(Floats(), x, rows, stride, kLine<T>, sums.peak);
  }
}

#if HWY_TARGET <= HWY_AVX3
// Does the same with integers, unless there are infinities or NaN.
template <SumMap kMap, BlockPart kPart>
HWY_INLINE void AddLineOfIntegers(const Half* x, int64_t rows, int64_t stride,
                                  ApproximateSums sums) {
  HalfLine line = Begins(kPart) ? HalfLine::OfNothing() : HalfLine::Load(sums);
  if (!AddFiniteRows<kMap>(x, rows, stride, line)) {
    AddLine<kMap, BlockPart::kWhole>(x, rows, stride, sums);
  }
  if constexpr (Ends(kPart)) {
    line.AddTo<kMap>(sums);
  } else {
    line.Store(sums);
  }
}
#endif

template <SumMap kMap, BlockPart kPart, typename T>
HWY_INLINE void AddAnyLine(const T* x, int64_t rows, int64_t stride, ApproximateSums sums) {
#if HWY_TARGET <= HWY_AVX3
  if constexpr (kAsIntegers<kMap, T>) {
    return AddLineOfIntegers<kMap, kPart>(x, rows, stride, sums);
  }
#endif
  AddLine<kMap, kPart>(x, rows, stride, sums);
}

// Adds the columns that do not fill a cache line. They are few, so one form serves all parts of a
// block.
template <SumMap kMap, typename T>
HWY_NOINLINE void AddLastColumns(FewRows<T> few, int64_t columns, BlockPart part,
                                 ApproximateSums sums) {
  const int64_t lanes = static_cast<int64_t>(hn::Lanes(Wide()));
  int64_t c = 0;
  for (; c + lanes <= columns; c += lanes) {
    const T* x = few.first + c;
    const WideVec sum = few.count == kFewRows
                            ? SumOfEight<OneVector<kMap>>(x, few.stride)
                            : SumOfFewer<OneVector<kMap>>(x, few.count, few.stride);
    AddVector(part, sum, sums.head + c, sums.tail + c, sums.block + c);
    if constexpr (kNeedsPeak<T, kMap>) {
      RaisePeaks(Narrow(), x, few.count, few.stride, lanes, sums.peak + c);
    }
  }
  for (; c < columns; ++c) {
    AddColumn<kMap>(few.first + c, few.count, few.stride, sums.From(c));
  }
}

// Uses neither lambdas nor references, with which the compiler would load all of this again and
// again.
template <SumMap kMap, BlockPart kPart, typename T>
void AddFewRows(FewRows<T> few, int64_t columns, ApproximateSums sums) {
  const int64_t rows = kPart == BlockPart::kWhole ? few.count : kFewRows;
  const int64_t stride = few.stride;
  const T* x = few.first;
  NextRows<T> next(few, columns);
  int64_t c = 0;
  for (; c + kLine<T> <= columns; c += kLine<T>) {
    next.Prefetch(kLine<T>);
    AddAnyLine<kMap, kPart>(x + c, rows, stride, sums.From(c));
  }
  if (c < columns) AddLastColumns<kMap>(few.From(c), columns - c, kPart, sums.From(c));
}

template <SumMap kMap, typename T>
void AddColumns(const T* x, int64_t rows, int64_t row_stride, int64_t columns,
                const ApproximateSums& sums) {
  ForEachFewRows(x, rows, row_stride, [&](const FewRows<T>& few, BlockPart part) HWY_ATTR {
    switch (part) {
      case BlockPart::kFirst:
        return AddFewRows<kMap, BlockPart::kFirst>(few, columns, sums);
      case BlockPart::kMiddle:
        return AddFewRows<kMap, BlockPart::kMiddle>(few, columns, sums);
      case BlockPart::kLast:
        return AddFewRows<kMap, BlockPart::kLast>(few, columns, sums);
      case BlockPart::kWhole:
        return AddFewRows<kMap, BlockPart::kWhole>(few, columns, sums);
    }
  });
}

// Returns the sums of a vector of groups with their error bounds.
template <SumMap kMap, typename T>
HWY_INLINE SumAndError<Wide> SumsAndErrors(const ApproximateSums& sums, int64_t count) {
  const Wide d;
  const WideVec head = hn::LoadU(d, sums.head);
  const WideVec tail = hn::LoadU(d, sums.tail);
  WideVec magnitude = hn::Add(hn::Abs(head), hn::Abs(tail));
  if constexpr (kNeedsPeak<T, kMap>) {
    const BitsVec peak = hn::LoadU(NarrowBits(), sums.peak);
    magnitude = hn::Mul(hn::PromoteTo(d, hn::BitCast(Narrow(), peak)),
                        hn::Set(d, static_cast<double>(count)));
  }
  // For a zero or special value, the head alone is the sum.
  const auto is_number = hn::And(hn::IsFinite(head), hn::Gt(magnitude, hn::Zero(d)));
  const TwoVectorSum<Wide> sum = AddExactly(d, head, tail);
  const WideVec bound = hn::Mul(magnitude, hn::Set(d, kRelativeBound<T, kMap>));
  return {hn::IfThenElse(is_number, sum.head, head),
          hn::IfThenElseZero(is_number, hn::Add(bound, hn::Abs(sum.tail)))};
}

template <SumMap kMap, SumFinalizer kFinalizer, typename T>
void FinalizeGroups(const ApproximateSums& sums, int64_t groups, int64_t count, T* results,
                    uint8_t* unresolved) {
  const int64_t lanes = static_cast<int64_t>(hn::Lanes(Wide()));
  const int64_t whole = groups / lanes * lanes;
  std::fill_n(unresolved, whole, uint8_t{0});
  for (int64_t g = 0; g < whole; g += lanes) {
    const auto of_terms = SumsAndErrors<kMap, T>(sums.From(g), count);
    StoreRounded(Wide(), EndVector<kFinalizer, T>(Wide(), of_terms, count), results + g,
                 unresolved + g);
  }
  std::fill(unresolved + whole, unresolved + groups, uint8_t{1});
}

template <typename T>
FinalizeSumsFunction<T> MakeFinalize(SumMap map, SumFinalizer finalizer) {
  if (finalizer == SumFinalizer::kSquareRoot) {
    return FinalizeGroups<SumMap::kSquare, SumFinalizer::kSquareRoot, T>;
  }
  if (finalizer == SumFinalizer::kAverage)
    return FinalizeGroups<SumMap::kItself, SumFinalizer::kAverage, T>;
  return VisitSumMap(map, []<SumMap kMap>() -> FinalizeSumsFunction<T> {
    return FinalizeGroups<kMap, SumFinalizer::kItself, T>;
  });
}

template <typename T>
ApproximateSumKernels<T> MakeKernels(SumMap map) {
  return VisitSumMap(map, []<SumMap kMap>() -> ApproximateSumKernels<T> {
    return {AddRow<kMap, T>, AddColumns<kMap, T>};
  });
}

}  // namespace dmlop::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace dmlop {

template <typename T>
ApproximateSumKernels<T> ApproximateSumKernelsFor(SumMap map) {
  return DMLOP_CHOOSE(MakeKernels<T>)(map);
}

template <typename T>
FinalizeSumsFunction<T> FinalizeSumsFor(SumMap map, SumFinalizer finalizer) {
  return DMLOP_CHOOSE(MakeFinalize<T>)(map, finalizer);
}

template ApproximateSumKernels<float> ApproximateSumKernelsFor(SumMap map);
template ApproximateSumKernels<Half> ApproximateSumKernelsFor(SumMap map);
template FinalizeSumsFunction<float> FinalizeSumsFor(SumMap map, SumFinalizer finalizer);
template FinalizeSumsFunction<Half> FinalizeSumsFor(SumMap map, SumFinalizer finalizer);

}  // namespace dmlop
#endif
