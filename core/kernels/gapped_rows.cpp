#include "core/kernels/gapped_rows.h"

// Compiled once per instruction set; see the Highway documentation on foreach_target.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "core/kernels/gapped_rows.cpp"
#include <hwy/foreach_target.h>
// Must come after foreach_target.h.
#include <hwy/cache_control.h>
#include <hwy/highway.h>

#include <algorithm>

#include "core/kernels/dispatch.h"

HWY_BEFORE_NAMESPACE();
namespace dmlop::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

constexpr int64_t kLine = StreamBuffer::kLine;

// Streams one line; bit i of `kept` says whether byte i is that of the source, or else 0.
HWY_INLINE void StreamKept(uint64_t kept, std::byte* to, const std::byte* from) {
  const hn::CappedTag<uint8_t, kLine> d;
  for (size_t i = 0; i < kLine; i += hn::Lanes(d)) {
    const uint64_t bits = kept >> i;
    const auto mask = hn::LoadMaskBits(d, reinterpret_cast<const uint8_t*>(&bits));
    const auto bytes = hn::LoadU(d, reinterpret_cast<const uint8_t*>(from + i));
    hn::Stream(hn::IfThenElseZero(mask, bytes), d, reinterpret_cast<uint8_t*>(to + i));
  }
}

HWY_INLINE void StreamLine(std::byte* to, const std::byte* from) {
  const hn::CappedTag<uint8_t, kLine> d;
  for (size_t i = 0; i < kLine; i += hn::Lanes(d)) {
    hn::Stream(hn::LoadU(d, reinterpret_cast<const uint8_t*>(from + i)), d,
               reinterpret_cast<uint8_t*>(to + i));
  }
}

// Bits [begin, end) of 64, at least one.
constexpr uint64_t BitRange(int64_t begin, int64_t end) {
  return ~uint64_t{0} << begin & ~uint64_t{0} >> (64 - end);
}

// Streams whole lines of `bytes` in all, zero in gaps of `gap_bytes`, `pitch` bytes apart, of which
// `gap` is the first that ends within.
void StreamLines(int64_t bytes, std::byte* to, const std::byte* from, int64_t gap,
                 int64_t gap_bytes, int64_t pitch) {
  constexpr int64_t kAhead = 1 << 10;  // bytes that are asked for before they are needed
  for (int64_t at = 0; at < bytes; at += kLine) {
    for (const int64_t whole = HWY_MIN(gap, bytes); at + kLine <= whole; at += kLine) {
      hwy::Prefetch(from + at + kAhead);
      StreamLine(to + at, from + at);
    }
    if (at == bytes) return;
    uint64_t kept = ~uint64_t{0};
    while (gap < at + kLine) {
      kept &= ~BitRange(HWY_MAX(gap, at) - at, HWY_MIN(gap + gap_bytes, at + kLine) - at);
      if (gap + gap_bytes > at + kLine) break;
      gap += pitch;
    }
    StreamKept(kept, to + at, from + at);
  }
}

}  // namespace dmlop::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE

#include <cstring>
#include <limits>

namespace dmlop {
namespace {

constexpr int64_t kLine = StreamBuffer::kLine;

using StreamLinesFunction = void(int64_t bytes, std::byte* to, const std::byte* from, int64_t gap,
                                 int64_t gap_bytes, int64_t pitch);
constexpr IsaForms<StreamLinesFunction> kStreamLines = DMLOP_ISA_FORMS(StreamLines);

// Lines between the first row's begin and the last one's end.
void StreamRowLines(const GappedRows& rows, int64_t begin, int64_t end, std::byte* to) {
  if (begin == end) return;
  const int64_t at = begin - rows.first;  // in the source
  const int64_t gap_bytes = rows.pitch - rows.row_bytes;
  const int64_t gap = gap_bytes == 0 ? std::numeric_limits<int64_t>::max()
                                     : at / rows.pitch * rows.pitch + rows.row_bytes - at;
  Choose(kStreamLines)(end - begin, to, rows.from + at, gap, gap_bytes, rows.pitch);
}

// Some of the bytes, not past the caches.
void Compose(const GappedRows& rows, int64_t begin, int64_t end, std::byte* to) {
  if (begin == end) return;
  std::memset(to, 0, static_cast<size_t>(end - begin));
  int64_t row = std::max(begin - rows.first, int64_t{0}) / rows.pitch;
  for (; row < rows.rows && rows.first + row * rows.pitch < end; ++row) {
    const int64_t first = rows.first + row * rows.pitch;
    const int64_t from = std::max(begin, first);
    const int64_t count = std::min(end, first + rows.row_bytes) - from;
    if (count <= 0) continue;
    std::memcpy(to + from - begin, rows.from + from - rows.first, static_cast<size_t>(count));
  }
}

// Lines that are not the source's alone: zeros, and one that an end of the rows lies in.
void StreamMargin(const GappedRows& rows, int64_t begin, int64_t end, std::byte* to) {
  alignas(kLine) static constexpr std::byte kZeros[kLine]{};
  const StreamRowsFunction stream = StreamRowsForIsa();
  for (int64_t at = begin; at < end;) {
    const int64_t zeros_end = at >= rows.end() ? end : std::min(rows.first, end);
    if (const int64_t lines = (zeros_end - at) / kLine; lines > 0) {
      stream(lines, kLine, to + at - begin, kLine, kZeros, 0);
      at += lines * kLine;
    } else {
      alignas(kLine) std::byte line[kLine];
      Compose(rows, at, at + kLine, line);
      stream(1, kLine, to + at - begin, kLine, line, kLine);
      at += kLine;
    }
  }
}

}  // namespace

void StreamGappedRows(const GappedRows& rows, StreamBuffer& stream) {
  const int64_t begin = std::min(stream.BytesToLine(), rows.bytes);
  Compose(rows, 0, begin, stream.Next(begin));
  const int64_t lines = (rows.bytes - begin) / kLine;
  const int64_t end = begin + lines * kLine;
  if (lines > 0) {
    std::byte* to = stream.Lines(lines);
    const int64_t before = std::max(rows.first - begin + kLine - 1, int64_t{0}) / kLine;
    const int64_t rows_begin = std::min(begin + before * kLine, end);
    const int64_t until = std::max(std::min(rows.end(), end) - begin, int64_t{0}) / kLine;
    const int64_t rows_end = std::max(begin + until * kLine, rows_begin);
    StreamMargin(rows, begin, rows_begin, to);
    StreamRowLines(rows, rows_begin, rows_end, to + rows_begin - begin);
    StreamMargin(rows, rows_end, end, to + rows_end - begin);
  }
  Compose(rows, end, rows.bytes, stream.Next(rows.bytes - end));
}

}  // namespace dmlop

#endif  // HWY_ONCE
