// Sums of a few rows that are exact in two vectors of binary64, and results that are rounded once,
// for kernel sources: included once for each instruction set, hence the unusual guard.
#if defined(DMLOP_KERNELS_EXACT_COLUMNS_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef DMLOP_KERNELS_EXACT_COLUMNS_INL_H_
#undef DMLOP_KERNELS_EXACT_COLUMNS_INL_H_
#else
#define DMLOP_KERNELS_EXACT_COLUMNS_INL_H_
#endif

#include <hwy/highway.h>

#include <cstdint>
#include <type_traits>

#include "core/kernels/accumulator-inl.h"
#include "core/kernels/bin_vectors-inl.h"
#include "core/kernels/columns-inl.h"
#include "core/kernels/end_sums-inl.h"
#include "core/kernels/round_results-inl.h"
#include "core/kernels/short_sum.h"
#include "core/kernels/sum_terms-inl.h"

HWY_BEFORE_NAMESPACE();
namespace dmlop::HWY_NAMESPACE {

// Sums in three parts: each is at most half a unit in the last place of the one before it. The last
// one may be off.
template <class D>
struct ThreeVectorSum {
  hn::Vec<D> head, tail, rest;
  hn::Vec<D> error;
};

// Of terms that do not cancel each other. What neither head nor tail can hold is so small that
// binary64 is good enough for it.
template <SumTerm kTerm, class D, typename T>
HWY_INLINE ThreeVectorSum<D> SumInThreeParts(D d, const FewRows<T>& rows) {
  const auto zero = hn::Zero(d);
  TwoVectorSum<D> sum{zero, zero};
  auto rest = zero;
  auto rests = zero;  // their magnitudes
  for (int64_t row = 0; row < rows.count; ++row) {
    const auto value = LoadFloats(hn::Rebind<float, D>(), rows.first + row * rows.stride);
    const auto head = AddExactly(d, sum.head, WideTerm<kTerm>(d, value));
    const auto tail = AddExactly(d, sum.tail, head.tail);
    sum = {head.head, tail.head};
    rest = hn::Add(rest, tail.tail);
    rests = hn::Add(rests, hn::Abs(tail.tail));
  }
  const auto low = AddExactly(d, sum.tail, rest);
  const auto high = AddExactly(d, sum.head, low.head);
  const auto middle = AddExactly(d, high.tail, low.tail);
  const auto bound = hn::Set(d, static_cast<double>(rows.count) * 0x1p-52);
  return {high.head, middle.head, middle.tail, hn::Mul(rests, bound)};
}

// Of any terms.
template <SumTerm kTerm, class D, typename T>
HWY_INLINE ThreeVectorSum<D> SumInBins(D d, const FewRows<T>& rows) {
  using Bins = SumBins<T, kTerm>;
  static_assert(kMaxShortRow <= Bins::kMaxCount);
  const hn::Rebind<float, D> floats;
  auto magnitudes = Magnitudes<decltype(floats)>::OfNothing();
  for (int64_t row = 0; row < rows.count; ++row) {
    magnitudes.Take(LoadFloats(floats, rows.first + row * rows.stride));
  }
  HWY_ALIGN double memory[Bins::kCount * hn::MaxLanes(D())] = {};
  const BinnedSums sums{memory, static_cast<int64_t>(hn::MaxLanes(d))};
  AddToSpan<Bins>(d, SpanOf<Bins>(magnitudes), rows.count, sums, [&](int64_t row) HWY_ATTR {
    return WideTerm<kTerm>(d, LoadFloats(floats, rows.first + row * rows.stride));
  });
  auto total = BinVectors<Bins, D>::Load(sums);
  total.CarryOver();
  // Twice from the last bin up, which leaves behind what the sum of those so far cannot hold.
  const auto sum_up = [&](int last) HWY_ATTR {
    auto sum = total.bins[Bins::kCount - 1];
    for (int b = Bins::kCount - 2; b >= last; --b) {
      const auto next = AddExactly(d, total.bins[b], sum);
      sum = next.head;
      total.bins[b + 1] = next.tail;
    }
    return sum;
  };
  const auto head = sum_up(0);
  const auto tail = sum_up(1);
  auto rest = total.bins[Bins::kCount - 1];
  for (int b = Bins::kCount - 2; b >= 2; --b) rest = hn::Add(total.bins[b], rest);
  return {head, tail, rest, hn::Zero(d)};
}

// A value that rounds as another does, unless an error leaves that open.
template <class D>
struct Place {
  hn::Vec<D> value;
  hn::Mask<D> certain;
};

// Of the function's value of a sum, as far as rounding to T goes. A multiple of half a unit of T in
// the last place, the one nearest to the value, has few bits: the sum that it belongs to is exact,
// and so is the sign of the difference to the sum that there is.
template <SumEnding kEnding, typename T, class D>
HWY_INLINE Place<D> PlaceOf(D d, const ThreeVectorSum<D>& sum, int64_t count) {
  constexpr bool kIsFloat = std::is_same_v<T, float>;
  const hn::RebindToSigned<D> bits;
  const auto value = ValueOf<kEnding>(d, sum.head, count);
  const auto step =
      RoundMagnitude(d, hn::Abs(value), kIsFloat ? 25 : 12, kIsFloat ? 0x1p-126 : 0x1p-14);
  const auto back = SumFor<kEnding>(d, hn::CopySignToAbs(step, value), count);
  const auto difference = hn::Add(hn::Add(hn::Sub(sum.head, back), sum.tail), sum.rest);
  // One unit of binary64 in the last place up or down, if any.
  const auto away = hn::Xor(hn::BitCast(bits, difference), hn::BitCast(bits, value));
  const auto unit = hn::Or(hn::BroadcastSignBit(away), hn::Set(bits, 1));
  const auto is_step = hn::RebindMask(bits, hn::Eq(difference, hn::Zero(d)));
  const auto place = hn::Add(hn::BitCast(bits, step), hn::IfThenZeroElse(is_step, unit));
  const auto is_tiny = hn::Eq(step, hn::Zero(d));
  const auto is_exact = hn::Eq(sum.error, hn::Zero(d));
  return {hn::IfThenElse(is_tiny, value, hn::CopySignToAbs(hn::BitCast(d, place), value)),
          hn::Or(is_exact, hn::Gt(hn::Abs(difference), sum.error))};
}

// Gives the results of groups in doubt, which are columns, as far as that can be done by vectors.
template <SumTerm kTerm, SumEnding kEnding, class D, typename T>
HWY_NOINLINE void SettleDoubts(D d, const FewRows<T>& rows, T* results, uint8_t* in_doubt) {
  constexpr size_t kLanes = hn::MaxLanes(D());
  constexpr bool kMayCancel = kTerm == SumTerm::kItself;
  const auto sum = kMayCancel ? SumInBins<kTerm>(d, rows) : SumInThreeParts<kTerm>(d, rows);
  const auto place = PlaceOf<kEnding, T>(d, sum, rows.count);
  HWY_ALIGN T settled[kLanes];
  HWY_ALIGN double certain[kLanes];
  StoreResults(d, RoundTo<T>(d, place.value), settled);
  hn::Store(hn::IfThenElseZero(place.certain, hn::Set(d, 1.0)), d, certain);
  for (size_t i = 0; i < hn::Lanes(d); ++i) {
    if (in_doubt[i] == 0 || certain[i] == 0) continue;
    results[i] = settled[i];
    in_doubt[i] = 0;
  }
}

}  // namespace dmlop::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
