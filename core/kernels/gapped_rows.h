// Rows with zeros around them, written straight from where they lie.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "core/kernels/stream.h"

namespace dmlop {

// All in bytes. What lies between two rows in the source is read, but not used.
struct GappedRows {
  int64_t first = 0;  // zeros before the first row
  int64_t rows = 0, row_bytes = 0;
  int64_t pitch = 0;                // from row to row, in the source too
  const std::byte* from = nullptr;  // the first row

  // Where the last row ends and the rest, all zeros, begins.
  int64_t end() const { return rows == 0 ? first : first + (rows - 1) * pitch + row_bytes; }
};

// Writes `bytes` from the first zero on, past the caches.
void StreamGappedRows(const GappedRows& rows, int64_t bytes, StreamBuffer& stream);

struct GappedPlane {
  GappedRows rows;
  int64_t bytes;  // from the first zero on
  std::byte* to;
};

// Writes about bytes [begin, end) of each plane, from the line of the output that begins there or
// behind it, but for a plane's own begin and end. `streams` says whether past the caches; see
// FlushStreams.
void WriteStrip(std::span<const GappedPlane> planes, int64_t begin, int64_t end, bool streams);

}  // namespace dmlop
