// SPDX-License-Identifier: Apache-2.0
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "core/kernels/element_wise/unary.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "core/kernels/element_wise/row.h"
#include "core/kernels/element_wise/rows-inl.h"
#include "core/kernels/simd/dispatch.h"

HWY_BEFORE_NAMESPACE();
namespace dmlop::HWY_NAMESPACE {
namespace {

struct MagnitudeOf {
  template <class D, class V>
  HWY_INLINE V operator()(D, const ElementParameters&, V x) const {
    if constexpr (std::is_integral_v<hn::TFromD<D>>) {
      const V sign = hn::BroadcastSignBit(x);  // the most negative number stays as it is
      return hn::Sub(hn::Xor(x, sign), sign);
    } else {
      return hn::Abs(x);
    }
  }
};

struct OppositeOf {
  template <class D, class V>
  HWY_INLINE V operator()(D d, const ElementParameters&, V x) const {
    if constexpr (std::is_integral_v<hn::TFromD<D>>) {
      return hn::Sub(hn::Zero(d), x);
    } else {
      return hn::Xor(x, hn::SignBit(d));
    }
  }
};

struct SignOf {
  template <class D, class V>
  HWY_INLINE V operator()(D d, const ElementParameters&, V x) const {
    const V one = hn::Set(d, 1);
    const V positive = hn::IfThenElseZero(hn::Gt(x, hn::Zero(d)), one);
    const V negative = hn::IfThenElseZero(hn::Lt(x, hn::Zero(d)), one);
    return hn::Sub(positive, negative);
  }
};

struct CeilingOf {
  template <class D, class V>
  HWY_INLINE V operator()(D, const ElementParameters&, V x) const {
    return hn::CopySign(hn::Ceil(x), x);
  }
};

struct FloorOf {
  template <class D, class V>
  HWY_INLINE V operator()(D, const ElementParameters&, V x) const {
    return hn::CopySign(hn::Floor(x), x);
  }
};

struct NearestOf {
  template <class D, class V>
  HWY_INLINE V operator()(D, const ElementParameters&, V x) const {
    return hn::CopySign(hn::Round(x), x);
  }
};

struct TruncationOf {
  template <class D, class V>
  HWY_INLINE V operator()(D, const ElementParameters&, V x) const {
    return hn::CopySign(hn::Trunc(x), x);
  }
};

struct NearestAwayOf {
  template <class D, class V>
  HWY_INLINE V operator()(D d, const ElementParameters&, V x) const {
    const V integer = hn::Trunc(x);
    const V rest = hn::Abs(hn::Sub(x, integer));  // exact; NaN for infinities
    const V step = hn::IfThenElseZero(hn::Ge(rest, hn::Set(d, 0.5f)), hn::Set(d, 1.0f));
    return hn::CopySign(hn::Add(hn::Abs(integer), step), x);
  }
};

struct WhetherNan {
  template <class D, class V>
  HWY_INLINE auto operator()(D d, const ElementParameters&, V x) const {
    return OneOrZero(d, hn::IsNaN(x));
  }
};

struct WhetherInfinity {
  template <class D, class V>
  HWY_INLINE auto operator()(D d, const ElementParameters&, V x) const {
    return OneOrZero(d, hn::Eq(hn::Abs(x), hn::Inf(d)));
  }
};

struct WhetherPositiveInfinity {
  template <class D, class V>
  HWY_INLINE auto operator()(D d, const ElementParameters&, V x) const {
    return OneOrZero(d, hn::Eq(x, hn::Inf(d)));
  }
};

struct WhetherNegativeInfinity {
  template <class D, class V>
  HWY_INLINE auto operator()(D d, const ElementParameters&, V x) const {
    return OneOrZero(d, hn::Eq(x, hn::Neg(hn::Inf(d))));
  }
};

// The FLOAT64 root of a FLOAT32 lies on the same side of every rounding boundary of FLOAT32 and
// FLOAT16 as the exact root.
struct RootOf {
  template <class D, class V>
  HWY_INLINE V operator()(D, const ElementParameters&, V x) const {
    return hn::Sqrt(x);
  }
};

// The same holds as for roots.
struct ReciprocalOf {
  template <class D, class V>
  HWY_INLINE V operator()(D d, const ElementParameters&, V x) const {
    return hn::Div(hn::Set(d, 1), x);
  }
};

struct PositivePartOf {
  template <class D, class V>
  HWY_INLINE V operator()(D d, const ElementParameters&, V x) const {
    return MaxOf(d, x, hn::Zero(d));
  }
};

struct PartAboveThresholdOf {
  template <class D, class V>
  HWY_INLINE V operator()(D d, const ElementParameters& parameters, V x) const {
    const V threshold = hn::Set(d, static_cast<float>(parameters.numbers[0]));
    return hn::IfThenElseZero(hn::Gt(x, threshold), x);
  }
};

constexpr ElementWiseRow Commuting(ElementWiseRow row) {
  row.commutes_with_rounding = true;
  return row;
}

std::span<const ElementWiseRow> UnaryTable() {
  static constexpr ElementWiseRow kRows[] = {
      Row<MagnitudeOf, float, 1>(kAbs),
      Commuting(HalfRow<MagnitudeOf, 1>(kAbs)),
      Row<MagnitudeOf, int8_t, 1>(kAbs),
      Row<MagnitudeOf, int16_t, 1>(kAbs),
      Row<MagnitudeOf, int32_t, 1>(kAbs),
      Row<MagnitudeOf, int64_t, 1>(kAbs),
      Row<OppositeOf, float, 1>(kNegate, kFloats),
      Row<OppositeOf, int8_t, 1>(kNegate),
      Row<OppositeOf, int16_t, 1>(kNegate),
      Row<OppositeOf, int32_t, 1>(kNegate),
      Row<OppositeOf, int64_t, 1>(kNegate),
      Row<SignOf, float, 1>(kSign, kFloats),
      Row<SignOf, int32_t, 1>(kSign, {kInt8, kUint8, kInt16, kUint16, kInt32}),
      Row<SignOf, uint32_t, 1>(kSign, {kUint32}),
      Row<SignOf, int64_t, 1>(kSign, {kInt64}),
      Row<SignOf, uint64_t, 1>(kSign, {kUint64}),
      Row<CeilingOf, float, 1>(kCeil, kFloats),
      Row<FloorOf, float, 1>(kFloor, kFloats),
      Row<NearestOf, float, 1>(kRoundHalvesToEven, kFloats),
      Row<TruncationOf, float, 1>(kRoundTowardZero, kFloats),
      Row<NearestAwayOf, float, 1>(kRoundHalvesAway, kFloats),
      TruthRow<WhetherNan, float, 1>(kIsNan),
      TruthRow<WhetherNan, float, 1, Half>(kIsNan),
      TruthRow<WhetherInfinity, float, 1>(kIsInfinity),
      TruthRow<WhetherInfinity, float, 1, Half>(kIsInfinity),
      TruthRow<WhetherPositiveInfinity, float, 1>(kIsPositiveInfinity),
      TruthRow<WhetherPositiveInfinity, float, 1, Half>(kIsPositiveInfinity),
      TruthRow<WhetherNegativeInfinity, float, 1>(kIsNegativeInfinity),
      TruthRow<WhetherNegativeInfinity, float, 1, Half>(kIsNegativeInfinity),
      Row<RootOf, float, 1>(kSqrt),
      Row<RootOf, double, 1>(kSqrt, {kFloat16}),
      Row<ReciprocalOf, float, 1>(kRecip),
      Row<ReciprocalOf, double, 1>(kRecip, {kFloat16}),
      Row<PositivePartOf, float, 1>(kRelu),
      HalfRow<PositivePartOf, 1>(kRelu),
      Row<PositivePartOf, int8_t, 1>(kRelu),
      Row<PositivePartOf, int16_t, 1>(kRelu),
      Row<PositivePartOf, int32_t, 1>(kRelu),
      Row<PartAboveThresholdOf, float, 1>(kThresholdedRelu, kFloats),
  };
  return kRows;
}

}  // namespace
}  // namespace dmlop::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace dmlop {

std::span<const ElementWiseRow> UnaryRows() {
  return DMLOP_CHOOSE(UnaryTable)();
}

}  // namespace dmlop
#endif
