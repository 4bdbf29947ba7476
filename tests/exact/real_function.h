// Transcendental functions in MPFR, as the formulas have them.
#pragma once

#include "core/exact/transcendental.h"
#include "tests/exact/mpfr_oracle.h"

namespace dmlop {

struct NamedFunction {
  const char* name;
  Transcendental function;
};

// By their operators' names.
inline constexpr NamedFunction kUnaryFunctions[] = {
    {"EXP", Transcendental::kExp},     {"LOG", Transcendental::kLog},
    {"SIN", Transcendental::kSin},     {"COS", Transcendental::kCos},
    {"TAN", Transcendental::kTan},     {"ASIN", Transcendental::kAsin},
    {"ACOS", Transcendental::kAcos},   {"ATAN", Transcendental::kAtan},
    {"SINH", Transcendental::kSinh},   {"COSH", Transcendental::kCosh},
    {"TANH", Transcendental::kTanh},   {"ASINH", Transcendental::kAsinh},
    {"ACOSH", Transcendental::kAcosh}, {"ATANH", Transcendental::kAtanh},
    {"ERF", Transcendental::kErf},     {"SIGMOID", Transcendental::kSigmoid},
    {"GELU", Transcendental::kGelu},
};

// The result of finite or infinite x, NaN where there is none; exact enough that rounding it gives
// what rounding the real result gives.
Real RealFunction(Transcendental function, double x, Parameters parameters = {});

// The same rounded; NaN is the canonical one.
template <typename T>
T ExpectedResult(Transcendental function, double x, Parameters parameters = {}) {
  const Real result = RealFunction(function, x, parameters);
  return mpfr_nan_p(result.get()) ? FromDouble<T>(std::bit_cast<double>(0x7FF8000000000000))
                                  : RoundReal<T>(result);
}

}  // namespace dmlop
