// SPDX-License-Identifier: Apache-2.0
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "core/kernels/element_wise/logical.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "core/kernels/element_wise/row.h"
#include "core/kernels/element_wise/rows-inl.h"
#include "core/kernels/simd/dispatch.h"

HWY_BEFORE_NAMESPACE();
namespace dmlop::HWY_NAMESPACE {
namespace {

struct WhetherEqual {
  template <class D, class V>
  HWY_INLINE auto operator()(D d, const ElementParameters&, V a, V b) const {
    return OneOrZero(d, hn::Eq(a, b));
  }
};

struct WhetherGreater {
  template <class D, class V>
  HWY_INLINE auto operator()(D d, const ElementParameters&, V a, V b) const {
    return OneOrZero(d, hn::Gt(a, b));
  }
};

struct WhetherLess {
  template <class D, class V>
  HWY_INLINE auto operator()(D d, const ElementParameters&, V a, V b) const {
    return OneOrZero(d, hn::Lt(a, b));
  }
};

struct WhetherGreaterOrEqual {
  template <class D, class V>
  HWY_INLINE auto operator()(D d, const ElementParameters&, V a, V b) const {
    return OneOrZero(d, IsAtLeast(a, b));
  }
};

struct WhetherLessOrEqual {
  template <class D, class V>
  HWY_INLINE auto operator()(D d, const ElementParameters&, V a, V b) const {
    return OneOrZero(d, IsAtLeast(b, a));
  }
};

struct AndOf {
  template <class D, class V>
  HWY_INLINE V operator()(D, const ElementParameters&, V a, V b) const {
    return hn::And(a, b);
  }
};

struct OrOf {
  template <class D, class V>
  HWY_INLINE V operator()(D, const ElementParameters&, V a, V b) const {
    return hn::Or(a, b);
  }
};

struct XorOf {
  template <class D, class V>
  HWY_INLINE V operator()(D, const ElementParameters&, V a, V b) const {
    return hn::Xor(a, b);
  }
};

struct NotOf {
  template <class D, class V>
  HWY_INLINE V operator()(D, const ElementParameters&, V a) const {
    return hn::Not(a);
  }
};

// Applies F to truth values.
template <class F>
struct Logical {
  template <class D, class... V>
  HWY_INLINE auto operator()(D d, const ElementParameters& parameters, V... x) const {
    const auto one = hn::Set(d, 1);
    return hn::And(one, F()(d, parameters, hn::IfThenZeroElse(hn::Eq(x, hn::Zero(d)), one)...));
  }
};

struct CountOf {
  template <class D, class V>
  HWY_INLINE V operator()(D, const ElementParameters&, V a) const {
    return hn::PopulationCount(a);
  }
};

// Reduces the count as the hardware does (BIT-3): modulo 64 for 64-bit integers, else modulo 32.
template <class D>
HWY_INLINE hn::Vec<D> ShiftCount(D d, hn::Vec<D> b) {
  return hn::And(b, hn::Set(d, 8 * sizeof(hn::TFromD<D>) - 1));
}

// Narrower integers are shifted as 32-bit ones, and the high bits are dropped.
struct LeftShiftOf {
  template <class D, class V>
  HWY_INLINE V operator()(D d, const ElementParameters&, V a, V b) const {
    return hn::Shl(a, ShiftCount(d, b));
  }
};

struct RightShiftOf {
  template <class D, class V>
  HWY_INLINE V operator()(D d, const ElementParameters&, V a, V b) const {
    return hn::Shr(a, ShiftCount(d, b));
  }
};

constexpr DataTypeSet kBits16 = k16 | DataTypeSet{kFloat16};
constexpr DataTypeSet kBits32 = k32 | DataTypeSet{kFloat32};
constexpr DataTypeSet kBits64 = k64 | DataTypeSet{kFloat64};

std::span<const ElementWiseRow> LogicalTable() {
  static constexpr ElementWiseRow kRows[] = {
#define DMLOP_FLOATS(F, function) \
  TruthRow<F, float, 2>(function), TruthRow<F, float, 2, Half>(function)
#define DMLOP_COMPARISON(F, function)                                                             \
  DMLOP_FLOATS(F, function), TruthRow<F, int8_t, 2>(function), TruthRow<F, uint8_t, 2>(function), \
      TruthRow<F, int16_t, 2>(function), TruthRow<F, uint16_t, 2>(function),                      \
      TruthRow<F, int32_t, 2>(function), TruthRow<F, uint32_t, 2>(function),                      \
      TruthRow<F, int64_t, 2>(function), TruthRow<F, uint64_t, 2>(function)
      DMLOP_FLOATS(WhetherEqual, kEquals),
      TruthRow<WhetherEqual, uint8_t, 2>(kEquals, k8),
      TruthRow<WhetherEqual, uint16_t, 2>(kEquals, k16),
      TruthRow<WhetherEqual, uint32_t, 2>(kEquals, k32),
      TruthRow<WhetherEqual, uint64_t, 2>(kEquals, k64),
      DMLOP_COMPARISON(WhetherGreater, kGreaterThan),
      DMLOP_COMPARISON(WhetherLess, kLessThan),
      DMLOP_COMPARISON(WhetherGreaterOrEqual, kGreaterThanOrEqual),
      DMLOP_COMPARISON(WhetherLessOrEqual, kLessThanOrEqual),
#undef DMLOP_COMPARISON
#undef DMLOP_FLOATS
      Row<Logical<AndOf>, uint8_t, 2>(kLogicalAnd),
      Row<Logical<AndOf>, uint32_t, 2>(kLogicalAnd),
      Row<Logical<OrOf>, uint8_t, 2>(kLogicalOr),
      Row<Logical<OrOf>, uint32_t, 2>(kLogicalOr),
      Row<Logical<XorOf>, uint8_t, 2>(kLogicalXor),
      Row<Logical<XorOf>, uint32_t, 2>(kLogicalXor),
      Row<Logical<NotOf>, uint8_t, 1>(kLogicalNot),
      Row<Logical<NotOf>, uint32_t, 1>(kLogicalNot),
#define DMLOP_BITS(F, function, inputs)                                               \
  Row<F, uint8_t, inputs>(function, k8), Row<F, uint16_t, inputs>(function, kBits16), \
      Row<F, uint32_t, inputs>(function, kBits32), Row<F, uint64_t, inputs>(function, kBits64)
      DMLOP_BITS(AndOf, kBitAnd, 2),
      DMLOP_BITS(OrOf, kBitOr, 2),
      DMLOP_BITS(XorOf, kBitXor, 2),
      DMLOP_BITS(NotOf, kBitNot, 1),
      DMLOP_BITS(CountOf, kBitCount, 1),
#undef DMLOP_BITS
      Row<LeftShiftOf, uint32_t, 2>(kBitShiftLeft, {kUint8, kUint16, kUint32}),
      Row<LeftShiftOf, uint64_t, 2>(kBitShiftLeft, {kUint64}),
      Row<RightShiftOf, uint32_t, 2>(kBitShiftRight, {kUint8, kUint16, kUint32}),
      Row<RightShiftOf, uint64_t, 2>(kBitShiftRight, {kUint64}),
  };
  return kRows;
}

}  // namespace
}  // namespace dmlop::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace dmlop {

std::span<const ElementWiseRow> LogicalRows() {
  return DMLOP_CHOOSE(LogicalTable)();
}

}  // namespace dmlop
#endif
