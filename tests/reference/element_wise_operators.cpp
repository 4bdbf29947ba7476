// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <limits>

#include "core/tensor/visit_data_type.h"
#include "tests/reference/element.h"
#include "tests/reference/element_wise.h"
#include "tests/reference/operators.h"
#include "tests/reference/scale_bias.h"
#include "tests/support/desc.h"

namespace dmlop::reference {
namespace {

using F = ElementWiseFunction;

Expectation Identity(const OperatorDesc& desc, std::span<const ConstTensorView> inputs, size_t,
                     const Dims& index) {
  uint64_t bits = BitsAt(inputs[0], index);
  const ScaleBias* factors = desc.find(kScaleBias);
  if (factors == nullptr) return {bits};
  using Types = Join<Floats, Integers32, Integers16, Integers8>;
  VisitDataType(Types(), inputs[0].type, [&]<typename T>() {
    const T x = FromBits<T>(bits);
    if constexpr (std::is_integral_v<T>) {
      bits = ToBits(ScaledInteger(*factors, x));
    } else {
      bits = ToBits(ScaledFloat<T>(*factors, ToDouble(x)));
    }
  });
  return {bits};
}

Expectation ElementOfCall(ElementWiseCall call, const OperatorDesc& desc,
                          std::span<const ConstTensorView> inputs, const Dims& index) {
  if (const ScaleBias* factors = desc.find_if_known(kScaleBias)) call.scale_bias = *factors;
  std::vector<StoredElement> elements;
  for (const ConstTensorView& input : inputs)
    elements.push_back({input.type, BitsAt(input, index)});
  return {ElementOf(call, elements, *TensorSlots(desc, TensorRole::kOutput)[0].desc->data_type)};
}

template <F kFunction>
Expectation Element(const OperatorDesc& desc, std::span<const ConstTensorView> inputs, size_t,
                    const Dims& index) {
  return ElementOfCall({.function = kFunction}, desc, inputs, index);
}

// An enumerator chooses one of these functions.
template <F... kFunctions>
Expectation Chosen(const OperatorDesc& desc, std::span<const ConstTensorView> inputs, size_t,
                   const Dims& index) {
  constexpr F kChoices[] = {kFunctions...};
  const bool rounds = desc.name() == "ELEMENT_WISE_ROUND";
  const uint32_t choice = Get<uint32_t>(desc, rounds ? "RoundingMode" : "InfinityMode");
  return ElementOfCall({.function = kChoices[choice]}, desc, inputs, index);
}

Expectation If(const OperatorDesc& desc, std::span<const ConstTensorView> inputs, size_t,
               const Dims& index) {
  const std::array in_order = {inputs[1], inputs[2], inputs[0]};
  return ElementOfCall({.function = F::kIf}, desc, in_order, index);
}

// --- bounds --------------------------------------------------------------------------------------

// CLIP-2 and CLIP-3: a FLOAT as a bound of type T.
template <typename T>
T BoundOf(double bound, T unlimited) {
  if constexpr (std::is_integral_v<T>) {
    if (std::isnan(bound)) return unlimited;
    constexpr T kMin = std::numeric_limits<T>::min();
    constexpr T kMax = std::numeric_limits<T>::max();
    if (bound < -0x1p63) return kMin;
    if (bound >= 0x1p64) return kMax;
    const auto truncated = static_cast<__int128>(bound);
    return truncated < kMin ? kMin : truncated > kMax ? kMax : static_cast<T>(truncated);
  } else {
    return FromDouble<T>(bound);
  }
}

// Bounds in the elements' type, from FLOAT fields or from scalars of that type.
template <typename T>
std::pair<T, T> BoundsOf(const OperatorDesc& desc) {
  using Limits = std::numeric_limits<T>;
  const auto is_typed = [](const Field* field) { return field->name == "MinMaxDataType"; };
  if (std::any_of(desc.fields().begin(), desc.fields().end(), is_typed)) {
    return {dmlop::ElementOf<T>(Get<Scalar>(desc, "Min").bytes),
            dmlop::ElementOf<T>(Get<Scalar>(desc, "Max").bytes)};
  }
  const auto min = static_cast<double>(Get<float>(desc, "Min"));
  const bool has_max = desc.name() != "ELEMENT_WISE_THRESHOLD";
  const double max = has_max ? static_cast<double>(Get<float>(desc, "Max")) : min;
  return {BoundOf<T>(min, Limits::min()), BoundOf<T>(max, Limits::max())};
}

template <F kFunction>
Expectation Bounded(const OperatorDesc& desc, std::span<const ConstTensorView> inputs, size_t,
                    const Dims& index) {
  ElementWiseCall call{.function = kFunction};
  using Types = Join<Floats, Integers64, Integers32, Integers16, Integers8>;
  VisitDataType(Types(), inputs[0].type, [&]<typename T>() {
    const auto [min, max] = BoundsOf<T>(desc);
    if constexpr (std::is_integral_v<T>) {
      call.parameters.integers = {static_cast<int64_t>(min), static_cast<int64_t>(max)};
      if (desc.name() == "ELEMENT_WISE_CLIP_GRAD") {
        call.parameters.numbers = {Get<float>(desc, "Min"), Get<float>(desc, "Max")};
      }
    } else {
      call.parameters.numbers = {ToDouble(min), ToDouble(max)};
    }
  });
  return ElementOfCall(call, desc, inputs, index);
}

constexpr NamedOracle kOracles[] = {
    {"CAST", Element<F::kCast>},
    {"ELEMENT_WISE_ABS", Element<F::kAbs>},
    {"ELEMENT_WISE_ADD", Element<F::kAdd>},
    {"ELEMENT_WISE_BIT_AND", Element<F::kBitAnd>},
    {"ELEMENT_WISE_BIT_COUNT", Element<F::kBitCount>},
    {"ELEMENT_WISE_BIT_NOT", Element<F::kBitNot>},
    {"ELEMENT_WISE_BIT_OR", Element<F::kBitOr>},
    {"ELEMENT_WISE_BIT_SHIFT_LEFT", Element<F::kBitShiftLeft>},
    {"ELEMENT_WISE_BIT_SHIFT_RIGHT", Element<F::kBitShiftRight>},
    {"ELEMENT_WISE_BIT_XOR", Element<F::kBitXor>},
    {"ELEMENT_WISE_CEIL", Element<F::kCeil>},
    {"ELEMENT_WISE_CLIP", Bounded<F::kClip>},
    {"ELEMENT_WISE_CLIP1", Bounded<F::kClip>},
    {"ELEMENT_WISE_CLIP_GRAD", Bounded<F::kClipGrad>},
    {"ELEMENT_WISE_CLIP_GRAD1", Bounded<F::kClipGrad>},
    {"ELEMENT_WISE_DIFFERENCE_SQUARE", Element<F::kDifferenceSquare>},
    {"ELEMENT_WISE_DIVIDE", Element<F::kDivide>},
    {"ELEMENT_WISE_FLOOR", Element<F::kFloor>},
    {"ELEMENT_WISE_IDENTITY", Identity},
    {"ELEMENT_WISE_IF", If},
    {"ELEMENT_WISE_IS_INFINITY",
     Chosen<F::kIsInfinity, F::kIsPositiveInfinity, F::kIsNegativeInfinity>},
    {"ELEMENT_WISE_IS_NAN", Element<F::kIsNan>},
    {"ELEMENT_WISE_LOGICAL_AND", Element<F::kLogicalAnd>},
    {"ELEMENT_WISE_LOGICAL_EQUALS", Element<F::kEquals>},
    {"ELEMENT_WISE_LOGICAL_GREATER_THAN", Element<F::kGreaterThan>},
    {"ELEMENT_WISE_LOGICAL_GREATER_THAN_OR_EQUAL", Element<F::kGreaterThanOrEqual>},
    {"ELEMENT_WISE_LOGICAL_LESS_THAN", Element<F::kLessThan>},
    {"ELEMENT_WISE_LOGICAL_LESS_THAN_OR_EQUAL", Element<F::kLessThanOrEqual>},
    {"ELEMENT_WISE_LOGICAL_NOT", Element<F::kLogicalNot>},
    {"ELEMENT_WISE_LOGICAL_OR", Element<F::kLogicalOr>},
    {"ELEMENT_WISE_LOGICAL_XOR", Element<F::kLogicalXor>},
    {"ELEMENT_WISE_MAX", Element<F::kMax>},
    {"ELEMENT_WISE_MEAN", Element<F::kMean>},
    {"ELEMENT_WISE_MIN", Element<F::kMin>},
    {"ELEMENT_WISE_MODULUS_FLOOR", Element<F::kModulusFloor>},
    {"ELEMENT_WISE_MODULUS_TRUNCATE", Element<F::kModulusTruncate>},
    {"ELEMENT_WISE_MULTIPLY", Element<F::kMultiply>},
    {"ELEMENT_WISE_NEGATE", Element<F::kNegate>},
    {"ELEMENT_WISE_RECIP", Element<F::kRecip>},
    {"ELEMENT_WISE_ROUND", Chosen<F::kRoundHalvesToEven, F::kRoundTowardZero, F::kRoundHalvesAway>},
    {"ELEMENT_WISE_SIGN", Element<F::kSign>},
    {"ELEMENT_WISE_SQRT", Element<F::kSqrt>},
    {"ELEMENT_WISE_SUBTRACT", Element<F::kSubtract>},
    {"ELEMENT_WISE_THRESHOLD", Bounded<F::kThreshold>},
};

}  // namespace

std::span<const NamedOracle> ElementWiseOracles() {
  return kOracles;
}

}  // namespace dmlop::reference
