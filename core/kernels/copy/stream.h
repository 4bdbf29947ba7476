// SPDX-License-Identifier: Apache-2.0
// Writes past the caches. Lines that are overwritten entirely need not be read first, and do not
// evict data that is still needed.
#pragma once

#include <cstddef>
#include <cstdint>

#include "core/base/memory.h"

namespace dmlop {

// Copies rows of `row_bytes`, which begin `to_pitch` and `from_pitch` bytes apart. Other threads
// see what is written only after FlushStreams.
using StreamRowsFunction = void (*)(int64_t rows, int64_t row_bytes, std::byte* to,
                                    int64_t to_pitch, const std::byte* from, int64_t from_pitch);

StreamRowsFunction StreamRowsForIsa();

// Makes this thread's streamed writes visible to other threads.
void FlushStreams();

// Writes to consecutive addresses from a buffer that stays in the first-level cache.
class StreamBuffer {
 public:
  static constexpr int64_t kMaxCapacity = 1 << 13;
  static constexpr int64_t kLine = kLineBytes;

  // Holds `capacity` bytes, at most kMaxCapacity. With a small one, writing overlaps with packing.
  StreamBuffer(std::byte* to, int64_t capacity);
  StreamBuffer(const StreamBuffer&) = delete;
  StreamBuffer& operator=(const StreamBuffer&) = delete;
  ~StreamBuffer();

  // Returns where to pack the next `bytes`, which must not exceed the capacity.
  std::byte* Next(int64_t bytes) {
    if (end_ + bytes > capacity_ + kLine) WriteLines();
    end_ += bytes;
    return bytes_ + end_ - bytes;
  }

 private:
  // Writes the whole lines and keeps the rest.
  void WriteLines();

  StreamRowsFunction stream_ = StreamRowsForIsa();
  int64_t capacity_;
  std::byte* to_;  // destination of the buffer's first byte, at the beginning of a line
  int64_t begin_;  // [begin_, end_) is packed but not yet written
  int64_t end_;
  alignas(kLine) std::byte bytes_[kMaxCapacity + kLine];
};

}  // namespace dmlop
