// SPDX-License-Identifier: Apache-2.0
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "core/kernels/element_wise/division.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include <cmath>

#include "core/kernels/element_wise/row.h"
#include "core/kernels/element_wise/rows-inl.h"
#include "core/kernels/simd/dispatch.h"

HWY_BEFORE_NAMESPACE();
namespace dmlop::HWY_NAMESPACE {
namespace {

// Integers narrower than 32 bits are computed as INT32, which holds their quotients.
constexpr DataTypeSet kUpToInt32 = {kInt8, kUint8, kInt16, kUint16, kInt32};

// Computes F()(a, b) unless the divisor is 0, for which all bits of the result are set, or -1.
template <class F, typename T>
HWY_INLINE T Guarded(T a, T b, T by_minus_one) {
  if (b == 0) return static_cast<T>(~T{0});
  if (std::is_signed_v<T> && b == static_cast<T>(-1)) return by_minus_one;
  return F::Compute(a, b);
}

struct QuotientOf {
  template <typename T>
  static T Compute(T a, T b) {
    return a / b;
  }
  template <typename T>
  HWY_INLINE T operator()(T a, T b) const {
    return Guarded<QuotientOf>(a, b, static_cast<T>(0 - static_cast<std::make_unsigned_t<T>>(a)));
  }
};

struct TruncatedRemainderOf {
  template <typename T>
  static T Compute(T a, T b) {
    return a % b;
  }
  template <typename T>
  HWY_INLINE T operator()(T a, T b) const {
    return Guarded<TruncatedRemainderOf>(a, b, T{0});
  }
  HWY_INLINE float operator()(float a, float b) const { return std::fmod(a, b); }
};

// The remainder has the sign of the divisor, as in Python.
struct FlooredRemainderOf {
  template <typename T>
  static T Compute(T a, T b) {
    const T rest = a % b;
    return rest != 0 && (rest < 0) != (b < 0) ? rest + b : rest;
  }
  template <typename T>
  HWY_INLINE T operator()(T a, T b) const {
    return Guarded<FlooredRemainderOf>(a, b, T{0});
  }
  HWY_INLINE float operator()(float a, float b) const {
    const float rest = std::fmod(a, b);
    if (rest == 0) return std::copysign(0.0f, b);
    return std::signbit(rest) != std::signbit(b) ? rest + b : rest;
  }
};

template <class F, typename T>
constexpr ElementWiseRow ElementRow(ElementWiseFunction function, DataTypeSet types) {
  constexpr DataType kType = kDataTypeOf<T>;
  return {function, types, {kType, kType}, kType, ComputeElementRow<F, T>};
}

std::span<const ElementWiseRow> DivisionTable() {
  static constexpr ElementWiseRow kRows[] = {
      ElementRow<QuotientOf, int32_t>(kDivide, kUpToInt32),
      ElementRow<QuotientOf, uint32_t>(kDivide, {kUint32}),
      ElementRow<QuotientOf, int64_t>(kDivide, {kInt64}),
      ElementRow<QuotientOf, uint64_t>(kDivide, {kUint64}),
      ElementRow<TruncatedRemainderOf, float>(kModulusTruncate, {kFloat32, kFloat16}),
      ElementRow<TruncatedRemainderOf, int32_t>(kModulusTruncate, kUpToInt32),
      ElementRow<TruncatedRemainderOf, uint32_t>(kModulusTruncate, {kUint32}),
      ElementRow<TruncatedRemainderOf, int64_t>(kModulusTruncate, {kInt64}),
      ElementRow<TruncatedRemainderOf, uint64_t>(kModulusTruncate, {kUint64}),
      ElementRow<FlooredRemainderOf, float>(kModulusFloor, {kFloat32, kFloat16}),
      ElementRow<FlooredRemainderOf, int32_t>(kModulusFloor, kUpToInt32),
      ElementRow<FlooredRemainderOf, uint32_t>(kModulusFloor, {kUint32}),
      ElementRow<FlooredRemainderOf, int64_t>(kModulusFloor, {kInt64}),
      ElementRow<FlooredRemainderOf, uint64_t>(kModulusFloor, {kUint64}),
  };
  return kRows;
}

}  // namespace
}  // namespace dmlop::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace dmlop {

std::span<const ElementWiseRow> DivisionRows() {
  return DMLOP_CHOOSE(DivisionTable)();
}

}  // namespace dmlop
#endif
