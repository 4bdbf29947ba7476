// Writing past the caches. Memory that is written as a whole need not be read first, and does not
// push out what is still needed.
#pragma once

#include <cstddef>
#include <cstdint>

#include "core/base/machine.h"

namespace dmlop {

// Copies rows of `row_bytes`, which begin `to_pitch` and `from_pitch` bytes apart. What is written
// becomes visible to other threads with FlushStreams.
using StreamRowsFunction = void (*)(int64_t rows, int64_t row_bytes, std::byte* to,
                                    int64_t to_pitch, const std::byte* from, int64_t from_pitch);

StreamRowsFunction StreamRowsForIsa();

// Ends what this thread has streamed.
void FlushStreams();

// Writes to consecutive addresses from a buffer that stays in the first-level cache.
class StreamBuffer {
 public:
  static constexpr int64_t kMaxCapacity = 1 << 13;
  static constexpr int64_t kLine = kLineBytes;

  // Holds `capacity` bytes, at most kMaxCapacity. Few are written out while more is packed.
  StreamBuffer(std::byte* to, int64_t capacity);
  StreamBuffer(const StreamBuffer&) = delete;
  StreamBuffer& operator=(const StreamBuffer&) = delete;
  ~StreamBuffer();

  // Where to pack the next `bytes`, no more than the buffer holds.
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
  std::byte* to_;  // where the buffer's first byte belongs, at the beginning of a line
  int64_t begin_;  // what is packed but not written
  int64_t end_;
  alignas(kLine) std::byte bytes_[kMaxCapacity + kLine];
};

}  // namespace dmlop
