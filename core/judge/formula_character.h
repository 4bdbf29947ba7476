// SPDX-License-Identifier: Apache-2.0
// What can be said of a formula without a look at the values of elements.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "core/ops/formula.h"

namespace dmlop {

struct FormulaCharacter {
  int sign = 0;                // of the value: 1 or -1 where it is known, else 0
  bool is_of_one_sign = true;  // no sum has terms of different signs, so that the sum of the
                               // magnitudes is the magnitude of the result
  bool is_polynomial = true;   // nothing but sums, products, squares and divisions by numbers
  bool is_linear = true;       // likewise, but without squares and magnitudes
  bool has_list = false;       // a sum or product of any number of operands
  bool has_function = false;   // anything but sums, products and choices
  bool has_logarithm = false;  // of what was computed
};

// `signs` are those of the inputs' elements: 1, -1, or 0 if unknown.
FormulaCharacter CharacterOf(const Formula& formula, Formula::Node last,
                             std::span<const int> signs);

}  // namespace dmlop
