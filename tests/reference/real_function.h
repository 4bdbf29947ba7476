// SPDX-License-Identifier: Apache-2.0
// ElementWiseFunction functions in MPFR, as their formulas define them.
#pragma once

#include "core/exact/functions.h"
#include "tests/exact/mpfr_oracle.h"

namespace dmlop {

struct NamedFunction {
  const char* name;
  ElementWiseFunction function;
};

// Named like their operators.
inline constexpr NamedFunction kUnaryFunctions[] = {
    {"EXP", ElementWiseFunction::kExp},     {"LOG", ElementWiseFunction::kLog},
    {"SIN", ElementWiseFunction::kSin},     {"COS", ElementWiseFunction::kCos},
    {"TAN", ElementWiseFunction::kTan},     {"ASIN", ElementWiseFunction::kAsin},
    {"ACOS", ElementWiseFunction::kAcos},   {"ATAN", ElementWiseFunction::kAtan},
    {"SINH", ElementWiseFunction::kSinh},   {"COSH", ElementWiseFunction::kCosh},
    {"TANH", ElementWiseFunction::kTanh},   {"ASINH", ElementWiseFunction::kAsinh},
    {"ACOSH", ElementWiseFunction::kAcosh}, {"ATANH", ElementWiseFunction::kAtanh},
    {"ERF", ElementWiseFunction::kErf},     {"SIGMOID", ElementWiseFunction::kSigmoid},
    {"GELU", ElementWiseFunction::kGelu},
};

// The operands besides the first element: a function's numbers, or the second element.
struct Parameters {
  double first = 0;
  double second = 0;
};

// The result for any x and finite parameters, with `precision` bits; NaN if there is none.
Real RealFunction(ElementWiseFunction function, double x, Parameters parameters,
                  mpfr_prec_t precision);

// The rounded result; NaN is the canonical one. Near 0, and for a softplus far from 0, many digits
// are needed to tell a result from a nearby number or midpoint: 0.5 + x / 4, for example.
template <typename T>
T ExpectedResult(ElementWiseFunction function, double x, Parameters parameters = {}) {
  const Real rough = RealFunction(function, x, parameters, 128);
  if (mpfr_nan_p(rough.get())) return FromDouble<T>(std::bit_cast<double>(0x7FF8000000000000));
  Real least = rough;
  mpfr_mul_d(least.get(), least.get(), 1 - 0x1p-50, MPFR_RNDN);
  Real most = rough;
  mpfr_mul_d(most.get(), most.get(), 1 + 0x1p-50, MPFR_RNDN);
  const T result = RoundReal<T>(least);
  if (BitsOf(result) == BitsOf(RoundReal<T>(most))) return result;
  return RoundReal<T>(RealFunction(function, x, parameters, 1400));
}

}  // namespace dmlop
