// SPDX-License-Identifier: Apache-2.0
#include "tests/reference/real_function.h"

#include <cmath>

namespace dmlop {
namespace {

using F = ElementWiseFunction;
constexpr mpfr_rnd_t kNearest = MPFR_RNDN;

int Sigmoid(mpfr_ptr y, mpfr_srcptr x, mpfr_rnd_t) {
  mpfr_neg(y, x, kNearest);
  mpfr_exp(y, y, kNearest);
  mpfr_add_ui(y, y, 1, kNearest);
  return mpfr_ui_div(y, 1, y, kNearest);
}

int Gelu(mpfr_ptr y, mpfr_srcptr x, mpfr_rnd_t) {
  Real z(0, mpfr_get_prec(y));
  mpfr_sqrt_ui(z.get(), 2, kNearest);
  mpfr_div(z.get(), x, z.get(), kNearest);
  mpfr_neg(z.get(), z.get(), kNearest);
  mpfr_erfc(z.get(), z.get(), kNearest);
  mpfr_mul(y, x, z.get(), kNearest);
  return mpfr_div_2ui(y, y, 1, kNearest);
}

using MpfrFunction = int (*)(mpfr_ptr, mpfr_srcptr, mpfr_rnd_t);

MpfrFunction UnaryFunction(ElementWiseFunction function) {
  switch (function) {
    case F::kExp:
      return mpfr_exp;
    case F::kLog:
      return mpfr_log;
    case F::kSin:
      return mpfr_sin;
    case F::kCos:
      return mpfr_cos;
    case F::kTan:
      return mpfr_tan;
    case F::kAsin:
      return mpfr_asin;
    case F::kAcos:
      return mpfr_acos;
    case F::kAtan:
      return mpfr_atan;
    case F::kSinh:
      return mpfr_sinh;
    case F::kCosh:
      return mpfr_cosh;
    case F::kTanh:
      return mpfr_tanh;
    case F::kAsinh:
      return mpfr_asinh;
    case F::kAcosh:
      return mpfr_acosh;
    case F::kAtanh:
      return mpfr_atanh;
    case F::kErf:
      return mpfr_erf;
    case F::kSigmoid:
      return Sigmoid;
    case F::kGelu:
      return Gelu;
    default:
      return nullptr;
  }
}

// factor * (e^y - 1). Far below 0 this is close to -factor, but not equal: the factor may be midway
// between two numbers.
void ScaledExpm1(mpfr_ptr y, double factor) {
  mpfr_expm1(y, y, MPFR_RNDZ);
  mpfr_mul_d(y, y, factor, kNearest);
}
// ln(1 + e^y). Far from 0, only the sign of the exponential matters.
void SoftMaximum(mpfr_ptr y) {
  Real rest(0, mpfr_get_prec(y));
  mpfr_abs(rest.get(), y, kNearest);
  mpfr_neg(rest.get(), rest.get(), kNearest);
  if (mpfr_cmp_si(rest.get(), -700) < 0) mpfr_set_si(rest.get(), -700, kNearest);
  mpfr_exp(rest.get(), rest.get(), kNearest);
  mpfr_log1p(rest.get(), rest.get(), kNearest);
  if (mpfr_sgn(y) < 0) mpfr_set_zero(y, 1);
  mpfr_add(y, y, rest.get(), kNearest);
}

void WithParameters(ElementWiseFunction function, mpfr_ptr y, double x, Parameters parameters) {
  const auto [a, b] = parameters;
  switch (function) {
    case F::kElu:
      if (!(x >= 0)) ScaledExpm1(y, a);
      break;
    case F::kCelu:
      mpfr_div_d(y, y, a, kNearest);
      ScaledExpm1(y, a);
      if (!(mpfr_sgn(y) < 0)) mpfr_set_zero(y, 1);
      if (x > 0) mpfr_add_d(y, y, x, kNearest);
      break;
    case F::kScaledElu:
      if (!(x > 0)) ScaledExpm1(y, a);
      if (mpfr_zero_p(y)) mpfr_set_zero(y, 1);
      mpfr_mul_d(y, y, b, kNearest);
      break;
    case F::kScaledTanh:
      mpfr_mul_d(y, y, b, kNearest);
      mpfr_tanh(y, y, MPFR_RNDZ);  // as above
      mpfr_mul_d(y, y, a, kNearest);
      break;
    case F::kSoftplus:
      mpfr_mul_d(y, y, a, kNearest);
      SoftMaximum(y);
      mpfr_div_d(y, y, a, kNearest);
      break;
    case F::kParametricSoftplus:
      mpfr_mul_d(y, y, b, kNearest);
      SoftMaximum(y);
      mpfr_mul_d(y, y, a, kNearest);
      break;
    case F::kSwish:
      mpfr_mul_d(y, y, a, kNearest);
      Sigmoid(y, y, kNearest);
      mpfr_mul_d(y, y, x, kNearest);
      break;
    case F::kConstantPow:
    case F::kPow: {
      const Real exponent(a, 64);
      mpfr_pow(y, y, exponent.get(), kNearest);
      break;
    }
    case F::kAtanYx: {
      const Real other(a, 64);
      mpfr_atan2(y, y, other.get(), kNearest);
      break;
    }
    default:
      break;
  }
}

}  // namespace

Real RealFunction(ElementWiseFunction function, double x, Parameters parameters,
                  mpfr_prec_t precision) {
  Real y(x, precision);
  if (const MpfrFunction unary = UnaryFunction(function); unary != nullptr) {
    const Real argument = y;
    unary(y.get(), argument.get(), kNearest);
  } else {
    WithParameters(function, y.get(), x, parameters);
  }
  return y;
}

}  // namespace dmlop
