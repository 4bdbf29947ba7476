// SPDX-License-Identifier: Apache-2.0
// A picture of maps of equal size side by side, with ticks, names of dimensions, and a scale.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/compare/map_plane.h"

namespace dmlop {

// --- pictures ------------------------------------------------------------------------------------

// Maps as PNG pictures.

// The maximum number of cells for a picture's map of values, and the room for maps of differences.
MapLimits PictureLimitsOf(const Dims& sizes);
MapSpace PictureSpace();

// Maps with ticks, and their scale below.
struct Picture {
  int64_t width;
  int64_t height;
  int64_t cell_width;  // in pixels
  int64_t cell_height;
  std::vector<std::array<uint8_t, 3>> palette;  // red, green, blue
  std::vector<uint8_t> pixels;                  // row by row, as indices into the palette
};

// Light gray where all elements of a cell pass; otherwise from orange to black by the logarithm of
// the worst error, or blue for a mismatch. Isolated differences are drawn larger than a cell.
// `sizes` are the tensors'.
Picture PictureOf(const DifferenceMap& map, const Dims& sizes);

// The colors go from black at the minimum to white at the maximum; NaN is red, inf orange, -inf
// blue.
Picture PictureOf(const ValueMap& map, const Dims& sizes);

std::string PngBytes(const Picture& picture);

// Throws an Error of kind kUsage if the path has no extension of a picture, or is a terminal.
void CheckPicturePath(const std::string& path);

// --- frames --------------------------------------------------------------------------------------

// The scale below a map: a bar of its colors with numbers, and the meanings of other colors. Colors
// are entries of the picture's palette.
struct MapScale {
  struct Number {
    size_t at;  // index of its color in the bar
    std::string text;
  };
  struct Meaning {
    uint8_t color;
    std::string text;
  };

  uint8_t paper, ink;
  std::vector<uint8_t> bar;     // from left to right; may be empty
  std::vector<Number> numbers;  // without overlaps
  std::string unit;             // printed after the bar
  std::vector<Meaning> meanings;
};

// Adds the scale below the picture, which keeps its place at the top left.
void AddScale(const MapScale& scale, Picture& picture);

struct PicturePanel {
  std::string title;           // written above; empty for none
  std::vector<uint8_t> cells;  // colors, row by row
};

struct PictureFrame {
  MapGrid grid;  // of each panel
  int64_t across = 1;
  std::vector<PicturePanel> panels;
  std::string row_name, column_name;  // of dimensions; empty for none
  uint8_t paper = 0, ink = 0;         // colors
};

// The width and the height of a cell in pixels: small maps are enlarged.
struct CellSize {
  int64_t width, height;
};
CellSize CellSizeOf(const MapGrid& grid, int64_t across, int64_t count);

Picture Framed(const PictureFrame& frame, std::vector<std::array<uint8_t, 3>> palette);

// --- canvas --------------------------------------------------------------------------------------

// --- letters for frames and scales ---------------------------------------------------------------

inline constexpr int kGlyphWidth = 5;
inline constexpr int kGlyphHeight = 7;

// The columns of a character from left to right, the lowest bit at the top; blank for unused ones.
std::array<uint8_t, kGlyphWidth> GlyphOf(char character);

// --- canvas --------------------------------------------------------------------------------------

// Lengths in pixels.
inline constexpr int64_t kZoom = 2;  // for each pixel of a glyph
inline constexpr int64_t kAdvance = kZoom * (kGlyphWidth + 1);
inline constexpr int64_t kTextHeight = kZoom * kGlyphHeight;
inline constexpr int64_t kMargin = 16;
inline constexpr int64_t kGap = 8;

// Returns the width of a text.
inline int64_t PixelsOf(std::string_view text) {
  return static_cast<int64_t>(text.size()) * kAdvance;
}

class Canvas {
 public:
  Canvas(Picture& picture, uint8_t ink) : picture_(picture), ink_(ink) {}

  // Marks beyond the picture are left out.
  void Fill(int64_t x, int64_t y, int64_t width, int64_t height, uint8_t color) {
    const int64_t count = std::min(width, picture_.width - x);
    for (int64_t row = y; row < std::min(y + height, picture_.height) && count > 0; ++row) {
      std::fill_n(picture_.pixels.begin() + row * picture_.width + x, count, color);
    }
  }

  void Write(int64_t x, int64_t y, std::string_view text) {
    for (const char character : text) {
      const auto columns = GlyphOf(character);
      for (int column = 0; column < kGlyphWidth; ++column) {
        for (int row = 0; row < kGlyphHeight; ++row) {
          const bool is_set = ((columns[static_cast<size_t>(column)] >> row) & 1) != 0;
          if (is_set) Fill(x + kZoom * column, y + kZoom * row, kZoom, kZoom, ink_);
        }
      }
      x += kAdvance;
    }
  }

 private:
  Picture& picture_;
  const uint8_t ink_;
};

// Adds room to the right and below.
inline void Enlarge(int64_t width, int64_t height, uint8_t paper, Picture& picture) {
  std::vector<uint8_t> pixels(static_cast<size_t>(width * height), paper);
  for (int64_t row = 0; row < picture.height; ++row) {
    std::copy_n(picture.pixels.begin() + row * picture.width, picture.width,
                pixels.begin() + row * width);
  }
  picture.pixels = std::move(pixels);
  picture.width = width;
  picture.height = height;
}

// --- differences that are too small to be seen ---------------------------------------------------

// `cells` are row by row; 0 passes, and the largest is the worst. Each differing cell with few
// others around it becomes a square of some pixels; where squares overlap, the worst wins. Patterns
// of many differences are unchanged.
std::vector<uint8_t> WithMarks(const std::vector<uint8_t>& cells, const MapGrid& grid,
                               int64_t cell_width, int64_t cell_height);

}  // namespace dmlop
