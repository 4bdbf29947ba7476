// SPDX-License-Identifier: Apache-2.0
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "core/kernels/element_wise/selection.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include <cmath>
#include <type_traits>

#include "core/kernels/element_wise/row.h"
#include "core/kernels/element_wise/rows-inl.h"
#include "core/kernels/simd/dispatch.h"

HWY_BEFORE_NAMESPACE();
namespace dmlop::HWY_NAMESPACE {
namespace {

// Moves the bits of the selected element.
struct SelectedOf {
  template <class D, class V>
  HWY_INLINE V operator()(D d, const ElementParameters&, V a, V b, V condition) const {
    return Either(hn::Eq(condition, hn::Zero(d)), b, a);
  }
};

// Returns the bound at `index`.
template <class D>
HWY_INLINE hn::Vec<D> Bound(D d, const ElementParameters& parameters, size_t index) {
  using T = hn::TFromD<D>;
  if constexpr (std::is_integral_v<T>) {
    return hn::Set(d, static_cast<T>(parameters.integers[index]));
  } else {
    return hn::Set(d, static_cast<T>(parameters.numbers[index]));
  }
}

struct ClippedOf {
  template <class D, class V>
  HWY_INLINE V operator()(D d, const ElementParameters& parameters, V x) const {
    return MaxOf(d, MinOf(d, x, Bound(d, parameters, 1)), Bound(d, parameters, 0));
  }
};

struct ClippedBelowOf {
  template <class D, class V>
  HWY_INLINE V operator()(D d, const ElementParameters& parameters, V x) const {
    return MaxOf(d, x, Bound(d, parameters, 0));
  }
};

// True if a value equal to the bound counts as outside: always, except for integers with a NaN
// bound.
template <class D>
HWY_INLINE hn::Mask<D> Excludes(D d, const ElementParameters& parameters, size_t index) {
  using T = hn::TFromD<D>;
  const bool is_nan = std::is_integral_v<T> && std::isnan(parameters.numbers[index]);
  return hn::Ne(hn::Set(d, static_cast<T>(is_nan ? 0 : 1)), hn::Zero(d));
}

// Returns the bits of the second input, or zero.
struct GradientInsideBounds {
  template <class D, class V>
  HWY_INLINE auto operator()(D d, const ElementParameters& parameters, V x, V gradient) const {
    const auto below = hn::And(IsAtLeast(Bound(d, parameters, 0), x), Excludes(d, parameters, 0));
    const auto above = hn::And(IsAtLeast(x, Bound(d, parameters, 1)), Excludes(d, parameters, 1));
    const hn::RebindToUnsigned<D> du;
    const auto outside = hn::RebindMask(du, hn::Or(below, above));
    return Either(outside, hn::Zero(du), hn::BitCast(du, gradient));
  }
};

struct GradientOfPositive {
  template <class D, class V>
  HWY_INLINE auto operator()(D d, const ElementParameters&, V x, V gradient) const {
    const hn::RebindToUnsigned<D> du;
    const auto is_positive = hn::RebindMask(du, hn::Gt(x, hn::Zero(d)));
    return Either(is_positive, hn::BitCast(du, gradient), hn::Zero(du));
  }
};

// The bits of the second input reach the output unchanged.
template <class F, typename T>
constexpr ElementWiseRow Gradient(ElementWiseFunction function,
                                  DataTypeSet types = {kDataTypeOf<T>}) {
  constexpr DataType kBits = kDataTypeOf<hwy::MakeUnsigned<T>>;
  ElementWiseRow row = Row<F, T, 2>(function, types);
  row.in[1] = row.out = kBits;
  return row;
}

// Selects elements as wide as T.
template <typename T>
constexpr ElementWiseRow Selection(DataTypeSet types) {
  return RowOf<SelectedOf, T, T, T, T, uint8_t>(kIf, types);
}

template <class F>
constexpr ElementWiseRow Commuting(ElementWiseFunction function) {
  ElementWiseRow row = HalfRow<F, 1>(function);
  row.commutes_with_rounding = true;
  return row;
}

std::span<const ElementWiseRow> SelectionTable() {
  static constexpr ElementWiseRow kRows[] = {
      Selection<uint8_t>({kInt8, kUint8}),
      Selection<uint16_t>({kInt16, kUint16, kFloat16}),
      Selection<uint32_t>({kInt32, kUint32, kFloat32}),
      Selection<uint64_t>({kInt64, kUint64, kFloat64}),
      Row<ClippedOf, float, 1>(kClip),
      Commuting<ClippedOf>(kClip),
      Row<ClippedOf, int8_t, 1>(kClip),
      Row<ClippedOf, uint8_t, 1>(kClip),
      Row<ClippedOf, int16_t, 1>(kClip),
      Row<ClippedOf, uint16_t, 1>(kClip),
      Row<ClippedOf, int32_t, 1>(kClip),
      Row<ClippedOf, uint32_t, 1>(kClip),
      Row<ClippedOf, int64_t, 1>(kClip),
      Row<ClippedOf, uint64_t, 1>(kClip),
      Row<ClippedBelowOf, float, 1>(kThreshold),
      Commuting<ClippedBelowOf>(kThreshold),
      Row<ClippedBelowOf, int8_t, 1>(kThreshold),
      Row<ClippedBelowOf, uint8_t, 1>(kThreshold),
      Row<ClippedBelowOf, int16_t, 1>(kThreshold),
      Row<ClippedBelowOf, uint16_t, 1>(kThreshold),
      Row<ClippedBelowOf, int32_t, 1>(kThreshold),
      Row<ClippedBelowOf, uint32_t, 1>(kThreshold),
      Gradient<GradientInsideBounds, float>(kClipGrad, kFloats),
      Gradient<GradientInsideBounds, int8_t>(kClipGrad),
      Gradient<GradientInsideBounds, uint8_t>(kClipGrad),
      Gradient<GradientInsideBounds, int16_t>(kClipGrad),
      Gradient<GradientInsideBounds, uint16_t>(kClipGrad),
      Gradient<GradientInsideBounds, int32_t>(kClipGrad),
      Gradient<GradientInsideBounds, uint32_t>(kClipGrad),
      Gradient<GradientInsideBounds, int64_t>(kClipGrad),
      Gradient<GradientInsideBounds, uint64_t>(kClipGrad),
      Gradient<GradientOfPositive, float>(kReluGrad, kFloats),
      Gradient<GradientOfPositive, int8_t>(kReluGrad),
      Gradient<GradientOfPositive, int16_t>(kReluGrad),
      Gradient<GradientOfPositive, int32_t>(kReluGrad),
  };
  return kRows;
}

}  // namespace
}  // namespace dmlop::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace dmlop {

std::span<const ElementWiseRow> SelectionRows() {
  return DMLOP_CHOOSE(SelectionTable)();
}

}  // namespace dmlop
#endif
