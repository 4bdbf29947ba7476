// Short rows of several tensors.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace dmlop {

// Rows of adjacent elements, at regular distances in bytes.
struct RowsCopy {
  int64_t rows;
  int64_t row_bytes;
  std::byte* to;
  const std::byte* from;
  int64_t to_pitch;
  int64_t from_pitch;
};

// What CopyShortRows takes: two copies or a few, of rows that are not long.
inline constexpr size_t kMaxShortCopies = 4;
inline constexpr int64_t kMaxShortRow = 32;  // bytes

// Copies the first row of all, then the second, and so on, in the order of `copies`. These have
// equally many rows, as many as their first one says. Each writes, and reads, behind its row what
// is put right, or read, later: so rows of a source lie apart, those of all destinations fill
// their memory, and copies into one come in its order. Returns how many rows it has copied, all but
// the last few.
using ShortRowsFunction = int64_t (*)(std::span<const RowsCopy> copies);

ShortRowsFunction ShortRowsForIsa();

}  // namespace dmlop
