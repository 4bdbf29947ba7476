#include "core/kernels/short_sum.h"

// Compiled once per instruction set; see the Highway documentation on foreach_target.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "core/kernels/short_sum.cpp"
#include <hwy/foreach_target.h>
// Must come after foreach_target.h.
#include <hwy/highway.h>

#include "core/kernels/columns-inl.h"
#include "core/kernels/dispatch.h"
#include "core/kernels/end_sums-inl.h"
#include "core/kernels/magnitudes-inl.h"
#include "core/kernels/round_results-inl.h"
#include "core/kernels/short_terms-inl.h"
#include "core/kernels/sum_terms-inl.h"
#include "core/kernels/widen-inl.h"

HWY_BEFORE_NAMESPACE();
namespace dmlop::HWY_NAMESPACE {

// Calls body(d, c) for all columns, many lanes at a time or one.
template <typename Body>
HWY_INLINE void ForEachVector(int64_t columns, Body&& body) {
  const int64_t lanes = static_cast<int64_t>(hn::Lanes(Wide()));
  int64_t c = 0;
  for (; c + lanes <= columns; c += lanes) body(Wide(), c);
  for (; c < columns; ++c) body(hn::CappedTag<double, 1>(), c);
}

// The same, where the last vector may overlap the one before it.
template <typename Body>
HWY_INLINE void ForEachVectorOnce(int64_t columns, Body&& body) {
  const int64_t lanes = static_cast<int64_t>(hn::Lanes(Wide()));
  if (columns < lanes) return ForEachVector(columns, body);
  for (int64_t c = 0; c < columns; c += lanes) body(Wide(), HWY_MIN(c, columns - lanes));
}

// Terms of many columns, which memory wants to be read in rows.
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

// ManyTerms::kColumns at most.
template <SumTerm kTerm, SumEnding kEnding, typename T>
void SumManyColumns(const T* x, int64_t rows, int64_t row_stride, int64_t columns, T* results,
                    uint8_t* in_doubt) {
  ManyTerms all(columns);
  ForEachFewRows(x, rows, row_stride, [&](const FewRows<T>& few, BlockPart) HWY_ATTR {
    NextRows<T> next(few, columns);
    ForEachVector(columns, [&](auto d, int64_t c) HWY_ATTR {
      next.Ask(static_cast<int64_t>(hn::Lanes(d)));
      auto terms = all.Load(d, c);
      terms.template Take<kTerm>(few.From(c));
      all.Store(d, terms, c);
    });
  });
  ForEachVector(columns, [&](auto d, int64_t c) HWY_ATTR {
    FinishColumns<kTerm, kEnding>(d, all.Load(d, c), FewRows<T>{x + c, rows, row_stride, 0, 0},
                                  results + c, in_doubt + c);
  });
}

// Columns in two neighbouring lines, few enough for all that is known of them to stay in registers
// while their rows are read, where there are 32.
template <typename T>
constexpr int64_t kStrip = 2 * kLine<T>;

// Asks for each row of a strip a little before it is read, in the next strips where rows end.
template <typename T>
class StripsAhead {
 public:
  HWY_INLINE StripsAhead(const T* x, int64_t rows, int64_t row_stride)
      : strip_(x + kAhead / rows * kStrip<T>),
        at_(strip_ + kAhead % rows * row_stride),
        rows_(rows),
        row_stride_(row_stride),
        left_(rows - kAhead % rows) {}

  // While a row is worked on.
  HWY_INLINE void Ask() {
    for (int64_t k = 0; k < kStrip<T>; k += kLine<T>) hwy::Prefetch(at_ + k);
    at_ += row_stride_;
    if (--left_ > 0) return;
    left_ = rows_;
    strip_ += kStrip<T>;
    at_ = strip_;
  }

 private:
  static constexpr int64_t kAhead = 32;  // rows

  const T* strip_;
  const T* at_;
  int64_t rows_, row_stride_;
  int64_t left_;  // rows of the strip
};

// Processors follow rows while they are not in too many pages. A few columns are mostly followed in
// memory by their next rows, which is not what strips ask for.
template <typename T>
HWY_INLINE bool AreForStrips(int64_t rows, int64_t columns) {
  constexpr int64_t kMaxRows = 64;
  return ReadsQuickestWhenAsked() && rows <= kMaxRows && columns >= 4 * kStrip<T>;
}

// Takes at least a vector's columns; the last vector may overlap the one before it.
template <SumTerm kTerm, SumEnding kEnding, typename T>
HWY_INLINE void SumStrips(const T* x, int64_t rows, int64_t row_stride, int64_t columns, T* results,
                          uint8_t* in_doubt) {
  const Wide d;
  constexpr int64_t kLanes = static_cast<int64_t>(hn::MaxLanes(Wide()));
  constexpr int64_t kVectors = kStrip<T> / kLanes;
  const auto finish = [&](const Terms<Wide>& terms, int64_t c) HWY_ATTR {
    FinishColumns<kTerm, kEnding>(d, terms, FewRows<T>{x + c, rows, row_stride, 0, 0}, results + c,
                                  in_doubt + c);
  };
  StripsAhead<T> ahead(x, rows, row_stride);
  int64_t c = 0;
  for (; c + kStrip<T> <= columns; c += kStrip<T>) {
    Terms<Wide> terms[kVectors];
    for (int64_t row = 0; row < rows; ++row) {
      ahead.Ask();
      const T* from = x + c + row * row_stride;
      for (int64_t v = 0; v < kVectors; ++v) terms[v].template Take<kTerm>(from + v * kLanes);
    }
    for (int64_t v = 0; v < kVectors; ++v) finish(terms[v], c + v * kLanes);
  }
  for (; c < columns; c += kLanes) {
    const int64_t first = HWY_MIN(c, columns - kLanes);
    Terms<Wide> terms;
    terms.template Take<kTerm>(FewRows<T>{x + first, rows, row_stride, 0, 0});
    finish(terms, first);
  }
}

// Asks for neighbours, wherever that leads.
template <typename T>
HWY_INLINE void AskFor(const T* x, int64_t count) {
  AskForLines(x, count * static_cast<int64_t>(sizeof(T)));
}

template <SumTerm kTerm, SumEnding kEnding, typename T>
void SumShortColumns(const T* x, int64_t rows, int64_t row_stride, int64_t columns, T* results,
                     uint8_t* in_doubt) {
  constexpr int64_t kFewElements = 1 << 12;
  if (columns * rows <= kFewElements || rows <= kFewRows) {
    // Rows that follow each other are mostly followed by those of other groups.
    const int64_t ahead = row_stride == columns ? rows : 0;
    return ForEachVectorOnce(columns, [&](auto d, int64_t c) HWY_ATTR {
      AskFor(x + rows * row_stride + c * ahead, ahead * static_cast<int64_t>(hn::Lanes(d)));
      const FewRows<T> all{x + c, rows, row_stride, 0, 0};
      Terms<decltype(d)> terms;
      terms.template Take<kTerm>(all);
      FinishColumns<kTerm, kEnding>(d, terms, all, results + c, in_doubt + c);
    });
  }
  if (AreForStrips<T>(rows, columns)) {
    return SumStrips<kTerm, kEnding>(x, rows, row_stride, columns, results, in_doubt);
  }
  for (int64_t c = 0; c < columns; c += ManyTerms::kColumns) {
    const int64_t some = HWY_MIN(columns - c, ManyTerms::kColumns);
    SumManyColumns<kTerm, kEnding>(x + c, rows, row_stride, some, results + c, in_doubt + c);
  }
}

#if HWY_TARGET == HWY_SCALAR
template <SumTerm kTerm, SumEnding kEnding, typename T>
void SumShortRows(const T* x, int64_t count, int64_t pitch, int64_t rows, T* results,
                  uint8_t* in_doubt) {
  for (int64_t row = 0; row < rows; ++row) {
    SumShortColumns<kTerm, kEnding>(x + row * pitch, count, 1, 1, results + row, in_doubt + row);
  }
}
#else

// Folds as many vectors as D has lanes, to one: lane i is what `fold` makes of the lanes of vector
// i. Overwrites the vectors.
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

// Of as many neighbours as two vectors hold.
template <SumTerm kTerm, bool kWithRange, class D, typename T>
HWY_INLINE hn::Vec<D> SumOfTwoVectors(D d, const T* x, Range<D>& range) {
  const hn::Rebind<float, D> floats;
  if constexpr (kWithRange) {
    range.Take(LoadFloats(floats, x));
    range.Take(LoadFloats(floats, x + hn::Lanes(d)));
  }
  const auto terms = TwoVectors<kTerm>::Term(x);
  return hn::Add(terms.low, terms.high);
}

// Whether rows are followed by others, so that whole vectors may be read.
enum class Rows { kFollowed, kLast };

// Of `count` neighbours; what is left of the last vector counts as terms that change nothing.
template <SumTerm kTerm, bool kWithRange, Rows kRows, class D, typename T>
HWY_INLINE hn::Vec<D> SumOfRow(D d, const T* x, int64_t count, Range<D>& range) {
  const hn::Rebind<float, D> floats;
  const int64_t lanes = static_cast<int64_t>(hn::Lanes(d));
  auto sum = hn::Set(d, -0.0);  // a sum of only -0 is -0
  int64_t i = 0;
  for (; i + 2 * lanes <= count; i += 2 * lanes) {
    sum = hn::Add(sum, SumOfTwoVectors<kTerm, kWithRange>(d, x + i, range));
  }
  for (; i < count; i += lanes) {
    auto value = kRows == Rows::kLast && i + lanes > count ? LoadRest(floats, x + i, count - i)
                                                           : LoadFloats(floats, x + i);
    if (i + lanes > count) {
      const auto mask = hn::FirstN(floats, static_cast<size_t>(count - i));
      value = hn::IfThenElse(mask, value, hn::Set(floats, -0.0f));
    }
    if constexpr (kWithRange) range.Take(value);
    sum = hn::Add(sum, WideTerm<kTerm>(d, value));
  }
  return sum;
}

// Of as many rows as there are lanes, by turns. Mostly as many follow.
template <SumTerm kTerm, bool kWithRange, Rows kRows, class D, typename T>
HWY_INLINE void SumRowsByTurns(D d, const T* x, int64_t count, int64_t pitch, Range<D>& range,
                               hn::Vec<D>* sums) {
  constexpr int64_t kLanes = static_cast<int64_t>(hn::MaxLanes(D()));
  const int64_t step = 2 * static_cast<int64_t>(hn::Lanes(d));
  const int64_t whole = count / kLine<T> * kLine<T>;
  StreamStarts<T> starts(FewRows<T>{x, kLanes, pitch, 0, kLanes, 1, x + kLanes * pitch}, count);
  for (int64_t row = 0; row < kLanes; ++row) sums[row] = hn::Set(d, -0.0);
  for (int64_t i = 0; i < whole; i += step) {
    if (i % kLine<T> == 0) starts.Ask();
    for (int64_t row = 0; row < kLanes; ++row) {
      const T* from = x + row * pitch + i;
      sums[row] = hn::Add(sums[row], SumOfTwoVectors<kTerm, kWithRange>(d, from, range));
    }
  }
  if (whole == count) return;
  for (int64_t row = 0; row < kLanes; ++row) {
    const T* from = x + row * pitch + whole;
    sums[row] =
        hn::Add(sums[row], SumOfRow<kTerm, kWithRange, kRows>(d, from, count - whole, range));
  }
}

// Of as many rows as there are lanes, each with a range of its own.
template <SumTerm kTerm, Rows kRows, class D, typename T>
HWY_NOINLINE void RangesOfRows(D d, const T* x, int64_t count, int64_t pitch, hn::Vec<D>& most,
                               hn::Vec<D>& least_power) {
  constexpr size_t kLanes = hn::MaxLanes(D());
  hn::Vec<D> all_most[kLanes], all_least[kLanes];
  for (size_t row = 0; row < kLanes; ++row) {
    Range<D> range;
    SumOfRow<kTerm, true, kRows>(d, x + static_cast<int64_t>(row) * pitch, count, range);
    all_most[row] = hn::PromoteTo(d, range.Most());
    all_least[row] = hn::PromoteTo(d, range.LeastPower());
  }
  using V = hn::Vec<D>;
  most = FoldLanes(d, all_most, [](V a, V b) HWY_ATTR { return hn::Max(a, b); });
  least_power = FoldLanes(d, all_least, [](V a, V b) HWY_ATTR { return hn::Min(a, b); });
}

// As many rows as there are lanes. Mostly one range for all of them shows that the sums are exact.
template <SumTerm kTerm, Rows kRows, class D, typename T>
HWY_INLINE SumAndError<D> SumOfRows(D d, const T* x, int64_t count, int64_t pitch, bool by_turns) {
  constexpr bool kWithRange = kMayBeExact<T, kTerm>;
  constexpr int64_t kLanes = static_cast<int64_t>(hn::MaxLanes(D()));
  hn::Vec<D> sums[kLanes];
  Range<D> range;
  if (by_turns) {
    SumRowsByTurns<kTerm, kWithRange, kRows>(d, x, count, pitch, range, sums);
  } else {
    for (int64_t row = 0; row < kLanes; ++row) {
      sums[row] = SumOfRow<kTerm, kWithRange, kRows>(d, x + row * pitch, count, range);
    }
  }
  using V = hn::Vec<D>;
  const V sum = FoldLanes(d, sums, [](V a, V b) HWY_ATTR { return hn::Add(a, b); });
  const int64_t depth = count / kLanes + 8;
  if constexpr (!kMayBeExact<T, kTerm>) return WithError<kTerm, T>(d, sum, sum, sum, count, depth);
  V most = hn::PromoteTo(d, range.MostOfLanes());
  V least_power = hn::MinOfLanes(d, hn::PromoteTo(d, range.LeastPower()));
  const auto all = WithError<kTerm, T>(d, sum, most, least_power, count, depth);
  if (hn::AllTrue(d, hn::Eq(all.error, hn::Zero(d)))) return all;
  RangesOfRows<kTerm, kRows>(d, x, count, pitch, most, least_power);
  return WithError<kTerm, T>(d, sum, most, least_power, count, depth);
}

template <SumTerm kTerm, class D, typename T>
HWY_NOINLINE SumAndError<D> SumOfLastRows(D d, const T* x, int64_t count, int64_t pitch,
                                          bool by_turns) {
  return SumOfRows<kTerm, Rows::kLast>(d, x, count, pitch, by_turns);
}

// The same as SettleDoubts for as many rows as there are lanes.
template <SumTerm kTerm, SumEnding kEnding, class D, typename T>
HWY_NOINLINE void SettleRows(D d, const T* x, int64_t count, int64_t pitch,
                             const RoundedVector<D>& rounded, T* results, uint8_t* in_doubt) {
  constexpr int64_t kLanes = static_cast<int64_t>(hn::MaxLanes(D()));
  HWY_ALIGN T columns[kMaxShortRow * kLanes];
  for (int64_t i = 0; i < count; ++i) {
    for (int64_t row = 0; row < kLanes; ++row) columns[i * kLanes + row] = x[row * pitch + i];
  }
  const FewRows<T> rows{columns, count, kLanes, 0, 0};
  Terms<D> terms;
  if constexpr (kNeedsTerms<T, kTerm>) terms.template Take<kTerm>(rows);
  SettleDoubts<kTerm, kEnding>(d, terms, rows, rounded, results, in_doubt);
}

template <SumTerm kTerm, SumEnding kEnding, typename T>
void SumShortRows(const T* x, int64_t count, int64_t pitch, int64_t rows, T* results,
                  uint8_t* in_doubt) {
  const Wide d;
  const int64_t lanes = static_cast<int64_t>(hn::Lanes(d));
  const int64_t excess = (lanes - count % lanes) % lanes;  // of the last vector
  const int64_t end = (rows - 1) * pitch + count;
  int64_t row = 0;
  // Between short rows so much is to be done that memory would wait.
  constexpr int64_t kBytesAhead = 1 << 13;
  constexpr int64_t kAskedBytes = 1 << 9;
  const int64_t bytes = count * static_cast<int64_t>(sizeof(T));
  const bool asks = pitch == count && bytes <= kAskedBytes;
  const bool by_turns = ReadsByTurns(lanes * bytes);  // together: mostly other rows follow
  for (; row + lanes <= rows; row += lanes) {
    const T* from = x + row * pitch;
    if (asks) AskFor(from + kBytesAhead / static_cast<int64_t>(sizeof(T)), lanes * count);
    const bool are_last = (row + lanes - 1) * pitch + count + excess > end;
    const auto sums = are_last ? SumOfLastRows<kTerm>(d, from, count, pitch, by_turns)
                               : SumOfRows<kTerm, Rows::kFollowed>(d, from, count, pitch, by_turns);
    const auto rounded = EndShort<kTerm, kEnding, T>(d, sums, count);
    if (HWY_LIKELY(hn::AllTrue(d, rounded.certain))) {
      StoreResults(d, rounded.value, results + row);
    } else {
      SettleRows<kTerm, kEnding>(d, from, count, pitch, rounded, results + row, in_doubt + row);
    }
  }
  for (; row < rows; ++row) {
    SumShortColumns<kTerm, kEnding>(x + row * pitch, count, 1, 1, results + row, in_doubt + row);
  }
}
#endif

template <SumTerm kTerm, SumEnding kEnding, typename T>
constexpr ShortSumKernels<T> kKernels{SumShortRows<kTerm, kEnding, T>,
                                      SumShortColumns<kTerm, kEnding, T>};

template <typename T>
ShortSumKernels<T> MakeKernels(SumTerm term, SumEnding ending) {
  if (ending == SumEnding::kSquareRoot) {
    return kKernels<SumTerm::kSquare, SumEnding::kSquareRoot, T>;
  }
  if (ending == SumEnding::kAverage) return kKernels<SumTerm::kItself, SumEnding::kAverage, T>;
  return VisitSumTerm(term, []<SumTerm kTerm>() { return kKernels<kTerm, SumEnding::kItself, T>; });
}

}  // namespace dmlop::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE

namespace dmlop {

template <typename T>
ShortSumKernels<T> ShortSumKernelsFor(SumTerm term, SumEnding ending) {
  constexpr IsaForms<ShortSumKernels<T>(SumTerm, SumEnding)> kForms =
      DMLOP_ISA_FORMS(MakeKernels<T>);
  return Choose(kForms)(term, ending);
}

template ShortSumKernels<float> ShortSumKernelsFor(SumTerm term, SumEnding ending);
template ShortSumKernels<Half> ShortSumKernelsFor(SumTerm term, SumEnding ending);

}  // namespace dmlop

#endif  // HWY_ONCE
