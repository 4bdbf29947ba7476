// What a sum adds up for each element x, and what is made of the sum.
#pragma once

#include <cmath>

namespace dmlop {

enum class SumTerm { kItself, kMagnitude, kSquare };

// By vectors. The square root is that of a sum of squares.
enum class SumEnding { kItself, kAverage, kSquareRoot };

template <SumTerm kTerm>
double TermOf(double x) {
  if constexpr (kTerm == SumTerm::kMagnitude) return std::fabs(x);
  if constexpr (kTerm == SumTerm::kSquare) return x * x;
  return x;
}

// Returns body.operator()<term>().
template <typename Body>
auto VisitSumTerm(SumTerm term, Body&& body) {
  switch (term) {
    case SumTerm::kMagnitude:
      return body.template operator()<SumTerm::kMagnitude>();
    case SumTerm::kSquare:
      return body.template operator()<SumTerm::kSquare>();
    case SumTerm::kItself:
      break;
  }
  return body.template operator()<SumTerm::kItself>();
}

}  // namespace dmlop
