#include <cmath>
#include <limits>

#include "core/tensor/visit_data_type.h"
#include "tests/reference/element.h"
#include "tests/reference/element_wise.h"
#include "tests/reference/operators.h"

namespace dmlop::reference {
namespace {

template <typename T>
T NarrowedOrCanonicalNan(double value) {
  return FromDouble<T>(std::isnan(value) ? std::numeric_limits<double>::quiet_NaN() : value);
}

// ID-8, ID-9: one rounding of the exact value.
template <typename T>
T ScaledFloat(const ScaleBias& scale_bias, T element) {
  const double x = ToDouble(element);
  const double scale = ToDouble(scale_bias.scale);
  const double bias = ToDouble(scale_bias.bias);
  const double plain = x * scale + bias;
  // Binary64 gets infinities, NaN and the signs of zeros right.
  if (!std::isfinite(plain) || (x * scale == 0 && bias == 0)) {
    return NarrowedOrCanonicalNan<T>(plain);
  }
  Real exact(x);
  mpfr_mul_d(exact.get(), exact.get(), scale, MPFR_RNDN);
  mpfr_add_d(exact.get(), exact.get(), bias, MPFR_RNDN);
  return RoundReal<T>(exact);
}

// ID-10: in binary64, truncated toward zero, clamped; NaN becomes 0.
template <typename T>
T ScaledInteger(const ScaleBias& scale_bias, T x) {
  const double product = static_cast<double>(x) * ToDouble(scale_bias.scale);
  const double value = std::trunc(product + ToDouble(scale_bias.bias));
  if (std::isnan(value)) return 0;
  constexpr T kMin = std::numeric_limits<T>::min();
  constexpr T kMax = std::numeric_limits<T>::max();
  if (value < static_cast<double>(kMin)) return kMin;
  if (value > static_cast<double>(kMax)) return kMax;
  return static_cast<T>(value);
}

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
      bits = ToBits(ScaledFloat(*factors, x));
    }
  });
  return {bits};
}

template <ElementWiseFunction kFunction>
Expectation Element(const OperatorDesc& desc, std::span<const ConstTensorView> inputs, size_t,
                    const Dims& index) {
  ElementWiseCall call{.function = kFunction};
  for (const Field* field : desc.fields()) {
    if (field != &kScaleBias) continue;
    if (const ScaleBias* factors = desc.find(kScaleBias)) call.scale_bias = *factors;
  }
  std::vector<StoredElement> elements;
  for (const ConstTensorView& input : inputs)
    elements.push_back({input.type, BitsAt(input, index)});
  return {ElementOf(call, elements, *desc[kOutputTensor].data_type)};
}

using F = ElementWiseFunction;
constexpr NamedOracle kOracles[] = {
    {"ELEMENT_WISE_IDENTITY", Identity},
    {"ELEMENT_WISE_ABS", Element<F::kAbs>},
    {"ELEMENT_WISE_ADD", Element<F::kAdd>},
};

}  // namespace

std::span<const NamedOracle> ElementWiseOracles() {
  return kOracles;
}

}  // namespace dmlop::reference
