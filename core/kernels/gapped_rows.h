// Rows with zeros around them, written straight from where they lie.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "core/kernels/stream.h"

namespace dmlop {

// All in bytes. What lies between two rows in the source is read, but not used; so these are as far
// apart as those that are written, or a line or more.
struct GappedRows {
  int64_t first = 0;  // zeros before the first row
  int64_t rows = 0, row_bytes = 0;
  int64_t pitch = 0;       // from row to row
  int64_t from = 0;        // where the first row is in the source
  int64_t from_pitch = 0;  // from row to row there

  // Where the last row ends and the rest, all zeros, begins.
  int64_t end() const { return rows == 0 ? first : first + (rows - 1) * pitch + row_bytes; }
};

// Writes `bytes` from the first zero on, past the caches.
void StreamGappedRows(const GappedRows& rows, const std::byte* source, int64_t bytes,
                      StreamBuffer& stream);

// Planes of one source, or of zeros without one.
struct GappedPlanes {
  std::span<const GappedRows> planes;
  const std::byte* source;
  int64_t bytes;  // of a plane, from the first zero on
  std::byte* to;
  int64_t to_pitch;  // from plane to plane
};

struct PlaneStrip {
  int64_t begin, end;                          // in bytes of a plane
  std::span<const std::byte> prefetched = {};  // meanwhile: memory that will be read soon
};

// Writes about the strip of each plane, from the line of the output that begins there or behind it,
// but for a plane's own begin and end. `streams` says whether past the caches; see FlushStreams.
void WriteStrip(const GappedPlanes& planes, const PlaneStrip& strip, bool streams);

}  // namespace dmlop
