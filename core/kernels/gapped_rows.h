// Rows with zeros around them, written past the caches straight from where they lie.
#pragma once

#include <cstddef>
#include <cstdint>

#include "core/kernels/stream.h"

namespace dmlop {

// All in bytes. What lies between two rows in the source is read, but not used.
struct GappedRows {
  int64_t bytes;  // of everything, zeros included
  int64_t first;  // zeros before the first row
  int64_t rows, row_bytes;
  int64_t pitch;          // from row to row, in the source too
  const std::byte* from;  // the first row

  // Where the last row ends.
  int64_t end() const { return rows == 0 ? first : first + (rows - 1) * pitch + row_bytes; }
};

void StreamGappedRows(const GappedRows& rows, StreamBuffer& stream);

}  // namespace dmlop
