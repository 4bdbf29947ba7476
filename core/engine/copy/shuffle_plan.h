// SPDX-License-Identifier: Apache-2.0
// Plans how vector shuffles compose short rows and small planes.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "core/kernels/copy/shuffle.h"

namespace dmlop {

// The place from which an element of a block's destination is copied.
struct Origin {
  size_t source;
  int64_t offset;  // in bytes from the beginning of the source's block
};

// The program for blocks of consecutive elements of `width` bytes; elements without an origin
// become zero. It touches only each block's destination and, in each source, what lies between the
// first and the last origin. Null if one of these is shorter than a vector.
std::optional<ShuffleProgram> PlanShuffle(std::span<const std::optional<Origin>> origins,
                                          int64_t width, int64_t to_step,
                                          std::vector<int64_t> from_steps);

}  // namespace dmlop
