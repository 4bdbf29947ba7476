#include "app/text/picture.h"

#include <fmt/format.h>
#include <png.h>

#include <algorithm>
#include <cmath>

#include "core/base/error.h"
#include "core/io/file.h"

namespace dmlop {
namespace {

using Color = std::array<uint8_t, 3>;

constexpr int64_t kPixels = 1024;     // that the longer side of a small map is enlarged to
constexpr int64_t kLeastPixels = 64;  // of the shorter side
constexpr size_t kGrayCount = 253;    // palette entries; the last three are for what is not finite
constexpr uint8_t kNan = kGrayCount;
constexpr uint8_t kPositiveInfinity = kGrayCount + 1;
constexpr uint8_t kNegativeInfinity = kGrayCount + 2;

std::vector<Color> DifferencePalette() {
  constexpr int kBinCount = DifferenceMap::kMismatch - 1;
  constexpr int kWorstColor = 26;  // 2^24 ULP and more: nothing of a FLOAT32's digits is right
  std::vector<Color> palette = {{232, 232, 232}};
  for (int bin = 0; bin < kBinCount; ++bin) {
    const int part = std::min(bin, kWorstColor);
    palette.push_back({static_cast<uint8_t>(255 - 115 * part / kWorstColor),
                       static_cast<uint8_t>(205 - 205 * part / kWorstColor), 0});
  }
  palette.push_back({128, 0, 255});
  return palette;
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

uint8_t PixelOf(const ValueCell& cell, const std::optional<ValueRange>& range) {
  if (cell.has_nan) return kNan;
  if (cell.has_positive_infinity) return kPositiveInfinity;
  if (cell.has_negative_infinity) return kNegativeInfinity;
  return static_cast<uint8_t>(std::lround(range->Position(cell.mean) * (kGrayCount - 1)));
}

// Draws each cell as a rectangle of pixel_of(row, column).
template <typename PixelOfCell>
Picture Draw(const MapGrid& grid, std::vector<Color> palette, PixelOfCell&& pixel_of) {
  const int64_t rows = grid.rows.cells;
  const int64_t columns = grid.columns.cells;
  const int64_t scale = std::max<int64_t>(1, kPixels / std::max(rows, columns));
  const auto stretched = [&](int64_t cells) {
    return std::max(scale, (kLeastPixels + cells - 1) / cells);
  };
  Picture picture{.width = columns * stretched(columns),
                  .height = rows * stretched(rows),
                  .cell_width = stretched(columns),
                  .cell_height = stretched(rows),
                  .palette = std::move(palette),
                  .pixels = {}};
  picture.pixels.reserve(static_cast<size_t>(picture.width * picture.height));
  for (int64_t y = 0; y < picture.height; ++y) {
    for (int64_t x = 0; x < picture.width; ++x) {
      picture.pixels.push_back(pixel_of(y / picture.cell_height, x / picture.cell_width));
    }
  }
  return picture;
}

}  // namespace

Picture PictureOf(const DifferenceMap& map) {
  return Draw(map.grid(), DifferencePalette(),
              [&](int64_t row, int64_t column) { return map.worst(row, column); });
}

Picture PictureOf(const ValueMap& map) {
  return Draw(map.grid, ValuePalette(), [&](int64_t row, int64_t column) {
    return PixelOf(map.cells[static_cast<size_t>(row * map.grid.columns.cells + column)],
                   map.range);
  });
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
  if (path.ends_with(".png") || (IsStream(path) && path != "/dev/stdout")) return;
  throw Error(ErrorKind::kUsage,
              fmt::format("{}: a picture is written to a file with the extension .png", path));
}

}  // namespace dmlop
