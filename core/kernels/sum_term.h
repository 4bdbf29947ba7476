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

}  // namespace dmlop
