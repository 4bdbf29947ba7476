// SPDX-License-Identifier: Apache-2.0
#include "app/text/map_text.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>

namespace dmlop {
namespace {

constexpr int kLastLevel = ErrorScale::kMismatch - 1;
constexpr int kFewestLevels = 9;  // a factor of 256: noise is never drawn as the worst
constexpr int kMostLevels = 40;   // of absolute and relative errors

// Returns the least power of two, as an exponent, that is at least `value`.
int CeilExponent(double value) {
  int exponent = 0;
  return std::frexp(value, &exponent) == 0.5 ? exponent - 1 : exponent;
}

}  // namespace

ErrorScale::ErrorScale(const DifferenceMap& map) : measure_(map.measure()) {
  const auto for_each_error = [&](const auto& visit) {
    for (const DifferencePanel& panel : map.panels()) {
      for (const DifferenceCell& cell : panel.cells) {
        if (cell.count > 0 && std::isfinite(cell.worst)) visit(cell.worst);
      }
    }
  };
  for_each_error([&](double error) { largest_ = std::max(largest_, error); });
  int least = kLastLevel;
  for_each_error([&](double error) { least = std::min<int>(least, LevelOf(error)); });
  const int last = is_counted() ? std::max<int>(LevelOf(largest_), kFewestLevels + 1) : kLastLevel;
  const int first = is_counted() ? 2 : std::clamp(least, last - kMostLevels, last - kFewestLevels);
  first_ = static_cast<uint8_t>(first);
  last_ = static_cast<uint8_t>(last);
}

uint8_t ErrorScale::LevelOf(const DifferenceCell& cell) const {
  if (cell.count == 0) return kPasses;
  return cell.has_mismatch ? kMismatch : LevelOf(cell.worst);
}

uint8_t ErrorScale::LevelOf(double error) const {
  if (error == 0) return 1;
  if (std::isinf(error)) return kLastLevel;
  const int level = is_counted() ? 2 + std::max(0, CeilExponent(error))
                                 : kLastLevel + CeilExponent(error / largest_);
  return static_cast<uint8_t>(std::clamp(level, 1, kLastLevel));
}

double ErrorScale::Position(uint8_t level) const {
  const double position = static_cast<double>(level - first_) / (last_ - first_);
  return std::clamp(position, 0.0, 1.0);
}

std::string ErrorScale::TextOf(uint8_t level) const {
  constexpr int kLongDecimals = 18;  // larger numbers are written as powers
  if (!is_counted()) return fmt::format("{:.2g}", std::ldexp(largest_, level - kLastLevel));
  const int exponent = level - 2;
  return exponent + 1 < kLongDecimals ? fmt::format("{}", int64_t{1} << exponent)
                                      : fmt::format("2^{}", exponent);
}

std::string_view NameOf(ErrorMeasure measure) {
  switch (measure) {
    case ErrorMeasure::kUlp:
      return "ULP";
    case ErrorMeasure::kUnits:
      return "units";
    case ErrorMeasure::kAbsolute:
      return "absolute";
    case ErrorMeasure::kRelative:
      break;
  }
  return "relative";
}

std::string PanelTitle(const DifferencePanel& panel) {
  return panel.at.empty() ? "" : fmt::format("[{}]", fmt::join(panel.at, ", "));
}

}  // namespace dmlop
