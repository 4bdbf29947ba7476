// SPDX-License-Identifier: Apache-2.0
#include "core/exact/transcendental.h"

#include <cmath>

namespace dmlop {
namespace {

using F = ElementWiseFunction;

}  // namespace

double SpecialValue(ElementWiseFunction function, const TranscendentalArguments& arguments) {
  const auto [x, a, b] = arguments;
  switch (function) {
    case F::kExp:
      return std::exp(x);
    case F::kLog:
      return std::log(x);
    case F::kSin:
      return std::sin(x);
    case F::kCos:
      return std::cos(x);
    case F::kTan:
      return std::tan(x);
    case F::kAsin:
      return std::asin(x);
    case F::kAcos:
      return std::acos(x);
    case F::kAtan:
      return std::atan(x);
    case F::kSinh:
      return std::sinh(x);
    case F::kCosh:
      return std::cosh(x);
    case F::kTanh:
      return std::tanh(x);
    case F::kAsinh:
      return std::asinh(x);
    case F::kAcosh:
      return std::acosh(x);
    case F::kAtanh:
      return std::atanh(x);
    case F::kErf:
      return std::erf(x);
    case F::kSigmoid:
      return 1 / (1 + std::exp(-x));
    case F::kGelu:
      return 0.5 * x * (1 + std::erf(x));
    case F::kElu:
      return x >= 0 ? x : a * std::expm1(x);
    case F::kCelu:
      return (x > 0 ? x : 0.0) + std::fmin(0.0, a * std::expm1(x / a)) + 0.0;
    case F::kScaledElu:
      if (x > 0) return b * x;
      return b * (std::isinf(a) ? a * std::exp(x) - a : a * std::expm1(x) + 0.0);
    case F::kScaledTanh:
      return a * std::tanh(b * x);
    case F::kSoftplus:
      return std::log1p(std::exp(a * x)) / a;
    case F::kParametricSoftplus:
      return a * (a == 0 && std::isfinite(b * x) ? 1 : std::log1p(std::exp(b * x)));
    case F::kSwish:
      return x / (1 + std::exp(-a * x));
    case F::kConstantPow:
    case F::kPow:
      return std::pow(x, a);
    case F::kAtanYx:
      return std::atan2(x, a);
    default:
      return x;
  }
}

bool IsSpecial(ElementWiseFunction function, const TranscendentalArguments& arguments) {
  const auto [x, a, b] = arguments;
  if (!std::isfinite(x) || !std::isfinite(a) || !std::isfinite(b)) return true;
  switch (function) {
    case F::kLog:
      return x <= 0;
    case F::kAcosh:
      return x <= 1;
    case F::kAsin:
      return x == 0 || std::fabs(x) > 1;
    case F::kAcos:
      return std::fabs(x) >= 1;
    case F::kAtanh:
      return x == 0 || std::fabs(x) >= 1;
    case F::kElu:
      return x >= 0 || a == 0;
    case F::kCelu:
      return x == 0 || a == 0;
    case F::kScaledElu:
      return x == 0 || a == 0 || b == 0;
    case F::kScaledTanh:
      return x == 0 || a == 0 || b == 0;
    case F::kSoftplus:
      return a == 0;
    case F::kParametricSoftplus:
      return a == 0;
    case F::kConstantPow:
    case F::kPow:
      return x == 0 || a == 0 || std::fabs(x) == 1 || (x < 0 && a != std::trunc(a));
    case F::kAtanYx:
      return x == 0 || a == 0;
    default:
      return x == 0;
  }
}

}  // namespace dmlop
