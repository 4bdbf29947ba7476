// SPDX-License-Identifier: Apache-2.0
// Enlarges differences that are too small to be seen in a picture.
#pragma once

#include <cstdint>
#include <vector>

#include "core/compare/map_plane.h"

namespace dmlop {

// `cells` are row by row; 0 passes, and the largest is the worst. Each differing cell with few
// others around it becomes a square of some pixels; where squares overlap, the worst wins. Patterns
// of many differences are unchanged.
std::vector<uint8_t> WithMarks(const std::vector<uint8_t>& cells, const MapGrid& grid,
                               int64_t cell_width, int64_t cell_height);

}  // namespace dmlop
