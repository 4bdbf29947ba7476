// SPDX-License-Identifier: Apache-2.0
// Levels of errors for the colors and shades of maps of differences.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "core/compare/difference_map.h"

namespace dmlop {

// Each level has errors of up to twice as much as the one before: in ULP and units the first is 0
// and the second up to 1; otherwise the last has the largest error.
class ErrorScale {
 public:
  static constexpr uint8_t kPasses = 0;
  static constexpr uint8_t kMismatch = 67;

  explicit ErrorScale(const DifferenceMap& map);

  ErrorMeasure measure() const { return measure_; }

  // The levels that are told apart, some even if all errors are alike. Those below the first are
  // drawn like it.
  uint8_t first() const { return first_; }
  uint8_t last() const { return last_; }

  uint8_t LevelOf(const DifferenceCell& cell) const;

  // Returns 0 for the first level, 1 for the last one.
  double Position(uint8_t level) const;

  // The largest error of a level: "8", "2^30", "1.5e-07".
  std::string TextOf(uint8_t level) const;

 private:
  bool is_counted() const {
    return measure_ == ErrorMeasure::kUlp || measure_ == ErrorMeasure::kUnits;
  }
  uint8_t LevelOf(double error) const;

  ErrorMeasure measure_;
  double largest_ = 0;
  uint8_t first_, last_;
};

// "ULP", "units", "absolute", "relative".
std::string_view NameOf(ErrorMeasure measure);

// "[0, 3]", or nothing for the only plane of a tensor.
std::string PanelTitle(const DifferencePanel& panel);

}  // namespace dmlop
