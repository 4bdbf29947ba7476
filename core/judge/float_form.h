// SPDX-License-Identifier: Apache-2.0
// The float types of tensors as units see them: their range and the distances between numbers.
#pragma once

#include <algorithm>
#include <cmath>

#include "core/tensor/data_type.h"

namespace dmlop {

// Numbers of a float type have `digits` binary digits, and exponents as frexp has them.
struct FloatForm {
  int digits;
  int least_exponent;  // of normal numbers
  int most_exponent;

  double Least() const { return std::ldexp(0.5, least_exponent); }
  double Most() const { return std::ldexp(1 - std::ldexp(1, -digits), most_exponent); }
  double Roundoff() const { return std::ldexp(1, -digits); }
  // The distance to the next number.
  double Ulp(double x) const {
    int exponent = least_exponent;
    if (x != 0) std::frexp(x, &exponent);
    return std::ldexp(1, std::max(exponent, least_exponent) - digits);
  }
  // An infinity is as far from numbers as the one that would come next.
  double Finite(double x) const {
    return std::isinf(x) ? std::copysign(std::ldexp(1, most_exponent), x) : x;
  }
};

inline constexpr FloatForm kFormOfBfloat16 = {8, -125, 128};

inline FloatForm FormOf(DataType type) {
  switch (type) {
    case DataType::kFloat16:
      return {11, -13, 16};
    case DataType::kFloat64:
      return {53, -1021, 1024};
    default:
      return {24, -125, 128};
  }
}

}  // namespace dmlop
