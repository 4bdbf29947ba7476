// SPDX-License-Identifier: Apache-2.0
// Code that the oracles of regions share.
#pragma once

#include <cmath>
#include <initializer_list>
#include <limits>
#include <vector>

#include "core/tensor/tensor.h"
#include "tests/reference/element.h"

namespace dmlop::reference {

inline constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

inline double ElementAt(const ConstTensorView& view, const Dims& index) {
  return Quantity({view.type, BitsAt(view, index)});
}

// The element at the last dimensions' indices; the leading dimensions have size 1.
inline double LastAt(const ConstTensorView& view, std::initializer_list<int64_t> last) {
  Dims index = Dims::Filled(view.layout.rank() - last.size(), 0);
  for (const int64_t i : last) index.push_back(i);
  return ElementAt(view, index);
}

inline bool Exceeds(double a, double b) {
  return a > b || (a == b && !std::signbit(a) && std::signbit(b));
}

// MXP-3.
inline double Maximum(const std::vector<double>& values) {
  double greatest = kNan;
  for (const double value : values) {
    if (std::isnan(value)) continue;
    if (std::isnan(greatest) || Exceeds(value, greatest)) greatest = value;
  }
  return greatest;
}

}  // namespace dmlop::reference
