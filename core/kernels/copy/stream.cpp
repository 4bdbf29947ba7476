// SPDX-License-Identifier: Apache-2.0
#include "core/kernels/copy/stream.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "core/kernels/copy/stream.cpp"
#include <hwy/foreach_target.h>

#include <hwy/cache_control.h>
#include <hwy/highway.h>

#include <algorithm>
#include <cstring>

#include "core/kernels/simd/dispatch.h"

HWY_BEFORE_NAMESPACE();
namespace dmlop::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

// Only whole cache lines are streamed: streaming part of one would cost a read and a write of
// memory.
inline void StreamRow(size_t bytes, std::byte* to, const std::byte* from) {
  constexpr size_t kLine = 64;
  const hn::CappedTag<uint8_t, kLine> d;
  const size_t lanes = hn::Lanes(d);
  const size_t head = std::min(bytes, (kLine - reinterpret_cast<uintptr_t>(to)) % kLine);
  const size_t body_end = head + (bytes - head) / kLine * kLine;
  if (head != 0) std::memcpy(to, from, head);
  for (size_t i = head; i < body_end; i += lanes) {
    hn::Stream(hn::LoadU(d, reinterpret_cast<const uint8_t*>(from + i)), d,
               reinterpret_cast<uint8_t*>(to + i));
  }
  if (body_end != bytes) std::memcpy(to + body_end, from + body_end, bytes - body_end);
}

void StreamRows(int64_t rows, int64_t row_bytes, std::byte* to, int64_t to_pitch,
                const std::byte* from, int64_t from_pitch) {
  if (to_pitch == row_bytes && from_pitch == row_bytes) {
    row_bytes *= rows;
    rows = 1;
  }
  for (int64_t row = 0; row < rows; ++row) {
    StreamRow(static_cast<size_t>(row_bytes), to, from);
    to += to_pitch;
    from += from_pitch;
  }
}

}  // namespace dmlop::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace dmlop {

StreamRowsFunction StreamRowsForIsa() {
  return DMLOP_CHOOSE(StreamRows);
}

void FlushStreams() {
  hwy::FlushStream();
}

StreamBuffer::StreamBuffer(std::byte* to, int64_t capacity)
    : capacity_(capacity),
      begin_(static_cast<int64_t>(reinterpret_cast<uintptr_t>(to) % kLine)),
      end_(begin_) {
  to_ = to - begin_;
}

StreamBuffer::~StreamBuffer() {
  stream_(1, end_ - begin_, to_ + begin_, 0, bytes_ + begin_, 0);
  FlushStreams();
}

void StreamBuffer::WriteLines() {
  const int64_t written = end_ / kLine * kLine;
  stream_(1, written - begin_, to_ + begin_, 0, bytes_ + begin_, 0);
  std::memcpy(bytes_, bytes_ + written, static_cast<size_t>(end_ - written));
  to_ += written;
  end_ -= written;
  begin_ = 0;
}

}  // namespace dmlop
#endif
