// SPDX-License-Identifier: Apache-2.0
// The greatest of some numbers, as MAX_POOLING and REDUCE MAX define it.
#pragma once

#include <cmath>
#include <limits>

namespace dmlop {

// NaN is ignored, and is the result if there is no number; -0 is less than +0.
class Greatest {
 public:
  void Add(double value) {
    if (std::isnan(value)) return;
    if (!(value <= value_) || (value == value_ && std::signbit(value_))) value_ = value;
  }

  double value() const { return value_; }

 private:
  double value_ = std::numeric_limits<double>::quiet_NaN();
};

}  // namespace dmlop
