// SPDX-License-Identifier: Apache-2.0
#include "tests/exhaustive/wide_function.h"

#include <bit>
#include <cstdint>

// The C library has vector forms, but <cmath> declares them only if the compiler may break the
// rules of arithmetic. Hence <cmath> is not included.
#if defined(__x86_64__) && !defined(__clang__)
#define DMLOP_VECTOR_FORM __attribute__((simd("notinbranch")))
#else
#define DMLOP_VECTOR_FORM
#endif
#define DMLOP_DECLARE(function) extern "C" double function(double) noexcept DMLOP_VECTOR_FORM;

DMLOP_DECLARE(exp)
DMLOP_DECLARE(expm1)
DMLOP_DECLARE(log)
DMLOP_DECLARE(log1p)
DMLOP_DECLARE(sin)
DMLOP_DECLARE(cos)
DMLOP_DECLARE(tan)
DMLOP_DECLARE(asin)
DMLOP_DECLARE(acos)
DMLOP_DECLARE(atan)
DMLOP_DECLARE(sinh)
DMLOP_DECLARE(cosh)
DMLOP_DECLARE(tanh)
DMLOP_DECLARE(asinh)
DMLOP_DECLARE(acosh)
DMLOP_DECLARE(atanh)
DMLOP_DECLARE(erf)
DMLOP_DECLARE(erfc)
extern "C" double pow(double, double) noexcept DMLOP_VECTOR_FORM;
extern "C" double atan2(double, double) noexcept DMLOP_VECTOR_FORM;

namespace dmlop {
namespace {

// The vector form of acosh returns numbers for arguments below 1.
constexpr double kNan = __builtin_nan("");

template <typename Function>
inline void ForEach(size_t count, double* y, const float* x, Function function) {
#pragma GCC ivdep
  for (size_t i = 0; i < count; ++i) y[i] = function(static_cast<double>(x[i]));
}

}  // namespace

// Has no branches, so that the compiler vectorizes it.
bool AllAgree(size_t count, const float* results, const double* wide) {
  uint32_t differ = 0;
  for (size_t i = 0; i < count; ++i) {
    const float least = static_cast<float>(wide[i] * (1 - kWideError));
    const float most = static_cast<float>(wide[i] * (1 + kWideError));
    const uint32_t bits = std::bit_cast<uint32_t>(results[i]);
    const uint32_t nan = 0x7FC00000;
    const uint32_t low = least != least ? nan : std::bit_cast<uint32_t>(least);
    const uint32_t high = most != most ? nan : std::bit_cast<uint32_t>(most);
    differ |= (low ^ bits) | (high ^ bits);
  }
  return differ == 0;
}

void WideFunction(const CheckedFunction& function, size_t count, double* y, const float* x) {
#define DMLOP_CASE(name, expression) \
  case ElementWiseFunction::name:    \
    return ForEach(count, y, x, [a, b](double v) { return expression; });
  const auto [a, b] = function.parameters;
  switch (function.function) {
    DMLOP_CASE(kExp, exp(v))
    DMLOP_CASE(kLog, log(v))
    DMLOP_CASE(kSin, sin(v))
    DMLOP_CASE(kCos, cos(v))
    DMLOP_CASE(kTan, tan(v))
    DMLOP_CASE(kAsin, asin(v))
    DMLOP_CASE(kAcos, acos(v))
    DMLOP_CASE(kAtan, atan(v))
    DMLOP_CASE(kSinh, sinh(v))
    DMLOP_CASE(kCosh, cosh(v))
    DMLOP_CASE(kTanh, tanh(v))
    DMLOP_CASE(kAsinh, asinh(v))
    DMLOP_CASE(kAcosh, v < 1 ? kNan : acosh(v))
    DMLOP_CASE(kAtanh, atanh(v))
    DMLOP_CASE(kErf, erf(v))
    DMLOP_CASE(kSigmoid, 1 / (1 + exp(-v)))
    DMLOP_CASE(kGelu, 0.5 * v * erfc(v * -0x1.6a09e667f3bcdp-1))
    DMLOP_CASE(kElu, v >= 0 ? v : a * expm1(v))
    DMLOP_CASE(kScaledElu, b * (v > 0 ? v : a * expm1(v)))
    DMLOP_CASE(kSoftplus, (log1p(exp(-(v < 0 ? -v : v) * a)) + (v < 0 ? 0 : v * a)) / a)
    DMLOP_CASE(kSwish, v / (1 + exp(-v * a)))
    default:
      return;
  }
}

void WideFunctionOfPairs(ElementWiseFunction function, size_t count, double* y, double x,
                         const double* seconds) {
#pragma GCC ivdep
  for (size_t i = 0; i < count; ++i) {
    y[i] = function == ElementWiseFunction::kPow ? pow(x, seconds[i]) : atan2(x, seconds[i]);
  }
}

}  // namespace dmlop
