// SPDX-License-Identifier: Apache-2.0
// Binary64 operations that also return their rounding error. They need round-to-nearest.
#pragma once

#include <cfloat>
#include <cmath>
#include <span>

namespace dmlop {

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

}  // namespace dmlop
