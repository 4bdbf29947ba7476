// SPDX-License-Identifier: Apache-2.0
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "core/kernels/element_wise/arithmetic.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "core/kernels/element_wise/row.h"
#include "core/kernels/element_wise/rows-inl.h"
#include "core/kernels/simd/dispatch.h"

HWY_BEFORE_NAMESPACE();
namespace dmlop::HWY_NAMESPACE {
namespace {

// The sum, difference, product or quotient of two FLOAT16 may be rounded to FLOAT32 first, which
// has more than twice their precision: rounding twice is then harmless.
struct AddOf {
  template <class D, class V>
  HWY_INLINE V operator()(D, const ElementParameters&, V a, V b) const {
    return hn::Add(a, b);
  }
};

struct SubtractOf {
  template <class D, class V>
  HWY_INLINE V operator()(D, const ElementParameters&, V a, V b) const {
    return hn::Sub(a, b);
  }
};

struct MultiplyOf {
  template <class D, class V>
  HWY_INLINE V operator()([[maybe_unused]] D d, const ElementParameters&, V a, V b) const {
#if HWY_TARGET == HWY_SCALAR
    if constexpr (std::is_same_v<hn::TFromD<D>, uint64_t>) return V(a.raw * b.raw);
#else
    if constexpr (std::is_same_v<hn::TFromD<D>, uint64_t>) {
      // The product of the high halves is a multiple of 2^64 and vanishes.
      const hn::Repartition<uint32_t, D> d32;
      const auto product = [=](V x, V y) HWY_ATTR {
        return hn::MulEven(hn::BitCast(d32, x), hn::BitCast(d32, y));
      };
      const V crossed =
          hn::Add(product(hn::ShiftRight<32>(a), b), product(a, hn::ShiftRight<32>(b)));
      return hn::Add(product(a, b), hn::ShiftLeft<32>(crossed));
    }
#endif
    if constexpr (!std::is_same_v<hn::TFromD<D>, uint64_t>) return hn::Mul(a, b);
  }
};

struct DivideOf {
  template <class D, class V>
  HWY_INLINE V operator()(D, const ElementParameters&, V a, V b) const {
    return hn::Div(a, b);
  }
};

// Computes (a + b) / 2, truncated, of 32-bit integers.
struct MeanOfIntegers {
  template <class D, class V>
  HWY_INLINE V operator()(D d, const ElementParameters&, V a, V b) const {
    const V sum = hn::Add(a, b);
    const hn::RebindToUnsigned<D> du;
    const V sign = hn::BitCast(d, hn::ShiftRight<63>(hn::BitCast(du, sum)));
    return hn::ShiftRight<1>(hn::Add(sum, sign));
  }
};

struct DifferenceSquareOfIntegers {
  template <class D, class V>
  HWY_INLINE V operator()(D, const ElementParameters&, V a, V b) const {
    const V difference = hn::Sub(a, b);
    return hn::Mul(difference, difference);
  }
};

struct LargerOf {
  template <class D, class V>
  HWY_INLINE V operator()(D d, const ElementParameters&, V a, V b) const {
    return MaxOf(d, a, b);
  }
};

struct SmallerOf {
  template <class D, class V>
  HWY_INLINE V operator()(D d, const ElementParameters&, V a, V b) const {
    return MinOf(d, a, b);
  }
};

// Computes start + place * delta modulo 2^64.
struct IntegerSequenceOf {
  template <class D, class V>
  HWY_INLINE V operator()(D d, const ElementParameters& parameters, V place) const {
    const V start = hn::Set(d, static_cast<uint64_t>(parameters.integers[0]));
    const V delta = hn::Set(d, static_cast<uint64_t>(parameters.integers[1]));
    return hn::Add(start, MultiplyOf()(d, parameters, place, delta));
  }
};

std::span<const ElementWiseRow> ArithmeticTable() {
  static constexpr ElementWiseRow kRows[] = {
      Row<AddOf, float, 2>(kAdd),
      HalfRow<AddOf, 2>(kAdd),
      Row<AddOf, uint8_t, 2>(kAdd, k8),
      Row<AddOf, uint16_t, 2>(kAdd, k16),
      Row<AddOf, uint32_t, 2>(kAdd, k32),
      Row<AddOf, uint64_t, 2>(kAdd, k64),
      Row<SubtractOf, float, 2>(kSubtract),
      HalfRow<SubtractOf, 2>(kSubtract),
      Row<SubtractOf, uint8_t, 2>(kSubtract, k8),
      Row<SubtractOf, uint16_t, 2>(kSubtract, k16),
      Row<SubtractOf, uint32_t, 2>(kSubtract, k32),
      Row<SubtractOf, uint64_t, 2>(kSubtract, k64),
      Row<MultiplyOf, float, 2>(kMultiply),
      HalfRow<MultiplyOf, 2>(kMultiply),
      Row<MultiplyOf, uint16_t, 2>(kMultiply, k8 | k16),
      Row<MultiplyOf, uint32_t, 2>(kMultiply, k32),
      Row<MultiplyOf, uint64_t, 2>(kMultiply, k64),
      Row<DivideOf, float, 2>(kDivide, kFloats),
      Row<MeanOfIntegers, int64_t, 2>(kMean, k32),
      Row<DifferenceSquareOfIntegers, uint32_t, 2>(kDifferenceSquare, k32),
      Row<LargerOf, float, 2>(kMax),
      HalfRow<LargerOf, 2>(kMax),
      Row<LargerOf, int8_t, 2>(kMax),
      Row<LargerOf, uint8_t, 2>(kMax),
      Row<LargerOf, int16_t, 2>(kMax),
      Row<LargerOf, uint16_t, 2>(kMax),
      Row<LargerOf, int32_t, 2>(kMax),
      Row<LargerOf, uint32_t, 2>(kMax),
      Row<LargerOf, int64_t, 2>(kMax),
      Row<LargerOf, uint64_t, 2>(kMax),
      Row<SmallerOf, float, 2>(kMin),
      HalfRow<SmallerOf, 2>(kMin),
      Row<SmallerOf, int8_t, 2>(kMin),
      Row<SmallerOf, uint8_t, 2>(kMin),
      Row<SmallerOf, int16_t, 2>(kMin),
      Row<SmallerOf, uint16_t, 2>(kMin),
      Row<SmallerOf, int32_t, 2>(kMin),
      Row<SmallerOf, uint32_t, 2>(kMin),
      Row<SmallerOf, int64_t, 2>(kMin),
      Row<SmallerOf, uint64_t, 2>(kMin),
      Row<IntegerSequenceOf, uint64_t, 1>(kSequence),
  };
  return kRows;
}

}  // namespace
}  // namespace dmlop::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace dmlop {

std::span<const ElementWiseRow> ArithmeticRows() {
  return DMLOP_CHOOSE(ArithmeticTable)();
}

}  // namespace dmlop
#endif
