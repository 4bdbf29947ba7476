// SPDX-License-Identifier: Apache-2.0

#include <fmt/format.h>
#include <png.h>

#include <algorithm>
#include <cmath>

#include "app/files/output.h"
#include "app/text/map_text.h"
#include "app/text/picture_frame.h"
#include "core/base/error.h"
#include "core/compare/wrong_elements.h"
#include "core/io/file.h"

namespace dmlop {
namespace {

using Color = std::array<uint8_t, 3>;

constexpr int64_t kMostCells = 2048;  // in each direction
constexpr int64_t kLeastCells = 64;   // cells of the shorter side of a map
constexpr size_t kGrayCount = 253;    // palette entries; the next three are for NaN and infinities
constexpr uint8_t kWhite = kGrayCount - 1;
constexpr uint8_t kNan = kGrayCount;
constexpr uint8_t kPositiveInfinity = kGrayCount + 1;
constexpr uint8_t kNegativeInfinity = kGrayCount + 2;

// Interpolates between colors that all stand out from the light gray, by hue and brightness.
Color DifferenceColor(double position) {
  constexpr std::array<std::array<double, 3>, 5> kStops = {
      {{255, 150, 0}, {235, 60, 20}, {180, 0, 70}, {100, 0, 100}, {20, 0, 40}}};
  const double place = position * (kStops.size() - 1);
  const size_t stop = std::min(static_cast<size_t>(place), kStops.size() - 2);
  const double part = place - static_cast<double>(stop);
  Color color{};
  for (size_t i = 0; i < color.size(); ++i) {
    color[i] = static_cast<uint8_t>(
        std::lround(kStops[stop][i] + part * (kStops[stop + 1][i] - kStops[stop][i])));
  }
  return color;
}

// An entry for each level, then those of paper and ink.
std::vector<Color> DifferencePalette(const ErrorScale& scale) {
  std::vector<Color> palette = {{228, 228, 228}};
  for (uint8_t level = 1; level < ErrorScale::kMismatch; ++level) {
    palette.push_back(DifferenceColor(scale.Position(level)));
  }
  palette.insert(palette.end(), {{0, 90, 255}, {255, 255, 255}, {0, 0, 0}});
  return palette;
}

MapScale DifferenceScale(const ErrorScale& errors) {
  constexpr int kMostNumbers = 5;
  MapScale scale{.paper = ErrorScale::kMismatch + 1,
                 .ink = ErrorScale::kMismatch + 2,
                 .bar = {},
                 .numbers = {},
                 .unit = std::string(NameOf(errors.measure())),
                 .meanings = {{ErrorScale::kPasses, "passes"},
                              {ErrorScale::kMismatch, "NaN or inf on one side"}}};
  const int count = errors.last() - errors.first() + 1;
  const int step = (count + kMostNumbers - 1) / kMostNumbers;
  for (int i = 0; i < count; ++i) {
    const auto level = static_cast<uint8_t>(errors.first() + i);
    scale.bar.push_back(level);
    if (i % step == 0) scale.numbers.push_back({static_cast<size_t>(i), errors.TextOf(level)});
  }
  return scale;
}

std::vector<Color> ValuePalette() {
  std::vector<Color> palette;
  for (size_t i = 0; i < kGrayCount; ++i) {
    const auto gray = static_cast<uint8_t>((i * 255 + (kGrayCount - 1) / 2) / (kGrayCount - 1));
    palette.push_back({gray, gray, gray});
  }
  palette.push_back({230, 0, 0});
  palette.push_back({255, 150, 0});
  palette.push_back({0, 90, 255});
  return palette;
}

MapScale ValueScale(const ValueMap& map) {
  constexpr double kNoDifference = 1e-3;  // relative to the scale: invisible
  MapScale scale{.paper = kWhite, .ink = 0, .bar = {}, .numbers = {}, .unit = "", .meanings = {}};
  if (map.range) {
    for (size_t i = 0; i < kGrayCount; ++i) scale.bar.push_back(static_cast<uint8_t>(i));
    double middle = map.range->min / 2 + map.range->max / 2;
    if (std::abs(middle) < kNoDifference * (map.range->max / 2 - map.range->min / 2)) middle = 0;
    scale.numbers = {{0, fmt::format("{:.4g}", map.range->min)},
                     {kGrayCount / 2, fmt::format("{:.4g}", middle)},
                     {kGrayCount - 1, fmt::format("{:.4g}", map.range->max)}};
    if (map.range->min == map.range->max) scale.numbers = {scale.numbers[1]};
  }
  const auto add = [&](bool ValueCell::*has, uint8_t color, const char* text) {
    const bool any = std::any_of(map.cells.begin(), map.cells.end(),
                                 [&](const ValueCell& cell) { return cell.*has; });
    if (any) scale.meanings.push_back({color, text});
  };
  add(&ValueCell::has_nan, kNan, "NaN");
  add(&ValueCell::has_positive_infinity, kPositiveInfinity, "inf");
  add(&ValueCell::has_negative_infinity, kNegativeInfinity, "-inf");
  return scale;
}

uint8_t PixelOf(const ValueCell& cell, const std::optional<ValueRange>& range) {
  if (cell.has_nan) return kNan;
  if (cell.has_positive_infinity) return kPositiveInfinity;
  if (cell.has_negative_infinity) return kNegativeInfinity;
  return static_cast<uint8_t>(std::lround(range->Position(cell.mean) * (kGrayCount - 1)));
}

// A color for each cell, row by row.
using Cells = std::vector<uint8_t>;

std::string NameOf(std::optional<size_t> dimension, const Dims& sizes) {
  return dimension ? AxisName(sizes.size(), *dimension) : "";
}

PictureFrame FrameOf(const MapGrid& grid, const MapPlane& plane, const Dims& sizes) {
  return {.grid = grid,
          .panels = {},
          .row_name = NameOf(plane.row_dimension, sizes),
          .column_name = NameOf(plane.column_dimension, sizes)};
}

}  // namespace

MapLimits PictureLimitsOf(const Dims& sizes) {
  return Proportioned(PlaneOf(sizes), {kMostCells, kMostCells}, {kLeastCells, kLeastCells},
                      /*cell_height=*/1);
}

MapSpace PictureSpace() {
  constexpr int64_t kMostPanels = 64;
  return {.most = {kMostCells, kMostCells},
          .least = {kLeastCells, kLeastCells},
          .gap = {0, 0},
          .cell_height = 1,
          .most_panels = kMostPanels};
}

Picture PictureOf(const DifferenceMap& map, const Dims& sizes) {
  const ErrorScale errors(map);
  const MapGrid& grid = map.grid();
  const CellSize cell = CellSizeOf(grid, map.panels_across(), std::ssize(map.panels()));
  const MapScale scale = DifferenceScale(errors);
  PictureFrame frame = FrameOf(grid, map.plane(), sizes);
  frame.across = map.panels_across();
  frame.paper = scale.paper;
  frame.ink = scale.ink;
  for (const DifferencePanel& panel : map.panels()) {
    Cells cells;
    for (const DifferenceCell& one : panel.cells) cells.push_back(errors.LevelOf(one));
    frame.panels.push_back({PanelTitle(panel), WithMarks(cells, grid, cell.width, cell.height)});
  }
  Picture picture = Framed(frame, DifferencePalette(errors));
  AddScale(scale, picture);
  return picture;
}

Picture PictureOf(const ValueMap& map, const Dims& sizes) {
  Cells cells;
  for (const ValueCell& cell : map.cells) cells.push_back(PixelOf(cell, map.range));
  const MapScale scale = ValueScale(map);
  PictureFrame frame = FrameOf(map.grid, PlaneOf(sizes), sizes);
  frame.paper = scale.paper;
  frame.ink = scale.ink;
  frame.panels.push_back({"", std::move(cells)});
  Picture picture = Framed(frame, ValuePalette());
  AddScale(scale, picture);
  return picture;
}

std::string PngBytes(const Picture& picture) {
  png_image image{};
  image.version = PNG_IMAGE_VERSION;
  image.width = static_cast<png_uint_32>(picture.width);
  image.height = static_cast<png_uint_32>(picture.height);
  image.format = PNG_FORMAT_RGB_COLORMAP;
  image.colormap_entries = static_cast<png_uint_32>(picture.palette.size());
  png_alloc_size_t size = PNG_IMAGE_PNG_SIZE_MAX(image);
  std::string bytes(size, '\0');
  if (png_image_write_to_memory(&image, bytes.data(), &size, /*convert_to_8_bit=*/0,
                                picture.pixels.data(), /*row_stride=*/0,
                                picture.palette.data()) == 0) {
    throw std::runtime_error(image.message);
  }
  bytes.resize(size);
  return bytes;
}

void CheckPicturePath(const std::string& path) {
  RequireNoTerminal(path, "a picture");
  if (path.ends_with(".png") || path == kStandardStream || IsStream(path)) return;
  throw Error(ErrorKind::kUsage,
              "{}: a picture is written to a file with the extension .png, or to a pipe", path);
}

// --- marks ---------------------------------------------------------------------------------------

namespace {

constexpr int64_t kLeastMark = 5;  // in pixels
constexpr int64_t kMarksOfLongerSide = 256;
constexpr int64_t kSurroundings = 3;  // as a multiple of the mark, in each direction

// Counts the differing cells in any rectangle.
class Counts {
 public:
  Counts(const std::vector<uint8_t>& cells, int64_t rows, int64_t columns)
      : columns_(columns + 1), sums_(static_cast<size_t>((rows + 1) * columns_)) {
    auto cell = cells.begin();
    for (int64_t row = 1; row <= rows; ++row) {
      for (int64_t column = 1; column <= columns; ++column) {
        sums_[Index(row, column)] = sums_[Index(row - 1, column)] + sums_[Index(row, column - 1)] -
                                    sums_[Index(row - 1, column - 1)] + (*cell++ > 0);
      }
    }
  }

  int64_t Between(int64_t top, int64_t left, int64_t bottom, int64_t right) const {
    return sums_[Index(bottom, right)] - sums_[Index(top, right)] - sums_[Index(bottom, left)] +
           sums_[Index(top, left)];
  }

 private:
  size_t Index(int64_t row, int64_t column) const {
    return static_cast<size_t>(row * columns_ + column);
  }

  const int64_t columns_;
  std::vector<int64_t> sums_;  // over all cells above and to the left
};

// The distances by which a mark and its surroundings extend from the cell at its centre.
struct Reach {
  Reach(int64_t mark, int64_t cell_pixels, int64_t all)
      : cells(mark / 2 / cell_pixels), around(kSurroundings * (2 * cells + 1)), size(all) {}

  int64_t Begin(int64_t at, int64_t distance) const { return std::max<int64_t>(at - distance, 0); }
  int64_t End(int64_t at, int64_t distance) const { return std::min(at + distance + 1, size); }

  const int64_t cells, around, size;
};

}  // namespace

std::vector<uint8_t> WithMarks(const std::vector<uint8_t>& cells, const MapGrid& grid,
                               int64_t cell_width, int64_t cell_height) {
  const int64_t rows = grid.rows.cells;
  const int64_t columns = grid.columns.cells;
  const int64_t longer_side = std::max(rows * cell_height, columns * cell_width);
  const int64_t mark = std::max(kLeastMark, longer_side / kMarksOfLongerSide);
  const Reach down(mark, cell_height, rows);
  const Reach across(mark, cell_width, columns);
  // A line has this many, and it must remain visible, too.
  const int64_t few = 2 * std::max(down.around, across.around) + 1;
  const Counts counts(cells, rows, columns);
  std::vector<uint8_t> marked = cells;
  for (int64_t row = 0; row < rows; ++row) {
    for (int64_t column = 0; column < columns; ++column) {
      const uint8_t worst = cells[static_cast<size_t>(row * columns + column)];
      if (worst == 0) continue;
      const int64_t count =
          counts.Between(down.Begin(row, down.around), across.Begin(column, across.around),
                         down.End(row, down.around), across.End(column, across.around));
      if (count > few) continue;
      for (int64_t y = down.Begin(row, down.cells); y < down.End(row, down.cells); ++y) {
        for (int64_t x = across.Begin(column, across.cells); x < across.End(column, across.cells);
             ++x) {
          uint8_t& cell = marked[static_cast<size_t>(y * columns + x)];
          cell = std::max(cell, worst);
        }
      }
    }
  }
  return marked;
}

}  // namespace dmlop
