// SPDX-License-Identifier: Apache-2.0
#include "core/kernels/weighted/weighted_row.h"

// Highway's assertions would call its library, which nothing else needs.
#define HWY_IS_DEBUG_BUILD 0

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "core/kernels/weighted/weighted_row.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <type_traits>

#include "core/kernels/reduce/finalize_sums-inl.h"
#include "core/kernels/reduce/magnitudes-inl.h"
#include "core/kernels/simd/dispatch.h"
#include "core/kernels/window/stepped-inl.h"

HWY_BEFORE_NAMESPACE();
namespace dmlop::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

// Bounds what may be lost to underflow in binary64.
constexpr double kTiny = 0x1p-900;

template <class D, typename T>
HWY_INLINE hn::Vec<D> LoadAsFloats(D d, const T* x) {
  if constexpr (std::is_integral_v<T>) {
    HWY_ALIGN float lanes[hn::MaxLanes(D())];
    for (size_t i = 0; i < hn::Lanes(d); ++i) lanes[i] = static_cast<float>(x[i]);
    return hn::Load(d, lanes);
  } else {
    return LoadFloats(d, x);
  }
}

// The magnitudes of elements that were seen by vectors and one by one.
struct SeenElements {
  using One = hn::CappedTag<float, 1>;

  // An implicit constructor would not be compiled for the instruction set.
  HWY_INLINE SeenElements() : ones(), many() {}

  template <class D>
  HWY_INLINE auto& Of(D) {
    if constexpr (hn::MaxLanes(D()) == 1) {
      return ones;
    } else {
      return many;
    }
  }

  HWY_INLINE float Most() const {
    return std::bit_cast<float>(HWY_MAX(ones.MostBits(), many.MostBits()));
  }
  // See Magnitudes::LeastPower.
  HWY_INLINE float LeastPower() const {
    const uint32_t least = HWY_MIN(ones.LeastBits() - 1, many.LeastBits() - 1) + 1;
    return std::bit_cast<float>(least & 0x7F800000u);
  }

  Magnitudes<One> ones;
  Magnitudes<Floats> many;
};

// Takes vectors of twice as many lanes as those of sums.
template <typename T>
HWY_INLINE void SeeElements(const WeightedRow<T>& row, SeenElements& seen) {
  for (const AdjacentColumns& run : row.runs) {
    for (const WeightedTap& tap : row.outer) {
      const T* const x = row.x + run.offset + tap.offset;
      ForEachWindowVector(Floats(), run.count, [&](auto d, int64_t first) HWY_ATTR {
        seen.Of(d).Take(LoadAsFloats(d, x + first));
      });
    }
  }
}

// Loads as many elements as D has lanes, and widens them.
template <class D, typename T>
HWY_INLINE hn::Vec<D> LoadToSum(D d, const T* x) {
  return hn::PromoteTo(d, LoadAsFloats(hn::Rebind<float, D>(), x));
}

// Sums the outer taps in each column of a run.
template <typename T>
HWY_INLINE void SumColumns(const WeightedRow<T>& row, const AdjacentColumns& run, double* sums) {
  ForEachWindowVector(Wide(), run.count, [&](auto d, int64_t first) HWY_ATTR {
    const T* const x = row.x + run.offset + first;
    auto sum = hn::Set(d, -0.0);
    for (const WeightedTap& tap : row.outer) {
      sum = hn::MulAdd(LoadToSum(d, x + tap.offset), hn::Set(d, tap.part), sum);
    }
    hn::StoreU(sum, d, sums + first);
  });
}

// Does the same for two taps, those of linear interpolation.
template <typename T>
HWY_INLINE void SumColumnsOfTwo(const T* x, const WeightedTap* taps, int64_t count, double* sums) {
  const WeightedTap one = taps[0];  // which no store can change
  const WeightedTap other = taps[1];
  ForEachWindowVector(Wide(), count, [=](auto d, int64_t first) HWY_ATTR {
    const auto product = hn::Mul(LoadToSum(d, x + one.offset + first), hn::Set(d, one.part));
    const auto value = LoadToSum(d, x + other.offset + first);
    hn::StoreU(hn::MulAdd(value, hn::Set(d, other.part), product), d, sums + first);
  });
}

template <typename T>
HWY_INLINE void SumRuns(const WeightedRow<T>& row) {
  double* sums = row.scratch;
  for (const AdjacentColumns& run : row.runs) {
    if (!std::is_integral_v<T> && row.outer.size() == 2) {
      SumColumnsOfTwo(row.x + run.offset, row.outer.data(), run.count, sums);
    } else {
      SumColumns(row, run, sums);
    }
    sums += run.count;
  }
  sums[0] = 0.0;
}

// Returns the error bound of each sum; infinite if an element is not finite.
template <typename T>
HWY_INLINE double ErrorOf(const WeightedRow<T>& row, const SeenElements& seen) {
  const double most = static_cast<double>(seen.Most());
  if (!std::isfinite(most)) return INFINITY;
  if (most == 0) return 0;
  if (most <= static_cast<double>(seen.LeastPower()) * row.exact_range) return 0;
  return most * row.most_sum * row.relative_error + kTiny;
}

// Divides sums by their total weights. An error of 0 means that the quotient rounds as the exact
// one does.
template <class D, typename T>
HWY_INLINE SumAndError<D> Quotients(D d, const WeightedRow<T>& row, hn::Vec<D> sum, double error,
                                    int64_t first) {
  const auto whole = hn::Mul(hn::LoadU(d, row.wholes + first), hn::Set(d, row.whole));
  const auto value = hn::Div(sum, whole);
  const auto room = hn::Mul(hn::Abs(value), hn::Set(d, 0x1p-50));
  if (error != 0) return {value, hn::Add(room, hn::Div(hn::Set(d, error), whole))};
  // A quotient halfway between two results has few bits, so multiplying back is exact.
  return {value, hn::IfThenZeroElse(hn::Eq(hn::Mul(value, whole), sum), room)};
}

// Converting a value outside of the integer's range would be undefined.
template <typename T, class D>
HWY_INLINE hn::Vec<D> ClampToRange(D d, hn::Vec<D> value) {
  static_assert(sizeof(T) <= 4, "the bounds are exact in FLOAT64");
  const auto least = hn::Set(d, static_cast<double>(std::numeric_limits<T>::min()));
  const auto most = hn::Set(d, static_cast<double>(std::numeric_limits<T>::max()));
  return hn::Min(hn::Max(value, least), most);
}

// Stores a finite value.
template <class D, typename T>
HWY_INLINE void StoreExact(D d, hn::Vec<D> value, T* results) {
  if constexpr (std::is_same_v<T, float>) {
    hn::StoreU(ToFloats(d, value), hn::Rebind<float, D>(), results);
  } else if constexpr (!std::is_integral_v<T>) {
    StoreRoundedOnce(d, value, results);
  } else {
    HWY_ALIGN double lanes[hn::MaxLanes(D())];
    hn::Store(hn::Trunc(ClampToRange<T>(d, value)), d, lanes);
    for (size_t i = 0; i < hn::Lanes(d); ++i) results[i] = static_cast<T>(lanes[i]);
  }
}

// Returns whether all results could be resolved.
template <class D, typename T>
HWY_INLINE bool RoundAndStore(D d, const SumAndError<D>& quotient, T* results,
                              uint8_t* unresolved) {
  if constexpr (!std::is_integral_v<T>) {
    const auto rounded = RoundVector<T>(d, quotient);
    StoreRounded(d, rounded, results, unresolved);
    return hn::AllTrue(d, rounded.certain);
  } else {
    HWY_ALIGN double least[hn::MaxLanes(D())];
    HWY_ALIGN double most[hn::MaxLanes(D())];
    hn::Store(hn::Trunc(hn::Sub(quotient.sum, quotient.error)), d, least);
    hn::Store(hn::Trunc(hn::Add(quotient.sum, quotient.error)), d, most);
    StoreExact(d, quotient.sum, results);
    bool are_certain = true;
    for (size_t i = 0; i < hn::Lanes(d); ++i) {
      unresolved[i] = least[i] != most[i];
      are_certain &= unresolved[i] == 0;
    }
    return are_certain;
  }
}

// Looks up in two vectors at once.
template <class D>
HWY_INLINE hn::Vec<D> LookUp(D d, const double* numbers, hn::Vec<hn::Rebind<int64_t, D>> lane) {
#if HWY_TARGET == HWY_AVX3
  if constexpr (hn::MaxLanes(D()) == 8) {
    const auto high = hn::LoadU(d, numbers + 8);
    return hn::Vec<D>{_mm512_permutex2var_pd(hn::LoadU(d, numbers).raw, lane.raw, high.raw)};
  }
#endif
  const hn::Rebind<int64_t, D> whole;
  const int64_t lanes = static_cast<int64_t>(hn::Lanes(d));
  const auto index = hn::IndicesFromVec(d, hn::And(lane, hn::Set(whole, lanes - 1)));
  const auto low = hn::TableLookupLanes(hn::LoadU(d, numbers), index);
  const auto high = hn::TableLookupLanes(hn::LoadU(d, numbers + lanes), index);
  return hn::IfThenElse(hn::RebindMask(d, hn::Lt(lane, hn::Set(whole, lanes))), low, high);
}

// Gathers the columns at as many places as D has lanes; those that are near lie in two vectors.
template <class D>
HWY_INLINE hn::Vec<D> ColumnsAt(D d, const double* columns, const int32_t* places, bool are_near) {
  const hn::Rebind<int64_t, D> whole;
  const hn::Rebind<int32_t, D> half;
  const auto place = hn::LoadU(half, places);
  if constexpr (hn::MaxLanes(D()) > 1) {
    if (are_near) {
      const auto lane = hn::Sub(place, hn::Set(half, places[0]));
      return LookUp(d, columns + places[0], hn::PromoteTo(whole, lane));
    }
  }
  return hn::GatherIndex(d, columns, hn::PromoteTo(whole, place));
}

// Returns a number that rounds to T as the quotient of an exact sum does, without a division, which
// takes far longer.
//
// Four roundings leave the product with the inverse within 2^-50 of the quotient. Rounded to 28
// bits, it is a guess whose product with the whole, of up to 25 bits, is exact, as is the
// difference from the sum; so the result is the quotient rounded to FLOAT64. The middle between two
// results has at most 25 bits. The sum is less than 2^51 of its units, so the whole times that
// middle differs from the sum by 2^-51 of it or more, or not at all: no quotient is rounded to a
// middle but one that lies there.
template <class D, typename T>
HWY_INLINE hn::Vec<D> ExactQuotient(D d, const WeightedRow<T>& row, hn::Vec<D> sum, int64_t first) {
  constexpr uint64_t kUnit = uint64_t{1} << 25;
  const hn::RebindToUnsigned<D> bits;
  const auto whole = hn::Mul(hn::LoadU(d, row.wholes + first), hn::Set(d, row.whole));
  const auto inverse = hn::Mul(hn::LoadU(d, row.inverses + first), hn::Set(d, row.inverse));
  const auto close = hn::BitCast(bits, hn::Mul(sum, inverse));
  const auto rounded =
      hn::And(hn::Add(close, hn::Set(bits, kUnit / 2)), hn::Set(bits, ~(kUnit - 1)));
  const auto guess = hn::BitCast(d, rounded);
  // In this order, a zero keeps its sign.
  return hn::Sub(guess, hn::Mul(hn::Sub(hn::Mul(guess, whole), sum), inverse));
}

template <class D, typename T>
HWY_INLINE hn::Vec<D> SumOfColumns(D d, const WeightedRow<T>& row, int64_t first) {
  auto sum = hn::Set(d, -0.0);
  for (int64_t t = 0; t < row.taps; ++t) {
    const int64_t at = t * row.pitch + first;
    const auto column = ColumnsAt(d, row.scratch, row.places + at, row.are_near[t] != 0);
    sum = hn::MulAdd(column, hn::LoadU(d, row.parts + at), sum);
  }
  return sum;
}

// Stores results from their sums. Returns whether all could be resolved. An error of 0 means that
// the sums are exact.
template <class D, typename T>
HWY_INLINE bool EndColumns(D d, const WeightedRow<T>& row, hn::Vec<D> sum, double error,
                           int64_t first, T* results, uint8_t* unresolved) {
  if (!row.divides) return RoundAndStore<D>(d, {sum, hn::Set(d, error)}, results, unresolved);
  if constexpr (!std::is_integral_v<T>) {
    if (error == 0) {
      StoreExact(d, ExactQuotient(d, row, sum, first), results);
      return true;
    }
  }
  return RoundAndStore(d, Quotients(d, row, sum, error, first), results, unresolved);
}

// Computes some results. Returns whether any is unresolved.
template <typename T>
HWY_NOINLINE bool EndSome(const WeightedRow<T>& shared, dmlop::Range some, double error, T* results,
                          uint8_t* unresolved) {
  const WeightedRow<T> row = shared;  // which no store can change
  const bool is_exact = error == 0 && !row.divides;
  bool are_certain = true;
  ForEachWindowVector(Wide(), some.count(), [&](auto d, int64_t i) HWY_ATTR {
    const int64_t first = some.begin + i;
    const auto sum = SumOfColumns(d, row, first);
    if (is_exact) return StoreExact(d, sum, results + first);
    are_certain &= EndColumns(d, row, sum, error, first, results + first, unresolved + first);
  });
  return !are_certain;
}

// Sums two taps of adjacent columns, whose places follow a pattern.
template <TapPattern kPattern, typename T>
HWY_INLINE WideVec SumOfTwo(const WeightedRow<T>& row, int64_t first) {
  const Wide d;
  const int32_t* const places = row.places + first;
  const double* const columns = row.scratch + places[0];
  WideVec one, other;
  if constexpr (kPattern == TapPattern::kPairs) {
    hn::LoadInterleaved2(d, columns, one, other);
  } else {
    const hn::Rebind<int32_t, Wide> half;
    const auto lane = hn::Sub(hn::LoadU(half, places), hn::Set(half, places[0]));
    // No place is beyond the lanes of a vector, as the mask tells a checked build.
    const hn::Rebind<int64_t, Wide> whole;
    const auto last = hn::Set(whole, static_cast<int64_t>(hn::Lanes(d)) - 1);
    const auto index = hn::IndicesFromVec(d, hn::And(hn::PromoteTo(whole, lane), last));
    one = hn::TableLookupLanes(hn::LoadU(d, columns), index);
    other = hn::TableLookupLanes(hn::LoadU(d, columns + 1), index);
  }
  const auto product = hn::Mul(one, hn::LoadU(d, row.parts + first));
  return hn::MulAdd(other, hn::LoadU(d, row.parts + row.pitch + first), product);
}

// Calls end(first, sums) for vectors of all results that follow the pattern, a vector or more.
template <TapPattern kPattern, typename T, typename Function>
HWY_INLINE void ForPatterned(const WeightedRow<T>& row, Function&& end) {
  const int64_t lanes = static_cast<int64_t>(hn::Lanes(Wide()));
  for (int64_t i = row.patterned.begin; i < row.patterned.end; i += lanes) {
    const int64_t first = HWY_MIN(i, row.patterned.end - lanes);
    end(first, SumOfTwo<kPattern>(row, first));
  }
}

// Ends all results that follow the pattern. Sums are exact.
template <typename T>
HWY_INLINE void EndPatterned(const WeightedRow<T>& row, T* results) {
  const auto store = [&](int64_t first, WideVec sum)
                         HWY_ATTR { StoreExact(Wide(), sum, results + first); };
  if (row.pattern == TapPattern::kPairs) return ForPatterned<TapPattern::kPairs>(row, store);
  if (!row.divides) return ForPatterned<TapPattern::kNeighbours>(row, store);
  ForPatterned<TapPattern::kNeighbours>(row, [&](int64_t first, WideVec sum) HWY_ATTR {
    StoreExact(Wide(), ExactQuotient(Wide(), row, sum, first), results + first);
  });
}

template <typename T>
bool SumRow(const WeightedRow<T>& shared, T* results, uint8_t* unresolved) {
  const WeightedRow<T> row = shared;  // which no store can change
  SeenElements seen;
  SeeElements(row, seen);
  const double error = ErrorOf(row, seen);
  if (std::isinf(error)) {
    std::fill_n(unresolved, row.count, uint8_t{1});
    return true;
  }
  SumRuns(row);
  if constexpr (!std::is_integral_v<T> && hn::MaxLanes(Wide()) > 1) {
    const bool is_pattern = row.pattern == TapPattern::kNeighbours ||
                            (row.pattern == TapPattern::kPairs && !row.divides);
    if (error == 0 && is_pattern && row.patterned.count() >= int64_t{hn::MaxLanes(Wide())}) {
      EndPatterned(row, results);
      const dmlop::Range before{0, row.patterned.begin};
      const dmlop::Range after{row.patterned.end, row.count};
      if (before.count() > 0) EndSome(shared, before, error, results, unresolved);
      if (after.count() > 0) EndSome(shared, after, error, results, unresolved);
      return false;
    }
  }
  return EndSome(shared, {0, row.count}, error, results, unresolved);
}

}  // namespace dmlop::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace dmlop {

template <typename T>
WeightedRowKernel<T>* WeightedRowKernelFor() {
  static constexpr IsaForms<WeightedRowKernel<T>> kForms = DMLOP_ISA_FORMS(SumRow<T>);
  return Choose(kForms);
}

template WeightedRowKernel<float>* WeightedRowKernelFor();
template WeightedRowKernel<Half>* WeightedRowKernelFor();
template WeightedRowKernel<int8_t>* WeightedRowKernelFor();
template WeightedRowKernel<uint8_t>* WeightedRowKernelFor();

}  // namespace dmlop
#endif
