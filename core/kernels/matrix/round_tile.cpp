// SPDX-License-Identifier: Apache-2.0
#include "core/kernels/matrix/product.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "core/kernels/matrix/round_tile.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include <cmath>

#include "core/kernels/reduce/round_results-inl.h"
#include "core/kernels/simd/dispatch.h"

HWY_BEFORE_NAMESPACE();
namespace dmlop::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

// A number and a bound of its error.
struct Approximate {
  WideVec value, error;
};

// Returns a generous bound of the error of rounding to FLOAT64.
HWY_INLINE WideVec RoundingError(WideVec rounded) {
  return hn::Mul(hn::Abs(rounded), hn::Set(Wide(), 0x1p-52));
}

HWY_INLINE Approximate Scaled(Approximate x, double factor) {
  if (factor == 1) return x;
  const WideVec value = hn::Mul(x.value, hn::Set(Wide(), factor));
  const WideVec error = hn::Mul(x.error, hn::Set(Wide(), std::fabs(factor)));
  return {value, hn::Add(error, RoundingError(value))};
}

// An exact addition adds no error.
HWY_INLINE Approximate Plus(Approximate x, WideVec addend) {
  const WideVec sum = hn::Add(x.value, addend);
  const WideVec addend_part = hn::Sub(sum, x.value);
  const WideVec rest =
      hn::Add(hn::Sub(x.value, hn::Sub(sum, addend_part)), hn::Sub(addend, addend_part));
  return {sum, hn::Add(x.error, hn::Abs(rest))};
}

// Returns a bit for each lane of a mask.
template <class D>
HWY_INLINE uint32_t BitsOf(D d, hn::Mask<D> mask) {
  static_assert(hn::MaxLanes(Wide()) <= 8);
  uint8_t bits[8] = {};  // as many as Highway may write
  hn::StoreMaskBits(d, mask, bits);
  return bits[0];
}

// Bits for the lanes of a vector of results: those in which the least and the most number round
// differently, and those with a zero or a NaN.
struct LaneMasks {
  uint32_t differs, has_no_sign;
};

template <class D>
HWY_INLINE LaneMasks MasksOf(D d, hn::Vec<D> low, hn::Vec<D> high, bool are_strict) {
  const hn::RebindToUnsigned<D> bits;
  const uint32_t differs = BitsOf(bits, hn::Ne(hn::BitCast(bits, low), hn::BitCast(bits, high)));
  if (!are_strict) return {differs, 0};
  return {differs, BitsOf(d, hn::Not(hn::Gt(hn::Abs(low), hn::Zero(d))))};
}

// These store `least` rounded, which is not NaN unless it is the canonical one.
HWY_INLINE LaneMasks StoreRounded(WideVec least, WideVec most, bool are_strict, float* to) {
  const hn::Rebind<float, Wide> floats;
  const auto low = ToFloats(Wide(), least);
  hn::StoreU(low, floats, to);
  return MasksOf(floats, low, ToFloats(Wide(), most), are_strict);
}
HWY_INLINE LaneMasks StoreRounded(WideVec least, WideVec most, bool are_strict, Half* to) {
  const WideVec low = RoundTo<Half>(Wide(), least);
  StoreResults(Wide(), low, to);
  return MasksOf(Wide(), low, RoundTo<Half>(Wide(), most), are_strict);
}

// Bounds the error of a number, and those of one addition before and of one after this.
HWY_INLINE WideVec ReachOf(Approximate x) {
  const Wide d;
  return hn::MulAdd(hn::Abs(x.value), hn::Set(d, 0x1p-51),
                    hn::Mul(x.error, hn::Set(d, 1 + 0x1p-40)));
}

// Stores the least value that a number may have, rounded.
template <typename T>
HWY_INLINE LaneMasks StoreRounded(Approximate x, bool are_strict, T* to) {
  const Wide d;
  const WideVec value = hn::IfThenElse(hn::IsNaN(x.value), hn::Set(d, std::nan("")), x.value);
  const auto is_taken = hn::Or(hn::Eq(x.error, hn::Zero(d)), hn::Not(hn::IsFinite(value)));
  const WideVec reach = ReachOf(x);
  const WideVec least = hn::IfThenElse(is_taken, value, hn::Sub(value, reach));
  const WideVec most = hn::IfThenElse(is_taken, value, hn::Add(value, reach));
  return StoreRounded(least, most, are_strict, to);
}

// Adds the other terms, of which the addends are at a place `at`, to a product.
HWY_INLINE Approximate WithTerms(const RoundingCall& call, int64_t at, Approximate product) {
  Approximate x = Scaled(product, call.factor);
  if (call.addend_errors != nullptr) {
    x.error = hn::Add(x.error, hn::LoadU(Wide(), call.addend_errors + at));
  }
  return call.addends == nullptr ? x : Plus(x, hn::LoadU(Wide(), call.addends + at));
}

template <typename T>
void RoundAny(const RoundingCall& call, uint32_t* unresolved) {
  const Wide d;
  const int64_t lanes = static_cast<int64_t>(hn::Lanes(d));
  const bool needs_sign = call.factor == 0 || !std::isfinite(call.factor);
  const bool are_strict = call.strict_columns != 0;
  for (int64_t r = 0; r < call.rows; ++r) {
    const WideVec row_error = hn::Set(d, call.row_errors[r]);
    uint32_t row_unresolved = 0;
    for (int64_t i = 0; i < call.columns; i += lanes) {
      const WideVec sum = hn::Load(d, call.sums + r * call.stride + i);
      const WideVec bound = hn::Mul(row_error, hn::LoadU(d, call.column_norms + i));
      const auto is_exact = hn::Le(bound, hn::Set(d, call.exact_below));
      const WideVec error = hn::IfThenZeroElse(is_exact, bound);
      const Approximate x = WithTerms(call, r * call.addend_stride + i, {sum, error});
      const LaneMasks masks = StoreRounded(x, are_strict, static_cast<T*>(call.results[r]) + i);
      row_unresolved |= (masks.differs | (masks.has_no_sign & call.strict_columns >> i)) << i;
      if (needs_sign) {
        const auto may_be_zero = hn::And(hn::Ne(error, hn::Zero(d)), hn::Le(hn::Abs(sum), error));
        row_unresolved |= BitsOf(d, may_be_zero) << i;
      }
    }
    unresolved[r] = row_unresolved;
  }
}

// Rounds sums without a factor. If there are addends, no sum counts as exact: then rounding a total
// hardly adds to its error. Returns false if any number is not finite.
template <typename T>
bool RoundMost(const RoundingCall& given, uint32_t* unresolved) {
  const RoundingCall call = given;  // stores of results do not change this one
  const Wide d;
  const int64_t lanes = static_cast<int64_t>(hn::Lanes(d));
  const bool are_strict = call.strict_columns != 0;
  const double exact_below = call.addends == nullptr ? call.exact_below : -1;
  WideVec reaches = hn::Zero(d);
  for (int64_t r = 0; r < call.rows; ++r) {
    const WideVec row_error = hn::Set(d, call.row_errors[r]);
    uint32_t row_unresolved = 0;
    for (int64_t i = 0; i < call.columns; i += lanes) {
      WideVec value = hn::Load(d, call.sums + r * call.stride + i);
      WideVec error = hn::Mul(row_error, hn::LoadU(d, call.column_norms + i));
      const auto is_exact = hn::Le(error, hn::Set(d, exact_below));
      const int64_t at = r * call.addend_stride + i;
      if (call.addends != nullptr) value = hn::Add(value, hn::LoadU(d, call.addends + at));
      if (call.addend_errors != nullptr) {
        error = hn::Add(error, hn::LoadU(d, call.addend_errors + at));
      }
      const WideVec reach = ReachOf({value, error});
      reaches = hn::Add(reaches, reach);
      // To take 0 off leaves even -0 as it is.
      const WideVec least = hn::Sub(value, hn::IfThenZeroElse(is_exact, reach));
      const WideVec most = hn::Sub(value, hn::IfThenZeroElse(is_exact, hn::Neg(reach)));
      const LaneMasks masks =
          StoreRounded(least, most, are_strict, static_cast<T*>(call.results[r]) + i);
      row_unresolved |= (masks.differs | (masks.has_no_sign & call.strict_columns >> i)) << i;
    }
    unresolved[r] = row_unresolved;
  }
  return hn::AllTrue(d, hn::IsFinite(reaches));
}

template <typename T>
void RoundTile(const RoundingCall& call, uint32_t* unresolved) {
  const bool may_be_exact_with_addends = call.addends != nullptr && call.exact_below > 0;
  if (call.factor == 1 && !may_be_exact_with_addends && RoundMost<T>(call, unresolved)) return;
  RoundAny<T>(call, unresolved);
}

}  // namespace dmlop::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace dmlop {

RoundingFunction* RoundingFunctionFor(DataType type) {
  return type == DataType::kFloat16 ? DMLOP_CHOOSE(RoundTile<Half>)
                                    : DMLOP_CHOOSE(RoundTile<float>);
}

}  // namespace dmlop
#endif
