// What a sum adds up for each element x.
#pragma once

#include <cmath>

namespace dmlop {

enum class SumTerm { kItself, kMagnitude, kSquare };

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
