// SPDX-License-Identifier: Apache-2.0
// Vectors of terms of sums, for kernel sources.
#if defined(DMLOP_KERNELS_SUM_MAPS_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef DMLOP_KERNELS_SUM_MAPS_INL_H_
#undef DMLOP_KERNELS_SUM_MAPS_INL_H_
#else
#define DMLOP_KERNELS_SUM_MAPS_INL_H_
#endif

#include <hwy/highway.h>

#include <type_traits>

#include "core/kernels/reduce/sum_map.h"
#include "core/kernels/simd/widen-inl.h"

HWY_BEFORE_NAMESPACE();
namespace dmlop::HWY_NAMESPACE {

template <SumMap kMap, class D>
HWY_INLINE hn::Vec<D> WideTerm(D d, hn::Vec<hn::Rebind<float, D>> x) {
  const auto wide = hn::PromoteTo(d, x);
  if constexpr (kMap == SumMap::kMagnitude) return hn::Abs(wide);
  if constexpr (kMap == SumMap::kSquare) return hn::Mul(wide, wide);
  return wide;
}

// Takes one vector of elements at a time.
template <SumMap kMap>
struct OneVector {
  using Sum = WideVec;

  template <typename T>
  static HWY_INLINE Sum Term(const T* x) {
    return WideTerm<kMap>(Wide(), LoadNarrow(x));
  }

  static HWY_INLINE Sum Add(const Sum& a, const Sum& b) { return hn::Add(a, b); }
};

// Takes two adjacent vectors of FLOAT64; a single vector of FLOAT32 holds both.
template <SumMap kMap>
struct TwoVectors {
  using Sum = WideFloats;

  static HWY_INLINE Sum Term(const float* x) {
    return {OneVector<kMap>::Term(x), OneVector<kMap>::Term(x + hn::Lanes(Wide()))};
  }
  static HWY_INLINE Sum Term(const Half* x) {
#if HWY_TARGET == HWY_SCALAR
    return {OneVector<kMap>::Term(x), OneVector<kMap>::Term(x + 1)};
#else
    FloatVec values = LoadFloats(Floats(), x);
    if constexpr (kMap == SumMap::kMagnitude) values = hn::Abs(values);
    if constexpr (kMap == SumMap::kSquare) values = hn::Mul(values, values);  // 22 bits, exact
    return WidenFloats(values);
#endif
  }

  static HWY_INLINE Sum Add(const Sum& a, const Sum& b) {
    return {hn::Add(a.low, b.low), hn::Add(a.high, b.high)};
  }
  static HWY_INLINE WideFloats Widen(const Sum& sum) {
    return sum;
  }
};

#if HWY_TARGET != HWY_SCALAR
// Squares of FLOAT16 are exact in binary32, and are added there.
struct TwoVectorsOfSquares {
  using Sum = FloatVec;

  static HWY_INLINE Sum Term(const Half* x) {
    const FloatVec values = LoadFloats(Floats(), x);
    return hn::Mul(values, values);
  }
  static HWY_INLINE Sum Add(Sum a, Sum b) { return hn::Add(a, b); }
  static HWY_INLINE WideFloats Widen(Sum sum) { return WidenFloats(sum); }
};
#endif

#if HWY_TARGET == HWY_SCALAR
template <SumMap kMap, typename T>
using VectorsOf = TwoVectors<kMap>;
#else
template <SumMap kMap, typename T>
using VectorsOf = std::conditional_t<kMap == SumMap::kSquare && std::is_same_v<T, Half>,
                                     TwoVectorsOfSquares, TwoVectors<kMap>>;
#endif

// Returns the sum of eight terms, `step` elements apart.
template <class Vectors, typename T>
HWY_INLINE typename Vectors::Sum SumOfEight(const T* x, int64_t step) {
  const auto a = Vectors::Add(Vectors::Term(x), Vectors::Term(x + step));
  const auto b = Vectors::Add(Vectors::Term(x + 2 * step), Vectors::Term(x + 3 * step));
  const auto c = Vectors::Add(Vectors::Term(x + 4 * step), Vectors::Term(x + 5 * step));
  const auto d = Vectors::Add(Vectors::Term(x + 6 * step), Vectors::Term(x + 7 * step));
  return Vectors::Add(Vectors::Add(a, b), Vectors::Add(c, d));
}

// Returns the same for adjacent elements.
template <class Vectors, typename T>
HWY_INLINE WideVec SumOfEight(const T* x) {
  const int64_t step = 2 * static_cast<int64_t>(hn::Lanes(Wide()));
  const auto a = Vectors::Add(Vectors::Term(x), Vectors::Term(x + step));
  const auto b = Vectors::Add(Vectors::Term(x + 2 * step), Vectors::Term(x + 3 * step));
  const WideFloats sum = Vectors::Widen(Vectors::Add(a, b));
  return hn::Add(sum.low, sum.high);
}

}  // namespace dmlop::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
