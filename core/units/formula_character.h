// SPDX-License-Identifier: Apache-2.0
// The properties of a formula that do not depend on the values of elements.
#pragma once

#include <span>
#include <vector>

#include "core/ops/formula.h"

namespace dmlop {

struct FormulaCharacter {
  int sign = 0;                   // of the value: 1 or -1 where it is known, else 0
  bool is_of_one_sign = true;     // no sum has terms of different signs, so that the sum of the
                                  // magnitudes is the magnitude of the result
  bool is_polynomial = true;      // nothing but sums, products, squares and divisions by numbers
  bool rounds = false;            // anything but choices, negations and magnitudes
  bool has_weights = false;       // products with numbers other than 1
  bool has_long_product = false;  // whose parts may be beyond the type
  bool has_function = false;      // anything but sums, products and choices
  bool has_logarithm = false;     // of what was computed
  bool is_beside_one = false;     // devices may compute it from numbers near 1
  bool has_mixed_sum = false;     // of terms of different signs, in a function, divisor or choice

  // Adds what is said of another formula, or a part of this one, but for its sign.
  void Add(const FormulaCharacter& other) {
    is_of_one_sign &= other.is_of_one_sign;
    is_polynomial &= other.is_polynomial;
    rounds |= other.rounds;
    has_weights |= other.has_weights;
    has_long_product |= other.has_long_product;
    has_function |= other.has_function;
    has_logarithm |= other.has_logarithm;
    is_beside_one |= other.is_beside_one;
    has_mixed_sum |= other.has_mixed_sum;
  }
};

// `signs` are those of the inputs' elements: 1, -1, or 0 if unknown.
FormulaCharacter CharacterOf(const Formula& formula, Formula::Node last,
                             std::span<const int> signs);

// Returns the numbers in a formula that operators of training have outputs for, or gradients
// inputs. A device may take them from there, rounded to FLOAT16.
std::vector<Formula::Node> NumbersOfTensors(const OperatorDesc& op, const Formula& formula,
                                            Formula::Node last);

}  // namespace dmlop
