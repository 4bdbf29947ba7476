// SPDX-License-Identifier: Apache-2.0
// Maps as PNG pictures.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "core/compare/map_plane.h"

namespace dmlop {

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

// From black at the minimum to white at the maximum; NaN is red, inf orange, -inf blue.
Picture PictureOf(const ValueMap& map, const Dims& sizes);

std::string PngBytes(const Picture& picture);

// Throws an Error of kind kUsage if the path has no extension of a picture, or is a terminal.
void CheckPicturePath(const std::string& path);

}  // namespace dmlop
