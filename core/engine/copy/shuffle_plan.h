// Plans the composition of short rows and small planes by vector shuffles.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "core/kernels/copy/shuffle.h"

namespace dmlop {

// Where an element of a block's destination comes from.
struct Origin {
  size_t source;
  int64_t offset;  // in bytes from where the source's block begins
};

// The program for blocks of consecutive elements of `width` bytes, zero where they have no origin.
// It touches nothing but each block's destination and what lies between the first and the last
// origin in each source; nothing, where one of these is shorter than a vector.
std::optional<ShuffleProgram> PlanShuffle(std::span<const std::optional<Origin>> origins,
                                          int64_t width, int64_t to_step,
                                          std::vector<int64_t> from_steps);

}  // namespace dmlop
