#include "tests/exact/real_function.h"

#include <cmath>

namespace dmlop {
namespace {

constexpr mpfr_rnd_t kNearest = MPFR_RNDN;

// Near 0, and of a softplus far from it, what a result is next to shows only behind many digits:
// 0.5 + x / 4, say. Elsewhere none is nearer to a rounding boundary than 2^-100, but for results
// that are one.
mpfr_prec_t PrecisionFor(Transcendental function, double x, Parameters parameters) {
  const bool is_softplus =
      function == Transcendental::kSoftplus || function == Transcendental::kParametricSoftplus;
  const auto is_far = [&](double value) {
    return value != 0 && (std::fabs(value) < 0x1p-30 || (is_softplus && std::fabs(value) > 64));
  };
  const double ratio = function == Transcendental::kAtanYx ? x / parameters.first : 0;
  const bool are_far =
      is_far(x) || is_far(x * parameters.first) || is_far(x * parameters.second) || is_far(ratio);
  return are_far ? 1400 : 240;
}

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

MpfrFunction UnaryFunction(Transcendental function) {
  switch (function) {
    case Transcendental::kExp:
      return mpfr_exp;
    case Transcendental::kLog:
      return mpfr_log;
    case Transcendental::kSin:
      return mpfr_sin;
    case Transcendental::kCos:
      return mpfr_cos;
    case Transcendental::kTan:
      return mpfr_tan;
    case Transcendental::kAsin:
      return mpfr_asin;
    case Transcendental::kAcos:
      return mpfr_acos;
    case Transcendental::kAtan:
      return mpfr_atan;
    case Transcendental::kSinh:
      return mpfr_sinh;
    case Transcendental::kCosh:
      return mpfr_cosh;
    case Transcendental::kTanh:
      return mpfr_tanh;
    case Transcendental::kAsinh:
      return mpfr_asinh;
    case Transcendental::kAcosh:
      return mpfr_acosh;
    case Transcendental::kAtanh:
      return mpfr_atanh;
    case Transcendental::kErf:
      return mpfr_erf;
    case Transcendental::kSigmoid:
      return Sigmoid;
    case Transcendental::kGelu:
      return Gelu;
    default:
      return nullptr;
  }
}

// factor * (e^y - 1).
void ScaledExpm1(mpfr_ptr y, double factor) {
  mpfr_expm1(y, y, kNearest);
  mpfr_mul_d(y, y, factor, kNearest);
}
// ln(1 + e^y). Far from 0 the exponential is only the sign of a rest.
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

void WithParameters(Transcendental function, mpfr_ptr y, double x, Parameters parameters) {
  const auto [a, b] = parameters;
  switch (function) {
    case Transcendental::kElu:
      if (!(x >= 0)) ScaledExpm1(y, a);
      break;
    case Transcendental::kCelu:
      mpfr_div_d(y, y, a, kNearest);
      ScaledExpm1(y, a);
      if (!(mpfr_sgn(y) < 0)) mpfr_set_zero(y, 1);
      if (x > 0) mpfr_add_d(y, y, x, kNearest);
      break;
    case Transcendental::kScaledElu:
      if (!(x > 0)) ScaledExpm1(y, a);
      if (mpfr_zero_p(y)) mpfr_set_zero(y, 1);
      mpfr_mul_d(y, y, b, kNearest);
      break;
    case Transcendental::kScaledTanh:
      mpfr_mul_d(y, y, b, kNearest);
      mpfr_tanh(y, y, kNearest);
      mpfr_mul_d(y, y, a, kNearest);
      break;
    case Transcendental::kSoftplus:
      mpfr_mul_d(y, y, a, kNearest);
      SoftMaximum(y);
      mpfr_div_d(y, y, a, kNearest);
      break;
    case Transcendental::kParametricSoftplus:
      mpfr_mul_d(y, y, b, kNearest);
      SoftMaximum(y);
      mpfr_mul_d(y, y, a, kNearest);
      break;
    case Transcendental::kSwish:
      mpfr_mul_d(y, y, a, kNearest);
      Sigmoid(y, y, kNearest);
      mpfr_mul_d(y, y, x, kNearest);
      break;
    case Transcendental::kPow: {
      const Real exponent(a, 64);
      mpfr_pow(y, y, exponent.get(), kNearest);
      break;
    }
    case Transcendental::kAtanYx: {
      const Real other(a, 64);
      mpfr_atan2(y, y, other.get(), kNearest);
      break;
    }
    default:
      break;
  }
}

}  // namespace

Real RealFunction(Transcendental function, double x, Parameters parameters) {
  Real y(x, PrecisionFor(function, x, parameters));
  if (const MpfrFunction unary = UnaryFunction(function); unary != nullptr) {
    const Real argument = y;
    unary(y.get(), argument.get(), kNearest);
  } else {
    WithParameters(function, y.get(), x, parameters);
  }
  return y;
}

}  // namespace dmlop
