// SPDX-License-Identifier: Apache-2.0
#include "app/text/map_text.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <string_view>

#include "app/files/output.h"
#include "app/text/tensor_text.h"
#include "app/text/text_width.h"
#include "core/base/error.h"
#include "core/base/integers.h"

namespace dmlop {
namespace {

constexpr int64_t kMostMapRows = 32;  // in lines
constexpr int64_t kLeastMapRows = 4;
constexpr int64_t kLeastMapColumns = 8;
constexpr double kCharacterHeight = 2;  // relative to the width, on most screens

// One cell on the screen. `paint` is empty without color.
struct Character {
  std::string text;
  std::string paint;
};

// --- characters ----------------------------------------------------------------------------------

using Shades = std::vector<std::string_view>;

// From the minimum to the maximum.
Shades ValueShades(bool unicode) {
  if (unicode) return {" ", "░", "▒", "▓", "█"};
  return {" ", ".", ":", "-", "=", "+", "*", "#", "%", "@"};
}

// The first is for cells whose elements all pass; the others follow the share that fails.
Shades DifferenceShades(bool unicode) {
  if (unicode) return {"·", "░", "▒", "▓", "█"};
  return {".", "-", "+", "*", "#"};
}

constexpr std::array kShareLimits = {0.01, 0.1, 0.5};  // limits between the shades of differences

constexpr std::string_view kMismatchMark = "!";
constexpr std::string_view kNanMark = "N";
constexpr std::string_view kPositiveInfinityMark = ">";
constexpr std::string_view kNegativeInfinityMark = "<";

class DifferenceArtist {
 public:
  DifferenceArtist(const DifferenceMap& map, const MapStyle& style)
      : map_(map), color_(style.color), shades_(DifferenceShades(style.unicode)) {}

  Character Draw(int64_t row, int64_t column) const {
    if (map_.worst(row, column) == DifferenceMap::kMismatch) {
      return {std::string(kMismatchMark), Paint("1;35")};
    }
    const double share = map_.share(row, column);
    if (share == 0) return {std::string(shades_[0]), Paint("2")};
    const auto above = std::upper_bound(kShareLimits.begin(), kShareLimits.end(), share);
    return {std::string(shades_[1 + static_cast<size_t>(above - kShareLimits.begin())]),
            Paint("31")};
  }

  std::vector<std::string> Legend() const {
    return {fmt::format("{} none differ", shades_[0]),
            fmt::format("{} under 1 %", shades_[1]),
            fmt::format("{} under 10 %", shades_[2]),
            fmt::format("{} under 50 %", shades_[3]),
            fmt::format("{} 50 % or more", shades_[4]),
            fmt::format("{} NaN or infinity on one side", kMismatchMark)};
  }

 private:
  std::string Paint(std::string_view code) const {
    return color_ ? fmt::format("\x1b[{}m", code) : "";
  }

  const DifferenceMap& map_;
  const bool color_;
  const Shades shades_;
};

class ValueArtist {
 public:
  ValueArtist(const ValueMap& map, const MapStyle& style)
      : map_(map), color_(style.color), shades_(ValueShades(style.unicode)) {}

  Character Draw(int64_t row, int64_t column) const {
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

// --- lines ---------------------------------------------------------------------------------------

// Number of columns on the screen, without escape sequences.
size_t ColumnCount(std::string_view text) {
  size_t count = 0;
  for (size_t at = 0; at < text.size();) {
    const size_t escape = std::min(text.find('\x1b', at), text.size());
    count += TextWidth(text.substr(at, escape - at));
    const size_t end = std::min(text.find('m', escape), text.size() - 1);
    at = end + 1;
  }
  return count;
}

// Joins the parts, in as many lines as necessary.
std::string Wrapped(const std::vector<std::string>& parts, std::string_view separator,
                    size_t width) {
  constexpr std::string_view kNextLine = "\n  ";
  std::string text = parts[0];
  size_t column = ColumnCount(parts[0]);
  for (size_t i = 1; i < parts.size(); ++i) {
    const size_t end = column + ColumnCount(separator) + ColumnCount(parts[i]);
    const bool fits = end <= width;
    text += fits ? separator : kNextLine;
    text += parts[i];
    column = fits ? end : kNextLine.size() - 1 + ColumnCount(parts[i]);
  }
  return text + "\n";
}

// "1 element" or "up to 2 x 3 elements".
std::string CellText(const MapGrid& grid) {
  const auto most = [](const MapAxis& axis) { return CeilDiv(axis.size, axis.cells); };
  const int64_t rows = most(grid.rows);
  const int64_t columns = most(grid.columns);
  if (rows * columns == 1) return "1 element";
  return fmt::format("up to {} x {} elements", rows, columns);
}

size_t LabelWidth(int64_t rows) {
  return std::to_string(rows - 1).size();
}

// The first and the last index, above their columns.
std::string ColumnIndices(const MapAxis& columns) {
  std::string line = "0";
  const std::string last = std::to_string(columns.size - 1);
  const size_t width = static_cast<size_t>(columns.cells);
  if (width < last.size() + 2) return line;
  return line + std::string(width - 1 - last.size(), ' ') + last;
}

// The map with the first row's index for each line.
template <typename Artist>
std::string Drawing(const MapGrid& grid, const Artist& artist) {
  const size_t label_width = LabelWidth(grid.rows.size);
  std::string text = fmt::format("{:{}} {}\n", "", label_width + 1, ColumnIndices(grid.columns));
  for (int64_t row = 0; row < grid.rows.cells; ++row) {
    text += fmt::format("{:>{}} |", grid.rows.Begin(row), label_width);
    std::string paint;
    for (int64_t column = 0; column < grid.columns.cells; ++column) {
      const Character character = artist.Draw(row, column);
      if (character.paint != paint) {
        if (!paint.empty()) text += "\x1b[0m";
        text += character.paint;
        paint = character.paint;
      }
      text += character.text;
    }
    text += paint.empty() ? "|\n" : "\x1b[0m|\n";
  }
  return text;
}

// --- titles --------------------------------------------------------------------------------------

std::string PlaneSizesText(const MapPlane& plane) {
  return ToString(Dims{plane.rows, plane.columns});
}

std::vector<size_t> ShownDimensions(const MapPlane& plane) {
  std::vector<size_t> shown;
  if (plane.row_dimension) shown.push_back(*plane.row_dimension);
  if (plane.column_dimension) shown.push_back(*plane.column_dimension);
  return shown;
}

// "dimension 0", "dimensions 0 and 2", "dimensions 0, 1 and 2".
std::string DimensionsText(const std::vector<size_t>& dimensions) {
  if (dimensions.size() == 1) return fmt::format("dimension {}", dimensions[0]);
  return fmt::format("dimensions {} and {}",
                     fmt::join(dimensions.begin(), dimensions.end() - 1, ", "), dimensions.back());
}

// Describes a map of differences. Dimensions of size 1 are not mentioned.
std::vector<std::string> TitleOf(const DifferenceMap& map, const Dims& sizes) {
  const std::vector<size_t> shown = ShownDimensions(map.plane());
  if (shown.empty()) return {"map of the only element"};
  std::vector<size_t> folded;
  for (size_t d = 0; d < shown[0]; ++d) {
    if (sizes[d] > 1) folded.push_back(d);
  }
  std::vector<std::string> title = {
      fmt::format("map of {} {}", DimensionsText(shown), PlaneSizesText(map.plane()))};
  if (!folded.empty()) {
    title.push_back(fmt::format("all of {} laid over one another", DimensionsText(folded)));
  }
  return title;
}

// The plane as a slice: "[0, :, :]".
std::vector<std::string> TitleOf(const ValueMap&, const Dims& sizes) {
  const MapPlane plane = PlaneOf(sizes);
  std::vector<std::string> subscripts(sizes.size(), "0");
  for (const size_t d : ShownDimensions(plane)) subscripts[d] = ":";
  return {fmt::format("map of [{}] {}", fmt::join(subscripts, ", "), PlaneSizesText(plane))};
}

const MapGrid& GridOf(const DifferenceMap& map) {
  return map.grid();
}
const MapGrid& GridOf(const ValueMap& map) {
  return map.grid;
}

template <typename Artist, typename Map>
std::string TextOf(const Map& map, const Dims& sizes, const MapStyle& style) {
  const Artist artist(map, style);
  std::vector<std::string> title = TitleOf(map, sizes);
  title.push_back("a character for " + CellText(GridOf(map)));
  return Wrapped(title, ", ", style.width) + Drawing(GridOf(map), artist) +
         Wrapped(artist.Legend(), "  ", style.width);
}

template <typename Map>
std::string PictureTextOf(const std::string& path, const Picture& picture, const Map& map,
                          const Dims& sizes, const std::vector<std::string>& meanings,
                          const MapStyle& style) {
  std::vector<std::string> parts = TitleOf(map, sizes);
  parts[0] = Printable(path) + ": " + parts[0];
  parts.push_back(fmt::format("{} x {} pixels for {}", picture.cell_width, picture.cell_height,
                              CellText(GridOf(map))));
  parts.insert(parts.end(), meanings.begin(), meanings.end());
  return Wrapped(parts, ", ", style.width);
}

}  // namespace

MapStyle StyleOf(ColorMode mode) {
  return {OutputWidth(), UseUnicode(), UseColor(mode, STDOUT_FILENO)};
}

MapLimits MapLimitsOf(const Dims& sizes, const MapStyle& style) {
  const MapPlane plane = PlaneOf(sizes);
  const size_t frame = LabelWidth(plane.rows) + 3;
  const MapLimits most = {kMostMapRows,
                          static_cast<int64_t>(std::max(style.width, frame + 1) - frame)};
  return Proportioned(plane, most, {kLeastMapRows, std::min(kLeastMapColumns, most.columns)},
                      kCharacterHeight);
}

void RequireElements(const std::string& name, const ConstTensorView& tensor) {
  if (tensor.layout.element_count() > 0) return;
  throw Error(ErrorKind::kTensorFile, fmt::format("{} has no elements to draw a map of: Sizes {}",
                                                  name, ToString(tensor.layout.sizes)));
}

std::string MapText(const DifferenceMap& map, const Dims& sizes, const MapStyle& style) {
  if (map.worst() == DifferenceMap::kPasses) return "map: all elements pass; nothing to draw\n";
  return TextOf<DifferenceArtist>(map, sizes, style);
}

std::string MapText(const ValueMap& map, const Dims& sizes, const MapStyle& style) {
  return TextOf<ValueArtist>(map, sizes, style);
}

std::string PictureText(const std::string& path, const Picture& picture, const DifferenceMap& map,
                        const Dims& sizes, const MapStyle& style) {
  if (map.worst() == DifferenceMap::kPasses) {
    return PictureTextOf(path, picture, map, sizes, {"gray: all elements pass"}, style);
  }
  return PictureTextOf(path, picture, map, sizes,
                       {"gray: passes", "orange to black: by ULP error, on the picture's scale",
                        "blue: NaN or infinity on one side"},
                       style);
}

std::string PictureText(const std::string& path, const Picture& picture, const ValueMap& map,
                        const Dims& sizes, const MapStyle& style) {
  std::vector<std::string> meanings;
  if (map.range) {
    meanings = {"black: " + NumberText(map.type, map.range->min),
                "white: " + NumberText(map.type, map.range->max)};
  }
  meanings.insert(meanings.end(), {"red: NaN", "orange: inf", "blue: -inf"});
  return PictureTextOf(path, picture, map, sizes, meanings, style);
}

}  // namespace dmlop
