// SPDX-License-Identifier: Apache-2.0
// The terms of a sum that an exact sum of the others cannot hold.
#pragma once

#include <cmath>

namespace dmlop {

// Zeros, which have signs, infinities and NaN, added as IEEE 754 adds them.
class SpecialTerms {
 public:
  // Takes a term if it is special. Any other has to be added to the sum of the others.
  bool Take(double term) {
    const bool is_special = term == 0 || !std::isfinite(term);
    const double taken = is_special ? term : 0.0;
    sum_ = is_empty_ ? taken : sum_ + taken;
    is_empty_ = false;
    has_others_ |= !is_special;
    return is_special;
  }

  bool are_finite() const { return std::isfinite(sum_); }
  bool has_others() const { return has_others_; }

  // Returns the sum of all terms if that of the others is 0, or some term is not finite: -0 if all
  // terms are, +0 if there is none.
  double sum() const { return sum_; }

 private:
  double sum_ = 0;
  bool is_empty_ = true;
  bool has_others_ = false;
};

}  // namespace dmlop
