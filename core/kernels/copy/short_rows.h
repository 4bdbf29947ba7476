// SPDX-License-Identifier: Apache-2.0
// Copies short rows of several tensors at a time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace dmlop {

// Rows of adjacent elements at a constant pitch in bytes.
struct RowsCopy {
  int64_t rows;
  int64_t row_bytes;
  std::byte* to;
  const std::byte* from;
  int64_t to_pitch;
  int64_t from_pitch;
};

// CopyShortRows takes two to kMaxShortCopies copies with rows of at most kMaxShortRow.
inline constexpr size_t kMaxShortCopies = 4;
inline constexpr int64_t kMaxShortRow = 32;  // bytes

// Copies the first row of every copy, then the second, and so on, in the order of `copies`. All
// copies have as many rows as the first. Each row may read and write past its end; later writes
// repair that. So the rows of a source must lie apart, the destinations together must fill their
// memory, and copies into the same memory must be in its order. Returns how many rows were copied:
// all but the last few.
using ShortRowsFunction = int64_t (*)(std::span<const RowsCopy> copies);

ShortRowsFunction ShortRowsForIsa();

}  // namespace dmlop
