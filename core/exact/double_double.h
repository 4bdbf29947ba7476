// SPDX-License-Identifier: Apache-2.0
// Arithmetic of about 106 bits: a number is the unevaluated sum of two binary64 numbers. Only IEEE
// additions, multiplications and divisions are used, so the bits are the same on every machine. A
// tail may be as small as binary64 allows, so even a part that is tiny compared with the head keeps
// its sign.
#pragma once

#include <cfloat>
#include <cmath>
#include <span>

namespace dmlop {

// --- operations and their errors -----------------------------------------------------------------

// Binary64 operations that also return their rounding error. They need round-to-nearest.

static_assert(FLT_EVAL_METHOD == 0, "results must not depend on wider intermediate registers");

// The unevaluated sum head + tail, where head is the sum rounded to binary64.
struct HeadTail {
  double head;
  double tail;
};

inline HeadTail TwoSum(double a, double b) {
  const double head = a + b;
  const double b_part = head - a;
  const double a_part = head - b_part;
  return {head, (a - a_part) + (b - b_part)};
}

// Does the same as TwoSum for |a| >= |b|.
inline HeadTail FastTwoSum(double a, double b) {
  const double head = a + b;
  return {head, b - (head - a)};
}

// A sum of many numbers, within a bound that is small compared with the tail.
struct BoundedSum {
  HeadTail sum;
  double bound;
};

// Sums finite parts, and overwrites them. Parts in descending order take the least time.
inline BoundedSum SumOfParts(std::span<double> parts) {
  size_t used = 0;
  for (const double part : parts) {
    if (part != 0) parts[used++] = part;
  }
  if (used == 0) return {{0, 0}, 0};
  // Each pass fills from below what the one before it left as zeros, until parts do not overlap.
  for (;;) {
    double rest = 0;
    for (size_t k = used - 1; k > 0; --k) {
      const HeadTail sum = TwoSum(parts[k - 1], parts[k]);
      parts[k - 1] = sum.head;
      parts[k] = sum.tail;
      if (k > 1) rest += std::fabs(sum.tail);
    }
    const double tail = used > 1 ? parts[1] : 0.0;
    if (!(rest > std::fabs(tail) * 0x1p-40)) return {{parts[0], tail}, rest * (1 + 0x1p-40)};
  }
}

// --- pairs ---------------------------------------------------------------------------------------

using DoubleDouble = HeadTail;

// Returns a * b exactly, for products in [2^-960, 2^990], without a fused multiply-add, which not
// every machine has.
inline HeadTail TwoProduct(double a, double b) {
  constexpr double kSplitter = 0x1p27 + 1;
  const auto high_half = [](double x) {
    const double scaled = x * kSplitter;
    return scaled - (scaled - x);
  };
  const double a_high = high_half(a);
  const double b_high = high_half(b);
  const double a_low = a - a_high;
  const double b_low = b - b_high;
  const double head = a * b;
  return {head, ((a_high * b_high - head) + a_high * b_low + a_low * b_high) + a_low * b_low};
}

inline DoubleDouble operator-(DoubleDouble a) {
  return {-a.head, -a.tail};
}

inline DoubleDouble operator+(DoubleDouble a, DoubleDouble b) {
  const HeadTail heads = TwoSum(a.head, b.head);
  const HeadTail tails = TwoSum(a.tail, b.tail);
  const HeadTail sum = FastTwoSum(heads.head, heads.tail + tails.head);
  return FastTwoSum(sum.head, sum.tail + tails.tail);
}

inline DoubleDouble operator+(DoubleDouble a, double b) {
  const HeadTail heads = TwoSum(a.head, b);
  return FastTwoSum(heads.head, heads.tail + a.tail);
}

inline DoubleDouble operator-(DoubleDouble a, DoubleDouble b) {
  return a + -b;
}

inline DoubleDouble operator*(DoubleDouble a, double b) {
  const HeadTail product = TwoProduct(a.head, b);
  return FastTwoSum(product.head, product.tail + a.tail * b);
}

inline DoubleDouble operator*(DoubleDouble a, DoubleDouble b) {
  const HeadTail product = TwoProduct(a.head, b.head);
  return FastTwoSum(product.head, product.tail + (a.head * b.tail + a.tail * b.head));
}

inline DoubleDouble operator/(DoubleDouble a, double b) {
  const double first = a.head / b;
  const DoubleDouble rest = a - TwoProduct(first, b);
  return FastTwoSum(first, (rest.head + rest.tail) / b);
}

inline DoubleDouble operator/(DoubleDouble a, DoubleDouble b) {
  const double first = a.head / b.head;
  const DoubleDouble rest = a - b * first;
  const double second = rest.head / b.head;
  const DoubleDouble last = rest - b * second;
  return FastTwoSum(first, second) + last.head / b.head;
}

// Multiplies by a power of two; no part may underflow.
inline DoubleDouble Scale(DoubleDouble a, double power_of_two) {
  return {a.head * power_of_two, a.tail * power_of_two};
}

inline DoubleDouble SquareRoot(DoubleDouble a) {
  if (a.head == 0) return a;
  const double first = std::sqrt(a.head);
  const DoubleDouble rest = a - TwoProduct(first, first);
  return FastTwoSum(first, rest.head / (2 * first));
}

// --- elementary functions, within 2^-95 of the result --------------------------------------------

inline constexpr DoubleDouble kUnity{1, 0};
inline constexpr double kLog2E = 0x1.71547652b82fep+0;
inline constexpr DoubleDouble kHalfPi{0x1.921fb54442d18p+0, 0x1.1a62633145c07p-54};
inline constexpr DoubleDouble kQuarterPi{0x1.921fb54442d18p-1, 0x1.1a62633145c07p-55};
//
// Each takes a few microseconds, so they only resolve what an approximation leaves open.

// The square of a smaller number is negligible compared with 1.
inline constexpr double kNegligible = 0x1p-60;

// Return e^x and e^x - 1 for x clamped to [-600, 600]; FLOAT32 cannot tell the results beyond
// apart.
DoubleDouble Exp(DoubleDouble x);
DoubleDouble Expm1(DoubleDouble x);

// Return ln x for x > 0, and ln(1 + x) for x > -1.
DoubleDouble Log(DoubleDouble x);
DoubleDouble Log1p(DoubleDouble x);

// Take |x| <= pi / 4.
DoubleDouble Sin(DoubleDouble x);
DoubleDouble Cos(DoubleDouble x);

// Returns the angle in [0, pi] of the point (x, y), y >= 0, which is not the origin.
DoubleDouble Angle(DoubleDouble y, DoubleDouble x);

// Returns 2 / sqrt(pi) * the integral of e^(-t * t) from 0 to x, for x in [0, 2].
DoubleDouble Erf(DoubleDouble x);

// Returns 1 - Erf(x) for x >= 2; `square` is x * x.
DoubleDouble Erfc(DoubleDouble x, DoubleDouble square);

}  // namespace dmlop
