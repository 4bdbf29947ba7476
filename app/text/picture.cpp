// SPDX-License-Identifier: Apache-2.0
#include "app/text/picture.h"

#include <fmt/format.h>
#include <png.h>

#include <algorithm>
#include <cmath>

#include "app/files/standard_output.h"
#include "app/text/picture_marks.h"
#include "app/text/picture_scale.h"
#include "core/base/error.h"
#include "core/compare/comparison.h"
#include "core/io/file.h"

namespace dmlop {
namespace {

using Color = std::array<uint8_t, 3>;

constexpr int64_t kMostCells = 2048;  // in each direction
constexpr int64_t kPixels = 1024;     // to which the longer side of a small map is enlarged
constexpr int64_t kLeastPixels = 64;  // of the shorter side
constexpr size_t kGrayCount = 253;    // palette entries; the next three are for NaN and infinities
constexpr uint8_t kWhite = kGrayCount - 1;
constexpr uint8_t kNan = kGrayCount;
constexpr uint8_t kPositiveInfinity = kGrayCount + 1;
constexpr uint8_t kNegativeInfinity = kGrayCount + 2;

// The bin of the greatest ULP error in a map.
size_t LastBinOf(const DifferenceMap& map) {
  constexpr size_t kLeastLastBin = 9;  // 256 ULP: errors of a few ULP are never drawn as the worst
  size_t last = kLeastLastBin;
  const MapGrid& grid = map.grid();
  for (int64_t row = 0; row < grid.rows.cells; ++row) {
    for (int64_t column = 0; column < grid.columns.cells; ++column) {
      const uint8_t worst = map.worst(row, column);
      if (worst != DifferenceMap::kMismatch) last = std::max<size_t>(last, worst - (worst > 0));
    }
  }
  return last;
}

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

// An entry for each badness, then those of paper and ink.
std::vector<Color> DifferencePalette(size_t last_bin) {
  std::vector<Color> palette = {{228, 228, 228}};
  for (size_t bin = 0; bin + 1 < DifferenceMap::kMismatch; ++bin) {
    const double position = static_cast<double>(bin) / static_cast<double>(last_bin);
    palette.push_back(DifferenceColor(std::min(position, 1.0)));
  }
  palette.insert(palette.end(), {{0, 90, 255}, {255, 255, 255}, {0, 0, 0}});
  return palette;
}

PictureScale DifferenceScale(size_t last_bin) {
  constexpr size_t kMostNumbers = 5;
  constexpr size_t kLongDecimals = 18;  // larger numbers are written as powers
  PictureScale scale{.paper = DifferenceMap::kMismatch + 1,
                     .ink = DifferenceMap::kMismatch + 2,
                     .bar = {},
                     .numbers = {},
                     .unit = "ULP",
                     .meanings = {{DifferenceMap::kPasses, "passes"},
                                  {DifferenceMap::kMismatch, "NaN or inf on one side"}}};
  const size_t step = (last_bin + kMostNumbers - 1) / kMostNumbers;
  for (size_t bin = 1; bin <= last_bin; ++bin) {
    scale.bar.push_back(static_cast<uint8_t>(1 + bin));
    if ((bin - 1) % step != 0) continue;
    scale.numbers.push_back({bin - 1, bin < kLongDecimals ? fmt::format("{}", MostUlp(bin))
                                                          : fmt::format("2^{}", bin - 1)});
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

PictureScale ValueScale(const ValueMap& map) {
  constexpr double kNoDifference = 1e-3;  // relative to the scale: invisible
  PictureScale scale{
      .paper = kWhite, .ink = 0, .bar = {}, .numbers = {}, .unit = "", .meanings = {}};
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

// A cell's width or height in pixels.
int64_t PixelsOfCell(const MapGrid& grid, int64_t cells) {
  const int64_t scale =
      std::max<int64_t>(1, kPixels / std::max(grid.rows.cells, grid.columns.cells));
  return std::max(scale, (kLeastPixels + cells - 1) / cells);
}

// A color for each cell, row by row.
using Cells = std::vector<uint8_t>;

template <typename ColorOfCell>
Cells ColorsOf(const MapGrid& grid, ColorOfCell&& color_of) {
  Cells cells;
  cells.reserve(grid.cell_count());
  for (int64_t row = 0; row < grid.rows.cells; ++row) {
    for (int64_t column = 0; column < grid.columns.cells; ++column) {
      cells.push_back(color_of(row, column));
    }
  }
  return cells;
}

Picture Draw(const MapGrid& grid, std::vector<Color> palette, const Cells& cells) {
  const int64_t cell_width = PixelsOfCell(grid, grid.columns.cells);
  const int64_t cell_height = PixelsOfCell(grid, grid.rows.cells);
  Picture picture{.width = grid.columns.cells * cell_width,
                  .height = grid.rows.cells * cell_height,
                  .cell_width = cell_width,
                  .cell_height = cell_height,
                  .palette = std::move(palette),
                  .pixels = {}};
  picture.pixels.reserve(static_cast<size_t>(picture.width * picture.height));
  for (int64_t y = 0; y < picture.height; ++y) {
    for (int64_t x = 0; x < picture.width; ++x) {
      picture.pixels.push_back(
          cells[static_cast<size_t>(y / cell_height * grid.columns.cells + x / cell_width)]);
    }
  }
  return picture;
}

}  // namespace

MapLimits PictureLimitsOf(const Dims& sizes) {
  return Proportioned(PlaneOf(sizes), {kMostCells, kMostCells}, {kLeastPixels, kLeastPixels},
                      /*cell_height=*/1);
}

Picture PictureOf(const DifferenceMap& map) {
  const MapGrid& grid = map.grid();
  const Cells cells =
      ColorsOf(grid, [&](int64_t row, int64_t column) { return map.worst(row, column); });
  const size_t last_bin = LastBinOf(map);
  const Cells marked = WithMarks(cells, grid, PixelsOfCell(grid, grid.columns.cells),
                                 PixelsOfCell(grid, grid.rows.cells));
  Picture picture = Draw(grid, DifferencePalette(last_bin), marked);
  AddScale(DifferenceScale(last_bin), picture);
  return picture;
}

Picture PictureOf(const ValueMap& map) {
  const Cells cells = ColorsOf(map.grid, [&](int64_t row, int64_t column) {
    return PixelOf(map.cells[static_cast<size_t>(row * map.grid.columns.cells + column)],
                   map.range);
  });
  Picture picture = Draw(map.grid, ValuePalette(), cells);
  AddScale(ValueScale(map), picture);
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
  throw Error(
      ErrorKind::kUsage,
      fmt::format("{}: a picture is written to a file with the extension .png, or to a pipe",
                  path));
}

}  // namespace dmlop
