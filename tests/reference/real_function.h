// ElementWiseFunction functions in MPFR, as the formulas have them.
#pragma once

#include "core/exact/functions.h"
#include "tests/exact/mpfr_oracle.h"

namespace dmlop {

struct NamedFunction {
  const char* name;
  ElementWiseFunction function;
};

// By their operators' names.
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

// What a function takes besides an element: its numbers, or the second element.
struct Parameters {
  double first = 0;
  double second = 0;
};

// The result of any x and finite parameters, in arithmetic of so many bits; NaN where there is
// none.
Real RealFunction(ElementWiseFunction function, double x, Parameters parameters,
                  mpfr_prec_t precision);

// The same rounded; NaN is the canonical one. Near 0, and of a softplus far from it, what a result
// is next to shows only behind many digits: 0.5 + x / 4, say.
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
