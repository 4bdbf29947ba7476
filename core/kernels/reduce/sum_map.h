// SPDX-License-Identifier: Apache-2.0
// The term of a sum for each element x, and the function of the sum.
#pragma once

#include <cmath>

namespace dmlop {

enum class SumMap { kItself, kMagnitude, kSquare };

// The square root is that of a sum of squares. Vectors compute all but logarithms.
enum class SumFinalizer { kItself, kAverage, kSquareRoot, kLog };

template <SumMap kMap>
double MapOf(double x) {
  if constexpr (kMap == SumMap::kMagnitude) return std::fabs(x);
  if constexpr (kMap == SumMap::kSquare) return x * x;
  return x;
}

// Returns body.operator()<map>().
template <typename Body>
auto VisitSumMap(SumMap map, Body&& body) {
  switch (map) {
    case SumMap::kMagnitude:
      return body.template operator()<SumMap::kMagnitude>();
    case SumMap::kSquare:
      return body.template operator()<SumMap::kSquare>();
    case SumMap::kItself:
      break;
  }
  return body.template operator()<SumMap::kItself>();
}

}  // namespace dmlop
