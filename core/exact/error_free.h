// Binary64 operations that return their rounding error too. They need round-to-nearest.
#pragma once

#include <cfloat>

namespace dmlop {

static_assert(FLT_EVAL_METHOD == 0, "results must not depend on wider intermediate registers");

// The unevaluated sum head + tail, with head the sum rounded to binary64.
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

// As TwoSum, for |a| >= |b|.
inline HeadTail FastTwoSum(double a, double b) {
  const double head = a + b;
  return {head, b - (head - a)};
}

}  // namespace dmlop
