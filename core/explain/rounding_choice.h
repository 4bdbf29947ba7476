// SPDX-License-Identifier: Apache-2.0
// The two numbers of a float type that an exact value lies between, and which of them was taken.
#pragma once

#include <bit>
#include <cmath>
#include <functional>
#include <type_traits>

#include "core/exact/dyadic.h"
#include "core/explain/calculation.h"
#include "core/tensor/element.h"
#include "core/tensor/half.h"

namespace dmlop {

// The sign of the exact value minus x.
using CompareWith = std::function<int(const Dyadic& x)>;

// Rounding takes infinity to be 2 to this power.
template <typename T>
inline constexpr int kAfterGreatest = sizeof(T) == 8   ? 1024
                                      : sizeof(T) == 4 ? 128
                                                       : 16;

template <typename T>
Dyadic PlaceOf(T x) {
  const double value = AsDouble(x);
  if (!std::isinf(value)) return Dyadic(value);
  return Dyadic(value > 0 ? 1 : -1).TimesPowerOfTwo(kAfterGreatest<T>);
}

// The next number up or down; from the greatest, infinity.
template <typename T>
T NextNumber(T x, bool up) {
  using Bits = std::conditional_t<sizeof(T) == 8, uint64_t,
                                  std::conditional_t<sizeof(T) == 2, uint16_t, uint32_t>>;
  constexpr Bits kSign = static_cast<Bits>(Bits{1} << (8 * sizeof(T) - 1));
  const Bits bits = std::bit_cast<Bits>(x);
  const bool negative = (bits & kSign) != 0;
  if ((bits & ~kSign) == 0) return std::bit_cast<T>(static_cast<Bits>(up ? 1 : kSign | 1));
  return std::bit_cast<T>(static_cast<Bits>(negative == up ? bits - 1 : bits + 1));
}

// Fills in the rule and the neighbours for a result that is a number or an infinity. Where the
// exact value has a finite decimal, `exact` is it.
template <typename T>
void ExplainRounding(T result, const CompareWith& compare, const std::optional<Dyadic>& exact,
                     Calculation& calculation) {
  const int side = compare(PlaceOf(result));
  const bool infinite = std::isinf(AsDouble(result));
  if (side == 0 && !infinite) {
    calculation.rule = ValueRule::kExact;
    return;
  }
  // An infinity has nothing beyond it, so its neighbour is the greatest number.
  const bool result_is_below = infinite ? AsDouble(result) < 0 : side > 0;
  const T other = NextNumber(result, result_is_below);
  const T below = result_is_below ? result : other;
  const T above = result_is_below ? other : result;
  const auto neighbour = [&](T number) {
    Neighbour description{BytesOf(number), "", ""};
    if (std::isinf(AsDouble(number))) return description;
    description.exact = PlaceOf(number).ToDecimal();
    if (!exact) return description;
    const Dyadic difference = *exact - PlaceOf(number);
    description.distance = (difference.Sign() < 0 ? -difference : difference).ToDecimal();
    return description;
  };
  calculation.below = neighbour(below);
  calculation.above = neighbour(above);

  const int beyond_middle = compare((PlaceOf(below) + PlaceOf(above)).TimesPowerOfTwo(-1));
  const bool nearest =
      beyond_middle == 0 ? ElementBits(result) % 2 == 0 : (beyond_middle < 0) == result_is_below;
  if (!nearest) {
    calculation.rule = ValueRule::kWithinBound;
  } else if (infinite) {
    calculation.rule = ValueRule::kOverflow;
  } else {
    calculation.rule = beyond_middle == 0 ? ValueRule::kTieToEven : ValueRule::kNearest;
  }
}

}  // namespace dmlop
