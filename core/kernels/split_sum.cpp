#include "core/kernels/split_sum.h"

// Compiled once per instruction set; see the Highway documentation on foreach_target.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "core/kernels/split_sum.cpp"
#include <hwy/foreach_target.h>
// Must come after foreach_target.h.
#include <hwy/highway.h>

#include <algorithm>
#include <bit>
#include <cmath>

#include "core/kernels/dispatch.h"
#include "core/kernels/widen-inl.h"

HWY_BEFORE_NAMESPACE();
namespace dmlop::HWY_NAMESPACE {

// A row is worked on in whole vectors, the last of which is filled up with zeros.
template <typename Body, typename T>
HWY_INLINE void ForEachVector(const T* x, int64_t count, Body&& body) {
  const int64_t lanes = static_cast<int64_t>(hn::Lanes(Wide()));
  int64_t i = 0;
  for (; i + lanes <= count; i += lanes) body(i, LoadNarrow(x + i));
  if (i == count) return;
  T rest[hn::MaxLanes(Wide())] = {};
  std::copy(x + i, x + count, rest);
  body(i, LoadNarrow(rest));
}

// The least power of two that is at least kMaxCount * max.
HWY_INLINE double Sigma(double max) {
  int exponent = 0;
  std::frexp(max, &exponent);
  return std::ldexp(static_cast<double>(SplitSum::kMaxCount), exponent);
}

// The largest |x|, or what an infinity or NaN makes of it.
template <typename T>
HWY_INLINE uint32_t PeakOf(const T* x, int64_t count) {
  const NarrowBits bits;
  BitsVec peak = hn::Zero(bits);
  ForEachVector(x, count, [&](int64_t, NarrowVec values) HWY_ATTR {
    peak = hn::Max(peak, hn::BitCast(bits, hn::Abs(values)));
  });
  return hn::GetLane(hn::MaxOfLanes(bits, peak));
}

// One vector of terms at a time: the split-off parts and the largest rest.
struct Splitter {
  WideVec sigma, sum, largest;

  HWY_INLINE WideVec Split(WideVec term) {
    const WideVec part = hn::Sub(hn::Add(sigma, term), sigma);
    const WideVec rest = hn::Sub(term, part);
    sum = hn::Add(sum, part);
    largest = hn::Max(largest, hn::Abs(rest));
    return rest;
  }
};

HWY_INLINE Splitter SplitterFor(double max) {
  const Wide d;
  return {hn::Set(d, Sigma(max)), hn::Zero(d), hn::Zero(d)};
}

// Closes a part; returns the largest rest.
HWY_INLINE double Close(const Splitter& splitter, SplitSum& sum) {
  sum.parts[sum.part_count++] = hn::GetLane(hn::SumOfLanes(Wide(), splitter.sum));
  return hn::GetLane(hn::MaxOfLanes(Wide(), splitter.largest));
}

template <SumTerm kTerm>
HWY_INLINE WideVec TermOf(NarrowVec x) {
  const WideVec wide = hn::PromoteTo(Wide(), x);
  if constexpr (kTerm == SumTerm::kMagnitude) return hn::Abs(wide);
  if constexpr (kTerm == SumTerm::kSquare) return hn::Mul(wide, wide);
  return wide;
}

template <SumTerm kTerm, typename T>
void SplitRow(const T* x, int64_t count, SplitSum& sum) {
  const Wide d;
  const int64_t lanes = static_cast<int64_t>(hn::Lanes(d));
  sum.part_count = 0;
  sum.peak = PeakOf(x, count);
  const double peak = static_cast<double>(std::bit_cast<float>(sum.peak));
  if (!std::isfinite(peak) || peak == 0) return;

  HWY_ALIGN double rests[SplitSum::kMaxCount];
  Splitter first = SplitterFor(kTerm == SumTerm::kSquare ? peak * peak : peak);
  ForEachVector(x, count, [&](int64_t i, NarrowVec values) HWY_ATTR {
    hn::Store(first.Split(TermOf<kTerm>(values)), d, rests + i);
  });
  double max = Close(first, sum);
  while (max != 0) {
    Splitter next = SplitterFor(max);
    for (int64_t i = 0; i < count; i += lanes) {
      hn::Store(next.Split(hn::Load(d, rests + i)), d, rests + i);
    }
    max = Close(next, sum);
  }
}

template <typename T>
SplitSumFunction<T> ChooseTerm(SumTerm term) {
  switch (term) {
    case SumTerm::kItself:
      return SplitRow<SumTerm::kItself, T>;
    case SumTerm::kMagnitude:
      return SplitRow<SumTerm::kMagnitude, T>;
    case SumTerm::kSquare:
      return SplitRow<SumTerm::kSquare, T>;
  }
  return nullptr;
}

}  // namespace dmlop::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE

namespace dmlop {

template <typename T>
SplitSumFunction<T> SplitSumFor(SumTerm term) {
  constexpr IsaForms<SplitSumFunction<T>(SumTerm)> kForms = DMLOP_ISA_FORMS(ChooseTerm<T>);
  return Choose(kForms)(term);
}

template SplitSumFunction<float> SplitSumFor(SumTerm term);
template SplitSumFunction<Half> SplitSumFor(SumTerm term);

}  // namespace dmlop

#endif  // HWY_ONCE
