// SPDX-License-Identifier: Apache-2.0
#include "app/text/map_text.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <vector>

#include "app/files/output.h"
#include "app/text/table_text.h"
#include "app/text/tensor_text.h"
#include "core/base/error.h"
#include "core/base/integers.h"
#include "core/compare/wrong_elements.h"

namespace dmlop {

// --- cells on the screen -------------------------------------------------------------------------

// One cell on the screen. `paint` is empty without color.
struct Character {
  std::string text;
  std::string paint;
};

using Shades = std::vector<std::string_view>;

// The shades go from the minimum to the maximum.
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

namespace {

constexpr int64_t kMostMapRows = 32;  // in lines
constexpr int64_t kLeastMapRows = 4;
constexpr int64_t kLeastMapColumns = 8;
constexpr double kCharacterHeight = 2;  // relative to the width, on most screens

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

// Indices above their columns: some, and the last one.
std::string ColumnIndices(const MapAxis& columns) {
  constexpr size_t kGap = 2;
  const std::string last = std::to_string(columns.size - 1);
  const auto width = static_cast<size_t>(columns.cells);
  std::string line = "0";
  if (width < last.size() + kGap) return line;
  const size_t step = std::max<size_t>(8, last.size() + 2 * kGap);
  for (size_t at = step; at + 2 * last.size() + kGap <= width; at += step) {
    line += std::string(at - line.size(), ' ') +
            std::to_string(columns.Begin(static_cast<int64_t>(at)));
  }
  return line + std::string(width - line.size() - last.size(), ' ') + last;
}

// A panel to be drawn, with its title.
template <typename Panel>
struct TitledPanel {
  const Panel* panel;
  std::string title;
};

// Draws panels of equal grids side by side.
template <typename Artist, typename Panel>
class PanelRows {
 public:
  PanelRows(const MapGrid& grid, const Artist& artist, std::vector<TitledPanel<Panel>> panels,
            int64_t across)
      : grid_(grid),
        artist_(artist),
        panels_(std::move(panels)),
        across_(static_cast<size_t>(across)),
        label_width_(LabelWidth(grid.rows.size)),
        width_(static_cast<size_t>(grid.columns.cells)) {
    for (const auto& panel : panels_) width_ = std::max(width_, panel.title.size());
  }

  std::string Text() const {
    std::string text;
    for (size_t first = 0; first < panels_.size(); first += across_) {
      const size_t end = std::min(first + across_, panels_.size());
      if (!panels_[0].title.empty()) {
        text += Line(first, end, [](const auto& panel) { return panel.title; });
      }
      if (first == 0) {
        text += Line(first, end, [&](const auto&) { return ColumnIndices(grid_.columns); });
      }
      for (int64_t row = 0; row < grid_.rows.cells; ++row) text += RowText(first, end, row);
    }
    return text;
  }

 private:
  // The title above each panel.
  template <typename TextOf>
  std::string Line(size_t first, size_t end, TextOf&& text_of) const {
    std::string line(label_width_ + 1, ' ');
    for (size_t i = first; i < end; ++i) line += fmt::format(" {:{}}", text_of(panels_[i]), width_);
    return line.substr(0, line.find_last_not_of(' ') + 1) + "\n";
  }

  std::string RowText(size_t first, size_t end, int64_t row) const {
    std::string text = fmt::format("{:>{}} |", grid_.rows.Begin(row), label_width_);
    for (size_t i = first; i < end; ++i) {
      AddCells(*panels_[i].panel, row, text);
      text += std::string(width_ - static_cast<size_t>(grid_.columns.cells), ' ') + "|";
    }
    return text + "\n";
  }

  void AddCells(const Panel& panel, int64_t row, std::string& text) const {
    std::string paint;
    for (int64_t column = 0; column < grid_.columns.cells; ++column) {
      const Character character = artist_.Draw(panel, row, column);
      if (character.paint != paint) {
        if (!paint.empty()) text += "\x1b[0m";
        text += character.paint;
        paint = character.paint;
      }
      text += character.text;
    }
    if (!paint.empty()) text += "\x1b[0m";
  }

  const MapGrid& grid_;
  const Artist& artist_;
  const std::vector<TitledPanel<Panel>> panels_;
  const size_t across_;
  const size_t label_width_;
  size_t width_;  // of a panel with its title
};

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

// Tells which planes are drawn.
std::string PlanesText(const DifferenceMap& map) {
  const auto shown = std::ssize(map.panels());
  if (shown == map.plane_count()) return fmt::format("{} planes", shown);
  if (shown == map.different_count()) {
    return fmt::format("the {} of {} planes that differ", shown, map.plane_count());
  }
  return fmt::format("the first {} of {} planes that differ, of {}", shown, map.different_count(),
                     map.plane_count());
}

// Describes a map of differences. Dimensions of size 1 are not mentioned.
std::vector<std::string> TitleOf(const DifferenceMap& map, const Dims& sizes) {
  if (!map.plane().column_dimension) return {"map of the only element"};
  const MapPlane& plane = map.plane();
  const std::string across = AxisName(sizes.size(), *plane.column_dimension);
  std::vector<std::string> title = {fmt::format("map of {} {}", across, PlaneSizesText(plane))};
  if (plane.row_dimension) {
    title = {fmt::format("map of {} (down)", AxisName(sizes.size(), *plane.row_dimension)),
             fmt::format("{} (across) {}", across, PlaneSizesText(plane))};
  }
  if (map.plane_count() > 1) title.push_back(PlanesText(map));
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

// The title of a map, the drawing, and the legend.
template <typename Artist, typename Map, typename Panel>
std::string TextOf(const Map& map, const Artist& artist, const Dims& sizes, const MapStyle& style,
                   std::vector<TitledPanel<Panel>> panels, int64_t across) {
  std::vector<std::string> title = TitleOf(map, sizes);
  title.push_back("a character for " + CellText(GridOf(map)));
  return Wrapped(title, ", ", style.width) +
         PanelRows<Artist, Panel>(GridOf(map), artist, std::move(panels), across).Text() +
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

// The width of the longest title of a panel.
int64_t TitleWidth(const Dims& sizes, size_t outer_count) {
  DifferencePanel last;
  for (size_t d = 0; d < outer_count; ++d) last.at.push_back(sizes[d] - 1);
  return std::ssize(PanelTitle(last));
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
  throw Error(ErrorKind::kTensorFile, "{} has no elements to draw a map of: Sizes {}", name,
              ToString(tensor.layout.sizes));
}

MapSpace MapSpaceOf(const Dims& sizes, const MapStyle& style) {
  const MapPlane plane = PlaneOf(sizes);
  const bool is_one = Product(sizes) == plane.rows * plane.columns;
  const size_t frame = LabelWidth(plane.rows) + 2;
  const auto columns = static_cast<int64_t>(std::max(style.width, frame + 2) - frame);
  const int64_t least = std::min(kLeastMapColumns, columns - 1);
  const int64_t title = is_one ? 0 : TitleWidth(sizes, *plane.row_dimension);
  return {.most = {kMostMapRows, columns},
          .least = {kLeastMapRows, least},
          .gap = {is_one ? 0 : 1, 1 + std::max<int64_t>(0, title - std::min(least, plane.columns))},
          .cell_height = kCharacterHeight,
          .most_panels = kMostMapRows};
}

std::string MapText(const DifferenceMap& map, const Dims& sizes, const MapStyle& style,
                    bool by_error) {
  if (map.passes()) return "map: all elements pass; nothing to draw\n";
  std::vector<TitledPanel<DifferencePanel>> panels;
  for (const DifferencePanel& panel : map.panels()) panels.push_back({&panel, PanelTitle(panel)});
  return TextOf(map, DifferenceArtist(map, style, by_error), sizes, style, std::move(panels),
                map.panels_across());
}

std::string MapText(const ValueMap& map, const Dims& sizes, const MapStyle& style) {
  return TextOf(map, ValueArtist(map, style), sizes, style,
                std::vector<TitledPanel<ValueMap>>{{&map, ""}}, 1);
}

std::string PictureText(const std::string& path, const Picture& picture, const DifferenceMap& map,
                        const Dims& sizes, const MapStyle& style) {
  if (map.passes()) {
    return PictureTextOf(path, picture, map, sizes, {"gray: all elements pass"}, style);
  }
  return PictureTextOf(
      path, picture, map, sizes,
      {"gray: passes",
       fmt::format("orange to black: by {} error, on the picture's scale", NameOf(map.measure())),
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
