// SPDX-License-Identifier: Apache-2.0
#include "core/exact/double_double.h"

#include <bit>
#include <cstdint>
#include <iterator>

namespace dmlop {
namespace {

// ln 2 has three parts, the first two of 42 bits, so their products with an exponent are exact.
constexpr double kLn2Parts[] = {0x1.62e42fefa3800p-1, 0x1.ef35793c76000p-45, 0x1.cc01f97b57a08p-87};
constexpr DoubleDouble kPi{0x1.921fb54442d18p+1, 0x1.1a62633145c07p-53};
constexpr DoubleDouble kInverseSqrtPi{0x1.20dd750429b6dp-1, 0x1.1ae3a914fed80p-57};

double PowerOfTwo(int exponent) {
  return std::bit_cast<double>(static_cast<uint64_t>(exponent + 1023) << 52);
}

// Adds the parts of k * ln 2 one by one to x, which may cancel the first.
DoubleDouble PlusLn2(DoubleDouble x, double k) {
  for (const double part : kLn2Parts) x = x + k * part;
  return x;
}

// 1 / n! from n = 1 on.
constexpr DoubleDouble kInverseFactorials[] = {{1, 0},
                                               {0.5, 0},
                                               {0x1.5555555555555p-3, 0x1.5555555555555p-57},
                                               {0x1.5555555555555p-5, 0x1.5555555555555p-59},
                                               {0x1.1111111111111p-7, 0x1.1111111111111p-63},
                                               {0x1.6c16c16c16c17p-10, -0x1.f49f49f49f49fp-65},
                                               {0x1.a01a01a01a01ap-13, 0x1.a01a01a01a01ap-73}};

// Returns e^r - 1 for |r| <= ln 2 / 2 by that of s = r / 16, as (1 + x)^2 - 1 is x * (x + 2). The
// series of s ends below 2^-115 of its first term; from s^7 / 8! on it is below 2^-53 of that, so
// that one part suffices. Each step adds an error of a few 2^-104.
DoubleDouble ExpRest(DoubleDouble r) {
  constexpr int kDoublings = 4;
  const DoubleDouble s = Scale(r, 1.0 / (1 << kDoublings));
  double small = 0;
  for (int n = 14; n > 8; --n) small = (small + 1) * s.head / n;
  DoubleDouble sum = s * (kInverseFactorials[6].head / 8 * (small + 1));
  for (size_t n = std::size(kInverseFactorials); n-- > 0;) {
    sum = sum + kInverseFactorials[n];
    if (n > 0) sum = sum * s;
  }
  DoubleDouble rest = s * sum;
  for (int i = 0; i < kDoublings; ++i) rest = rest * (rest + 2.0);
  return rest;
}

// e^x = 2^exponent * (1 + rest).
struct ExpParts {
  int exponent;
  DoubleDouble rest;
};

ExpParts SplitExp(DoubleDouble x) {
  if (x.head > 600) x = {600, 0};
  if (x.head < -600) x = {-600, 0};
  const double k = std::nearbyint(x.head * kLog2E);
  const DoubleDouble r = k == 0 ? x : PlusLn2(x, -k);
  return {static_cast<int>(k), ExpRest(r)};
}

// Returns ln(1 + f) for 1 + f in [sqrt(1/2), sqrt(2)] as 2 * atanh(s) with s = f / (2 + f), whose
// terms are s^(2n + 1) / (2n + 1); s^46 is below 2^-116.
DoubleDouble LogSeries(DoubleDouble f) {
  const DoubleDouble s = f / (f + 2.0);
  const DoubleDouble s2 = s * s;
  DoubleDouble sum{0, 0};
  for (int n = 22; n >= 1; --n) sum = s2 * (sum + kUnity / (2 * n + 1));
  return Scale(s * (sum + 1.0), 2);
}

// Returns the exponent that leaves a factor in [sqrt(1/2), sqrt(2)).
int NearestExponent(double x) {
  const int64_t above = std::bit_cast<int64_t>(x) - std::bit_cast<int64_t>(0x1.6a09e667f3bcdp-1);
  return static_cast<int>(above >> 52);
}

DoubleDouble LogOfFactor(int exponent, DoubleDouble f) {
  return exponent == 0 ? LogSeries(f) : PlusLn2(LogSeries(f), exponent);
}

// Returns atan(t) / t for |t| <= sqrt(2) - 1; its terms are (-t * t)^n / (2n + 1).
DoubleDouble AtanSeries(DoubleDouble t) {
  const DoubleDouble t2 = t * t;
  DoubleDouble sum{0, 0};
  for (int n = 41; n >= 1; --n) sum = t2 * (kUnity / (2 * n + 1) - sum);
  return -sum + 1.0;
}

// Returns atan(n / d) for n <= d, both at least 0.
DoubleDouble AcuteAngle(DoubleDouble n, DoubleDouble d) {
  if (n.head <= 0.4140625 * d.head) {
    const DoubleDouble t = n / d;
    return t * AtanSeries(t);
  }
  const DoubleDouble t = (n - d) / (n + d);
  return kQuarterPi + t * AtanSeries(t);
}

}  // namespace

DoubleDouble Exp(DoubleDouble x) {
  const ExpParts parts = SplitExp(x);
  return Scale(parts.rest + 1.0, PowerOfTwo(parts.exponent));
}

DoubleDouble Expm1(DoubleDouble x) {
  if (std::fabs(x.head) < kNegligible) return {x.head, x.tail + x.head * x.head / 2};
  const ExpParts parts = SplitExp(x);
  if (parts.exponent == 0) return parts.rest;
  const double power = PowerOfTwo(parts.exponent);
  return Scale(parts.rest + 1.0, power) + -1.0;
}

DoubleDouble Log(DoubleDouble x) {
  const int exponent = NearestExponent(x.head);
  return LogOfFactor(exponent, Scale(x, PowerOfTwo(-exponent)) + -1.0);
}

// If 1 + x has exponent 0, its series takes x itself, without the rounding of the sum.
DoubleDouble Log1p(DoubleDouble x) {
  const DoubleDouble sum = x + 1.0;
  return NearestExponent(sum.head) == 0 ? LogSeries(x) : Log(sum);
}

// The series is x * (1 - x^2 / (2 * 3) * (1 - x^2 / (4 * 5) * ...)), cut off below 2^-115.
DoubleDouble Sin(DoubleDouble x) {
  const DoubleDouble x2 = -(x * x);
  DoubleDouble sum = kUnity;
  for (int n = 28; n >= 2; n -= 2) sum = (x2 * sum) / (n * (n + 1)) + 1.0;
  return x * sum;
}

DoubleDouble Cos(DoubleDouble x) {
  const DoubleDouble x2 = -(x * x);
  DoubleDouble sum = kUnity;
  for (int n = 27; n >= 1; n -= 2) sum = (x2 * sum) / (n * (n + 1)) + 1.0;
  return sum;
}

DoubleDouble Angle(DoubleDouble y, DoubleDouble x) {
  const bool left = std::signbit(x.head);
  if (left) x = -x;
  const DoubleDouble angle = y.head <= x.head ? AcuteAngle(y, x) : kHalfPi - AcuteAngle(x, y);
  return left ? kPi - angle : angle;
}

// All terms of 2 / sqrt(pi) * x * e^(-x * x) * (1 + 2 x^2 / 3 * (1 + 2 x^2 / 5 * ...)) are
// positive.
DoubleDouble Erf(DoubleDouble x) {
  const DoubleDouble x2 = x * x;
  DoubleDouble sum = kUnity;
  for (int n = 52; n >= 1; --n) sum = (x2 * sum) * 2.0 / (2 * n + 1) + 1.0;
  return Scale(kInverseSqrtPi * x * Exp(-x2) * sum, 2);
}

// The fraction is e^(-x * x) / sqrt(pi) / (x + 1/2 / (x + 1 / (x + 3/2 / (x + ...)))). At x = 2,
// part n + 1 reduces the error from e^(-4 * sqrt(2 n)) to e^(-4 * sqrt(2 n + 2)): 200 leave 2^-115.
DoubleDouble Erfc(DoubleDouble x, DoubleDouble square) {
  DoubleDouble fraction = x;
  for (int n = 200; n >= 1; --n) fraction = x + DoubleDouble{0.5 * n, 0} / fraction;
  return kInverseSqrtPi * Exp(-square) / fraction;
}

}  // namespace dmlop
