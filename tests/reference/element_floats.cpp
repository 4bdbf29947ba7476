// SPDX-License-Identifier: Apache-2.0
#include <cassert>
#include <cmath>

#include "tests/reference/element_parts.h"

namespace dmlop::reference {
namespace {

using enum ElementWiseFunction;

// RED-16, RED-17.
double PageMax(double a, double b) {
  if (std::isnan(a)) return b;
  if (std::isnan(b)) return a;
  if (a == 0 && b == 0) return std::signbit(a) ? b : a;
  return a > b ? a : b;
}
double PageMin(double a, double b) {
  if (std::isnan(a)) return b;
  if (std::isnan(b)) return a;
  if (a == 0 && b == 0) return std::signbit(a) ? a : b;
  return a < b ? a : b;
}

uint64_t HardSigmoid(const FloatCall& c) {
  const double plain = Affine(c.p(0), c.x[0], c.p(1));
  if (!std::isfinite(plain)) return c.Value(PageMax(0, PageMin(plain, 1)));
  const Exact exact = Affine(c.P(0), c.E(0), c.P(1));
  if (!(exact < 1)) return c.Value(1);
  if (!(exact > 0)) return c.Value(0);
  return c.Value(exact, plain);
}

uint64_t HardSwish(const FloatCall& c) {
  const double plain = Affine(c.p(0), c.x[0], c.p(1));
  if (!std::isfinite(plain)) return c.Value(c.x[0] * PageMax(0, PageMin(plain, 1)));
  const Exact exact = Affine(c.P(0), c.E(0), c.P(1));
  if (!(exact < 1)) return c.Value(c.x[0]);
  if (!(exact > 0)) return c.Value(c.x[0] * 0.0);
  return c.Value(c.E(0) * exact, c.x[0] * plain);
}

}  // namespace

uint64_t ElementOfFloats(ElementWiseFunction function, const FloatCall& c) {
  const double a = c.x[0];
  const double b = c.x[1];
  switch (function) {
    case kAbs:
      return c.Value(std::fabs(a));
    case kNegate:
      return c.Value(-a);
    case kSign:
      return c.Value(a > 0 ? 1 : a < 0 ? -1 : 0);
    case kCeil:
      return c.Value(std::ceil(a));
    case kFloor:
      return c.Value(std::floor(a));
    case kRoundHalvesToEven:
      return c.Value(std::nearbyint(a));
    case kRoundTowardZero:
      return c.Value(std::trunc(a));
    case kRoundHalvesAway:
      return c.Value(std::round(a));
    case kSqrt:
      return c.Value(a > 0 && std::isfinite(a) ? sqrt(c.E(0)) : Exact(0), std::sqrt(a));
    case kRecip:
      return c.Value(Exact(1) / c.E(0), 1 / a);
    case kAdd:
      return c.Value(c.E(0) + c.E(1), a + b);
    case kSubtract:
      return c.Value(c.E(0) - c.E(1), a - b);
    case kMultiply:
      return c.Value(c.E(0) * c.E(1), a * b);
    case kDivide:
      return c.Value(c.E(0) / c.E(1), a / b);
    case kMean:
      return c.Value((c.E(0) + c.E(1)) / Exact(2), (a + b) / 2);
    case kDifferenceSquare:
      return c.Value((c.E(0) - c.E(1)) * (c.E(0) - c.E(1)), (a - b) * (a - b));
    case kMax:
      return c.Value(PageMax(a, b));
    case kMin:
      return c.Value(PageMin(a, b));
    case kModulusTruncate:
      return c.Value(std::fmod(a, b));
    case kModulusFloor: {
      const double rest = std::fmod(a, b);
      if (rest == 0) return c.Value(std::copysign(0.0, b));
      if (std::signbit(rest) == std::signbit(b)) return c.Value(rest);
      return c.Value(Exact(rest) + c.E(1), rest + b);
    }
    case kClip:
      return c.Value(PageMax(c.p(0), PageMin(a, c.p(1))));
    case kThreshold:
      return c.Value(PageMax(a, c.p(0)));
    case kRelu:
      return c.Value(PageMax(0, a));
    case kLeakyRelu:
      return a >= 0 ? c.Value(a) : c.Value(c.P(0) * c.E(0), c.p(0) * a);
    case kParameterizedRelu:
      return a >= 0 ? c.Value(a) : c.Value(c.E(1) * c.E(0), b * a);
    case kThresholdedRelu:
      return c.Value(a > c.p(0) ? a : 0);
    case kMultiplyAdd:
      return c.Value(Affine(c.P(0), c.E(0), c.E(1)), Affine(c.p(0), a, b));
    case kShrink:
      if (a > c.p(1)) return c.Value(c.E(0) - c.P(0), a - c.p(0));
      if (a < -c.p(1)) return c.Value(c.E(0) + c.P(0), a + c.p(0));
      return c.Value(0);
    case kHardSigmoid:
      return HardSigmoid(c);
    case kHardSwish:
      return HardSwish(c);
    case kSoftsign:
      return c.Value(c.E(0) / (Exact(1) + fabs(c.E(0))), a / (1 + std::fabs(a)));
    default:
      assert(false);
      return 0;
  }
}

}  // namespace dmlop::reference
