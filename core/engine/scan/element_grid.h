// SPDX-License-Identifier: Apache-2.0
// Finds the power of two that floats are multiples of, so that their running sums are exact in
// binary64.
#pragma once

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <optional>

#include "core/tensor/element.h"

namespace dmlop {

// The range of the elements' magnitudes.
class ElementGrid {
 public:
  template <typename T>
  void Take(T x) {
    const float value = static_cast<float>(AsDouble(x));
    const uint32_t magnitude = std::bit_cast<uint32_t>(value) & 0x7FFFFFFFu;
    most_ = std::max(most_, magnitude);
    least_ = std::min(least_, magnitude - 1);  // 0 wraps to the greatest value
  }

  // A power of two of which all sums of `count` such elements and `sum`, rounded to a multiple of
  // it, are multiples that binary64 holds. Null if some element is not a multiple of it.
  std::optional<double> Unit(double sum, int64_t count) const {
    constexpr uint32_t kInfinity = 0x7F800000u;
    if (most_ >= kInfinity) return std::nullopt;
    const double most = static_cast<double>(std::bit_cast<float>(most_));
    const double reach = std::fabs(sum) + static_cast<double>(count) * most;
    if (reach == 0) return 1;
    const double unit = std::ldexp(1.0, std::ilogb(reach) - 51);
    const uint32_t power = (least_ + 1) & kInfinity;
    const double least_unit = static_cast<double>(std::bit_cast<float>(power)) * 0x1p-23;
    return most_ == 0 || unit <= least_unit ? std::optional(unit) : std::nullopt;
  }

 private:
  uint32_t most_ = 0;
  uint32_t least_ = 0x7F7FFFFFu;  // least magnitude other than 0, less 1
};

}  // namespace dmlop
