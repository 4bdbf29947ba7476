// SPDX-License-Identifier: Apache-2.0
// Chooses the character and the color of each cell of a map on the screen.
#pragma once

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <string>
#include <string_view>
#include <vector>

#include "app/text/map_text.h"
#include "app/text/tensor_text.h"

namespace dmlop {

// One cell on the screen. `paint` is empty without color.
struct Character {
  std::string text;
  std::string paint;
};

using Shades = std::vector<std::string_view>;

// From the minimum to the maximum.
inline Shades ValueShades(bool unicode) {
  if (unicode) return {" ", "░", "▒", "▓", "█"};
  return {" ", ".", ":", "-", "=", "+", "*", "#", "%", "@"};
}

// The first is for cells whose elements all pass; the others follow the share that fails.
inline Shades DifferenceShades(bool unicode) {
  if (unicode) return {"·", "░", "▒", "▓", "█"};
  return {".", "-", "+", "*", "#"};
}

inline constexpr std::array kShareLimits = {0.01, 0.1,
                                            0.5};  // limits between the shades of differences

inline constexpr std::string_view kMismatchMark = "!";
inline constexpr std::string_view kNanMark = "N";
inline constexpr std::string_view kPositiveInfinityMark = ">";
inline constexpr std::string_view kNegativeInfinityMark = "<";

// Shows the share of a cell's elements that do not pass or, if asked to, their largest error.
class DifferenceArtist {
 public:
  DifferenceArtist(const DifferenceMap& map, const MapStyle& style, bool by_error)
      : map_(map),
        errors_(map),
        by_error_(by_error),
        color_(style.color),
        shades_(DifferenceShades(style.unicode)) {}

  Character Draw(const DifferencePanel& panel, int64_t row, int64_t column) const {
    const DifferenceCell& cell = map_.cell(panel, row, column);
    if (cell.has_mismatch) return {std::string(kMismatchMark), Paint("1;35")};
    if (cell.count == 0) return {std::string(shades_[0]), Paint("2")};
    const size_t shade =
        by_error_ ? ShadeOf(errors_.LevelOf(cell)) : ShadeOf(map_.share(panel, row, column));
    return {std::string(shades_[1 + shade]), Paint("31")};
  }

  std::vector<std::string> Legend() const {
    std::vector<std::string> legend = {fmt::format("{} none differ", shades_[0])};
    for (size_t shade = 0; shade + 1 < shades_.size(); ++shade) {
      legend.push_back(fmt::format("{} {}", shades_[1 + shade],
                                   by_error_ ? ErrorText(shade) : kShareTexts[shade]));
    }
    legend.push_back(fmt::format("{} NaN or infinity on one side", kMismatchMark));
    return legend;
  }

 private:
  static constexpr std::array<std::string_view, 4> kShareTexts = {"under 1 %", "under 10 %",
                                                                  "under 50 %", "50 % or more"};

  std::string Paint(std::string_view code) const {
    return color_ ? fmt::format("\x1b[{}m", code) : "";
  }

  static size_t ShadeOf(double share) {
    const auto above = std::upper_bound(kShareLimits.begin(), kShareLimits.end(), share);
    return static_cast<size_t>(above - kShareLimits.begin());
  }

  size_t ShadeOf(uint8_t level) const {
    const auto count = static_cast<double>(kShareTexts.size());
    return static_cast<size_t>(std::min(errors_.Position(level) * count, count - 1));
  }

  std::string ErrorText(size_t shade) const {
    uint8_t level = errors_.first();
    while (level < errors_.last() && ShadeOf(static_cast<uint8_t>(level + 1)) <= shade) ++level;
    return fmt::format("up to {}{}", errors_.TextOf(level),
                       shade == 0 ? fmt::format(" {}", NameOf(errors_.measure())) : "");
  }

  const DifferenceMap& map_;
  const ErrorScale errors_;
  const bool by_error_;
  const bool color_;
  const Shades shades_;
};

class ValueArtist {
 public:
  ValueArtist(const ValueMap& map, const MapStyle& style)
      : map_(map), color_(style.color), shades_(ValueShades(style.unicode)) {}

  Character Draw(const ValueMap&, int64_t row, int64_t column) const {
    const ValueCell& cell = map_.cells[static_cast<size_t>(row * map_.grid.columns.cells + column)];
    if (cell.has_nan) return Mark(kNanMark, "1;31");
    if (cell.has_positive_infinity) return Mark(kPositiveInfinityMark, "1;33");
    if (cell.has_negative_infinity) return Mark(kNegativeInfinityMark, "1;34");
    const double position = map_.range->Position(cell.mean);
    if (!color_) return {std::string(shades_[Level(position, shades_.size())]), ""};
    return {" ", fmt::format("\x1b[48;5;{}m", kFirstGray + Level(position, kGrayCount))};
  }

  std::vector<std::string> Legend() const {
    std::vector<std::string> legend;
    if (map_.range) {
      legend.push_back(fmt::format("{} |{}| {}", NumberText(map_.type, map_.range->min), Ramp(),
                                   NumberText(map_.type, map_.range->max)));
    }
    AddMark(legend, kNanMark, "NaN", &ValueCell::has_nan);
    AddMark(legend, kPositiveInfinityMark, "inf", &ValueCell::has_positive_infinity);
    AddMark(legend, kNegativeInfinityMark, "-inf", &ValueCell::has_negative_infinity);
    return legend;
  }

 private:
  static constexpr size_t kFirstGray = 232;  // in a terminal's 256 colors
  static constexpr size_t kGrayCount = 24;

  static size_t Level(double position, size_t count) {
    return std::min(count - 1, static_cast<size_t>(position * static_cast<double>(count)));
  }

  Character Mark(std::string_view mark, std::string_view code) const {
    return {std::string(mark), color_ ? fmt::format("\x1b[{}m", code) : ""};
  }

  std::string Ramp() const {
    if (!color_) return fmt::format("{}", fmt::join(shades_, ""));
    std::string ramp;
    for (size_t i = 0; i < kGrayCount; i += 2) {
      ramp += fmt::format("\x1b[48;5;{}m ", kFirstGray + i);
    }
    return ramp + "\x1b[0m";
  }

  void AddMark(std::vector<std::string>& legend, std::string_view mark, std::string_view meaning,
               bool ValueCell::*has) const {
    const bool any = std::any_of(map_.cells.begin(), map_.cells.end(),
                                 [&](const ValueCell& cell) { return cell.*has; });
    if (any) legend.push_back(fmt::format("{} {}", mark, meaning));
  }

  const ValueMap& map_;
  const bool color_;
  const Shades shades_;
};

}  // namespace dmlop
