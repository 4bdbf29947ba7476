// SPDX-License-Identifier: Apache-2.0
#include "tests/reference/transcendental.h"

#include <gmp.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "core/tensor/visit_data_type.h"
#include "tests/reference/element.h"
#include "tests/reference/operators.h"
#include "tests/reference/scale_bias.h"

namespace dmlop::reference {
namespace {

using F = ElementWiseFunction;

// SPC-5: the formulas in IEEE arithmetic. e^x - 1 and ln(1 + x) are single steps, because nothing
// overflows or underflows in between (SPC-4).
double AsWritten(F function, double x, Parameters parameters) {
  const auto [a, b] = parameters;
  switch (function) {
    case F::kElu:
      return x >= 0 ? x : a * std::expm1(x);
    case F::kCelu:  // SPC-2: NaN loses, -0 is less than +0
      return (x > 0 ? x : 0.0) + (a * std::expm1(x / a) < 0 ? a * std::expm1(x / a) : 0.0);
    case F::kScaledElu:
      if (x > 0) return b * x;
      // A zero difference is +0.
      return b * (std::isfinite(a) ? a * std::expm1(x) + 0.0 : a * std::exp(x) - a);
    case F::kScaledTanh:
      return a * std::tanh(b * x);
    case F::kSoftplus:
      return std::log1p(std::exp(a * x)) / a;
    case F::kParametricSoftplus:
      return a * std::log1p(std::exp(b * x));
    case F::kSwish:
      return x / (1 + std::exp(-a * x));
    default:
      return std::numeric_limits<double>::quiet_NaN();
  }
}

// MPFR follows C, including infinities and NaN.
bool IsOneCallOfMpfr(F function) {
  return function <= F::kGelu || function == F::kConstantPow || function == F::kPow ||
         function == F::kAtanYx;
}

}  // namespace

template <typename T>
T ExpectedElement(F function, double x, Parameters parameters) {
  const bool is_usual = std::isfinite(x) && std::isfinite(parameters.first) &&
                        std::isfinite(parameters.second) &&
                        !(function == F::kSoftplus && parameters.first == 0);
  if (is_usual || IsOneCallOfMpfr(function)) return ExpectedResult<T>(function, x, parameters);
  const double result = AsWritten(function, x, parameters);
  if (std::isnan(result)) return FromDouble<T>(std::bit_cast<double>(0x7FF8000000000000));
  return RoundReal<T>(Real(result));
}

template float ExpectedElement<float>(F, double, Parameters);
template Half ExpectedElement<Half>(F, double, Parameters);

namespace {

double NumberAt(const ConstTensorView& tensor, const Dims& index) {
  double number = 0;
  using Types = Join<Floats, Integers32, Integers16, Integers8>;
  VisitDataType(Types(), tensor.type,
                [&]<typename T>() { number = ToDouble(FromBits<T>(BitsAt(tensor, index))); });
  return number;
}

// SB-2, SB-3: the argument is FLOAT32 even if the input is FLOAT16.
double ArgumentAt(const OperatorDesc& desc, const ConstTensorView& input, const Dims& index) {
  const double x = NumberAt(input, index);
  const ScaleBias* factors = desc.find_if_known(kScaleBias);
  return factors == nullptr ? x : ToDouble(ScaledFloat<float>(*factors, x));
}

Expectation Rounded(DataType type, F function, double x, Parameters parameters) {
  if (type == DataType::kFloat32) {
    return {ToBits(ExpectedElement<float>(function, x, parameters))};
  }
  return {ToBits(ExpectedElement<Half>(function, x, parameters))};
}

// The function's numbers are the desc's FLOAT attributes in their order.
Parameters NumbersOf(const OperatorDesc& desc) {
  double numbers[2] = {};
  size_t count = 0;
  for (const FieldValue& value : desc.values()) {
    if (const float* number = std::get_if<float>(&value)) numbers[count++] = ToDouble(*number);
  }
  return {numbers[0], numbers[1]};
}

template <F kFunction>
Expectation Element(const OperatorDesc& desc, std::span<const ConstTensorView> inputs, size_t,
                    const Dims& index) {
  return Rounded(inputs[0].type, kFunction, ArgumentAt(desc, inputs[0], index), NumbersOf(desc));
}

Expectation AtanYx(const OperatorDesc&, std::span<const ConstTensorView> inputs, size_t,
                   const Dims& index) {
  return Rounded(inputs[0].type, F::kAtanYx, NumberAt(inputs[0], index),
                 {NumberAt(inputs[1], index), 0});
}

// POW-4: the power modulo 2^width.
int64_t WrappedPower(double base, double exponent, int width) {
  mpz_t power, number, modulus;
  mpz_init_set_d(power, base);
  mpz_init_set_d(number, exponent);
  mpz_init(modulus);
  mpz_ui_pow_ui(modulus, 2, static_cast<unsigned long>(width));
  mpz_powm(power, power, number, modulus);
  const auto result = static_cast<int64_t>(mpz_get_ui(power));
  mpz_clears(power, number, modulus, nullptr);
  return result;
}

template <typename T>
T IntegerPower(double base, double exponent) {
  const bool is_integral = std::isfinite(exponent) && exponent == std::trunc(exponent);
  if (is_integral && exponent >= 0) {
    return static_cast<T>(WrappedPower(base, exponent, 8 * sizeof(T)));
  }
  if (is_integral && base == 0) return static_cast<T>(-1);  // POW-5, AR-4
  // POW-5, POW-6: truncated and clamped; NaN becomes 0.
  Real power(base, 400);
  const Real number(exponent, 400);
  mpfr_pow(power.get(), power.get(), number.get(), MPFR_RNDN);
  if (mpfr_nan_p(power.get())) return 0;
  const double value = mpfr_get_d(power.get(), MPFR_RNDZ);
  using Limits = std::numeric_limits<T>;
  return static_cast<T>(std::clamp(std::trunc(value), static_cast<double>(Limits::min()),
                                   static_cast<double>(Limits::max())));
}

Expectation Power(const OperatorDesc& desc, const ConstTensorView& input, const Dims& index,
                  double exponent) {
  if (IsFloat(input.type)) {
    return Rounded(input.type, F::kPow, ArgumentAt(desc, input, index), {exponent, 0});
  }
  Expectation expected;
  VisitDataType(Join<Integers32, Integers16, Integers8>(), input.type, [&]<typename T>() {
    T base = FromBits<T>(BitsAt(input, index));
    if (const ScaleBias* factors = desc.find(kScaleBias)) base = ScaledInteger(*factors, base);
    expected.bits = ToBits(IntegerPower<T>(base, exponent));
  });
  return expected;
}

Expectation Pow(const OperatorDesc& desc, std::span<const ConstTensorView> inputs, size_t,
                const Dims& index) {
  return Power(desc, inputs[0], index, NumberAt(inputs[1], index));
}

Expectation ConstantPow(const OperatorDesc& desc, std::span<const ConstTensorView> inputs, size_t,
                        const Dims& index) {
  return Power(desc, inputs[0], index, NumbersOf(desc).first);
}

constexpr NamedOracle kOracles[] = {
    {"ELEMENT_WISE_ACOS", Element<F::kAcos>},
    {"ELEMENT_WISE_ACOSH", Element<F::kAcosh>},
    {"ELEMENT_WISE_ASIN", Element<F::kAsin>},
    {"ELEMENT_WISE_ASINH", Element<F::kAsinh>},
    {"ELEMENT_WISE_ATAN", Element<F::kAtan>},
    {"ELEMENT_WISE_ATANH", Element<F::kAtanh>},
    {"ELEMENT_WISE_COS", Element<F::kCos>},
    {"ELEMENT_WISE_COSH", Element<F::kCosh>},
    {"ELEMENT_WISE_ERF", Element<F::kErf>},
    {"ELEMENT_WISE_EXP", Element<F::kExp>},
    {"ELEMENT_WISE_LOG", Element<F::kLog>},
    {"ELEMENT_WISE_SIN", Element<F::kSin>},
    {"ELEMENT_WISE_SINH", Element<F::kSinh>},
    {"ELEMENT_WISE_TAN", Element<F::kTan>},
    {"ELEMENT_WISE_TANH", Element<F::kTanh>},
    {"ELEMENT_WISE_POW", Pow},
    {"ELEMENT_WISE_CONSTANT_POW", ConstantPow},
    {"ELEMENT_WISE_ATAN_YX", AtanYx},
    {"ACTIVATION_CELU", Element<F::kCelu>},
    {"ACTIVATION_ELU", Element<F::kElu>},
    {"ACTIVATION_GELU", Element<F::kGelu>},
    {"ACTIVATION_PARAMETRIC_SOFTPLUS", Element<F::kParametricSoftplus>},
    {"ACTIVATION_SCALED_ELU", Element<F::kScaledElu>},
    {"ACTIVATION_SCALED_TANH", Element<F::kScaledTanh>},
    {"ACTIVATION_SIGMOID", Element<F::kSigmoid>},
    {"ACTIVATION_SOFTPLUS", Element<F::kSoftplus>},
    {"ACTIVATION_SWISH", Element<F::kSwish>},
    {"ACTIVATION_TANH", Element<F::kTanh>},
};

}  // namespace

std::span<const NamedOracle> TranscendentalOracles() {
  return kOracles;
}

}  // namespace dmlop::reference
