// SPDX-License-Identifier: Apache-2.0
// A picture of maps of equal size beside one another, with ticks, the names of their dimensions,
// and a scale.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "app/text/picture.h"
#include "core/compare/map_plane.h"

namespace dmlop {

// The scale below a map: a bar of its colors with numbers, and the meanings of other colors. Colors
// are entries of the picture's palette.
struct PictureScale {
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
void AddScale(const PictureScale& scale, Picture& picture);

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

}  // namespace dmlop
