// SPDX-License-Identifier: Apache-2.0
#include "core/kernels/matrix/product.h"

// Compiled once per instruction set; see the Highway documentation on foreach_target.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "core/kernels/matrix/round_tile.cpp"
#include <hwy/foreach_target.h>
// Must come after foreach_target.h.
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

// Stores `least` rounded, and returns a bit for each lane in which `most` rounds differently.
HWY_INLINE uint32_t StoreRounded(WideVec least, WideVec most, float* to) {
  const Wide d;
  const hn::Rebind<float, Wide> floats;
  const hn::RebindToUnsigned<decltype(floats)> bits;
  const auto low = ToFloats(d, least);
  const auto high = ToFloats(d, most);
  hn::StoreU(Canonical(floats, low), floats, to);
  return BitsOf(bits, hn::Ne(hn::BitCast(bits, low), hn::BitCast(bits, high)));
}
HWY_INLINE uint32_t StoreRounded(WideVec least, WideVec most, Half* to) {
  const Wide d;
  const hn::RebindToUnsigned<Wide> bits;
  const WideVec low = RoundTo<Half>(d, least);
  StoreResults(d, low, to);
  return BitsOf(bits, hn::Ne(hn::BitCast(bits, low), hn::BitCast(bits, RoundTo<Half>(d, most))));
}

template <typename T>
uint32_t RoundTile(int64_t count, const RoundingCall& call) {
  const Wide d;
  const WideVec zero = hn::Zero(d);
  const bool needs_sign = call.factor == 0 || !std::isfinite(call.factor);
  const int64_t lanes = static_cast<int64_t>(hn::Lanes(d));
  uint32_t doubts = 0;
  for (int64_t i = 0; i < count; i += lanes) {
    const WideVec sum = hn::Load(d, call.sums + i);
    WideVec error = hn::Mul(hn::Set(d, call.row_error), hn::LoadU(d, call.column_norms + i));
    error = hn::IfThenElse(hn::Lt(error, hn::Set(d, call.exact_below)), zero, error);
    Approximate x = Scaled({sum, error}, call.factor);
    if (call.addend_errors != nullptr) {
      x.error = hn::Add(x.error, hn::LoadU(d, call.addend_errors + i));
    }
    if (call.addends != nullptr) x = Plus(x, hn::LoadU(d, call.addends + i));
    // The two sums below round as well.
    const auto is_exact = hn::Eq(x.error, zero);
    const WideVec reach = hn::MulAdd(hn::Abs(x.value), hn::Set(d, 0x1p-51),
                                     hn::Mul(x.error, hn::Set(d, 1 + 0x1p-40)));
    const auto is_taken = hn::Or(is_exact, hn::Not(hn::IsFinite(x.value)));
    const WideVec least = hn::IfThenElse(is_taken, x.value, hn::Sub(x.value, reach));
    const WideVec most = hn::IfThenElse(is_taken, x.value, hn::Add(x.value, reach));
    uint32_t doubtful = StoreRounded(least, most, static_cast<T*>(call.results) + i);
    if (needs_sign) {
      const auto has_no_sign = hn::And(hn::Ne(error, zero), hn::Le(hn::Abs(sum), error));
      doubtful |= BitsOf(d, has_no_sign);
    }
    doubts |= doubtful << i;
  }
  return doubts;
}

uint32_t RoundFloats(int64_t count, const RoundingCall& call) {
  return RoundTile<float>(count, call);
}
uint32_t RoundHalves(int64_t count, const RoundingCall& call) {
  return RoundTile<Half>(count, call);
}

}  // namespace dmlop::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace dmlop {

RoundingFunction* RoundingFunctionFor(DataType type) {
  static constexpr IsaForms<RoundingFunction> kFloats = DMLOP_ISA_FORMS(RoundFloats);
  static constexpr IsaForms<RoundingFunction> kHalves = DMLOP_ISA_FORMS(RoundHalves);
  return Choose(type == DataType::kFloat16 ? kHalves : kFloats);
}

}  // namespace dmlop
#endif
