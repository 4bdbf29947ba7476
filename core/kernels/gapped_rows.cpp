#include "core/kernels/gapped_rows.h"

// Compiled once per instruction set; see the Highway documentation on foreach_target.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "core/kernels/gapped_rows.cpp"
#include <hwy/foreach_target.h>
// Must come after foreach_target.h.
#include <hwy/cache_control.h>
#include <hwy/highway.h>

#include <algorithm>
#include <cstdint>
#include <cstring>

#include "core/kernels/dispatch.h"
#include "core/kernels/prefetch.h"

namespace dmlop {
namespace {

// Some of the bytes, counted from the first zero on; not past the caches.
void Compose(const GappedRows& rows, const std::byte* source, int64_t begin, int64_t end,
             std::byte* to);

}  // namespace
}  // namespace dmlop

HWY_BEFORE_NAMESPACE();
namespace dmlop::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

constexpr int64_t kLine = StreamBuffer::kLine;

template <bool kStreams, class D, class V>
HWY_INLINE void Write(V bytes, D d, std::byte* to) {
  if constexpr (kStreams) {
    hn::Stream(bytes, d, reinterpret_cast<uint8_t*>(to));
  } else {
    hn::StoreU(bytes, d, reinterpret_cast<uint8_t*>(to));
  }
}

// Writes one line; bit i of `kept` says whether byte i is that of the source, or else 0.
template <bool kStreams>
HWY_INLINE void WriteKept(uint64_t kept, std::byte* to, const std::byte* from) {
  const hn::CappedTag<uint8_t, kLine> d;
  for (size_t i = 0; i < kLine; i += hn::Lanes(d)) {
    const uint64_t bits = kept >> i;
    const auto mask = hn::LoadMaskBits(d, reinterpret_cast<const uint8_t*>(&bits));
    const auto bytes = hn::LoadU(d, reinterpret_cast<const uint8_t*>(from + i));
    Write<kStreams>(hn::IfThenElseZero(mask, bytes), d, to + i);
  }
}

template <bool kStreams>
HWY_INLINE void WriteLine(std::byte* to, const std::byte* from) {
  const hn::CappedTag<uint8_t, kLine> d;
  for (size_t i = 0; i < kLine; i += hn::Lanes(d)) {
    Write<kStreams>(hn::LoadU(d, reinterpret_cast<const uint8_t*>(from + i)), d, to + i);
  }
}

// Bits [begin, end) of 64, at least one.
constexpr uint64_t BitRange(int64_t begin, int64_t end) {
  return ~uint64_t{0} << begin & ~uint64_t{0} >> (64 - end);
}

// Writes whole lines of `bytes` in all, zero in gaps of `gap_bytes`, `pitch` bytes apart, of which
// `gap` is the first that ends within.
template <bool kStreams>
HWY_INLINE void WriteLines(int64_t bytes, std::byte* to, const std::byte* from, int64_t gap,
                           int64_t gap_bytes, int64_t pitch) {
  constexpr int64_t kAhead = 1 << 11;  // bytes that are asked for before they are needed
  for (int64_t at = 0; at < bytes; at += kLine) {
    for (const int64_t whole = HWY_MIN(gap, bytes); at + kLine <= whole; at += kLine) {
      hwy::Prefetch(from + at + kAhead);
      WriteLine<kStreams>(to + at, from + at);
    }
    if (at == bytes) return;
    uint64_t kept = ~uint64_t{0};
    while (gap < at + kLine) {
      kept &= ~BitRange(HWY_MAX(gap, at) - at, HWY_MIN(gap + gap_bytes, at + kLine) - at);
      if (gap + gap_bytes > at + kLine) break;
      gap += pitch;
    }
    WriteKept<kStreams>(kept, to + at, from + at);
  }
}

// Whole lines of zeros, and such that an end of the rows lies in.
template <bool kStreams>
HWY_INLINE void WriteMargin(const GappedRows& rows, const std::byte* source, int64_t begin,
                            int64_t end, std::byte* to) {
  for (int64_t at = begin; at < end; at += kLine) {
    alignas(kLine) std::byte line[kLine] = {};
    if (at + kLine > rows.first && at < rows.end()) {
      Compose(rows, source, at, at + kLine, line);
    }
    WriteLine<kStreams>(to + at - begin, line);
  }
}

// Bytes [begin, end) of the rows and the zeros around them, in whole lines.
template <bool kStreams>
HWY_INLINE void WriteGapped(const GappedRows& rows, const std::byte* source, int64_t begin,
                            int64_t end, std::byte* to) {
  // What lies between the first row's begin and the last one's end.
  const int64_t before = HWY_MAX(rows.first - begin + kLine - 1, int64_t{0}) / kLine;
  const int64_t first = HWY_MIN(begin + before * kLine, end);
  const int64_t until = HWY_MAX(HWY_MIN(rows.end(), end) - begin, int64_t{0}) / kLine;
  const int64_t last = HWY_MAX(begin + until * kLine, first);
  WriteMargin<kStreams>(rows, source, begin, first, to);
  if (first != last) {
    const int64_t at = first - rows.first;  // in the source
    const int64_t gap_bytes = rows.pitch - rows.row_bytes;
    const int64_t gap =
        gap_bytes == 0 ? INT64_MAX : at / rows.pitch * rows.pitch + rows.row_bytes - at;
    WriteLines<kStreams>(last - first, to + first - begin, source + rows.from + at, gap, gap_bytes,
                         rows.pitch);
  }
  WriteMargin<kStreams>(rows, source, last, end, to + last - begin);
}

// Where the line begins that is at least `at` bytes behind `to`.
HWY_INLINE int64_t LineFrom(const std::byte* to, int64_t at) {
  const auto skew = static_cast<int64_t>(reinterpret_cast<uintptr_t>(to) % kLine);
  return (skew + at + kLine - 1) / kLine * kLine - skew;
}

// Without calls for most planes: what these save to memory would wait for what is streamed.
template <bool kStreams>
HWY_INLINE void WriteStripOf(const GappedPlanes& planes, const PlaneStrip& strip) {
  constexpr GappedRows kZeros;
  PrefetchShares prefetch(strip.prefetched, std::ssize(planes.planes));
  std::byte* to = planes.to;
  for (const GappedRows& plane : planes.planes) {
    prefetch.AskForShare();
    const GappedRows& rows = planes.source == nullptr ? kZeros : plane;
    const int64_t first = HWY_MIN(LineFrom(to, strip.begin), planes.bytes);
    const int64_t last = HWY_MIN(LineFrom(to, strip.end), planes.bytes);
    const int64_t lines_end = first + (last - first) / kLine * kLine;
    if (strip.begin == 0) Compose(rows, planes.source, 0, first, to);
    WriteGapped<kStreams>(rows, planes.source, first, lines_end, to + first);
    if (lines_end != last) Compose(rows, planes.source, lines_end, last, to + lines_end);
    to += planes.to_pitch;
  }
}

void StreamLines(const GappedRows& rows, const std::byte* source, int64_t begin, int64_t end,
                 std::byte* to) {
  WriteGapped<true>(rows, source, begin, end, to);
}

void CopyStrip(const GappedPlanes& planes, const PlaneStrip& strip) {
  WriteStripOf<false>(planes, strip);
}

void StreamStrip(const GappedPlanes& planes, const PlaneStrip& strip) {
  WriteStripOf<true>(planes, strip);
}

}  // namespace dmlop::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE

namespace dmlop {
namespace {

constexpr int64_t kLine = StreamBuffer::kLine;

using LinesFunction = void(const GappedRows& rows, const std::byte* source, int64_t begin,
                           int64_t end, std::byte* to);
constexpr IsaForms<LinesFunction> kStreamLines = DMLOP_ISA_FORMS(StreamLines);

using StripFunction = void(const GappedPlanes& planes, const PlaneStrip& strip);
constexpr IsaForms<StripFunction> kCopyStrip = DMLOP_ISA_FORMS(CopyStrip);
constexpr IsaForms<StripFunction> kStreamStrip = DMLOP_ISA_FORMS(StreamStrip);

void Compose(const GappedRows& rows, const std::byte* source, int64_t begin, int64_t end,
             std::byte* to) {
  if (begin == end) return;
  std::memset(to, 0, static_cast<size_t>(end - begin));
  if (rows.rows == 0) return;
  int64_t row = std::max(begin - rows.first, int64_t{0}) / rows.pitch;
  for (; row < rows.rows && rows.first + row * rows.pitch < end; ++row) {
    const int64_t first = rows.first + row * rows.pitch;
    const int64_t from = std::max(begin, first);
    const int64_t count = std::min(end, first + rows.row_bytes) - from;
    if (count <= 0) continue;
    std::memcpy(to + from - begin, source + rows.from + from - rows.first,
                static_cast<size_t>(count));
  }
}

}  // namespace

void StreamGappedRows(const GappedRows& rows, const std::byte* source, int64_t bytes,
                      StreamBuffer& stream) {
  const int64_t begin = std::min(stream.BytesToLine(), bytes);
  const int64_t lines = (bytes - begin) / kLine;
  const int64_t end = begin + lines * kLine;
  Compose(rows, source, 0, begin, stream.Next(begin));
  if (lines > 0) Choose(kStreamLines)(rows, source, begin, end, stream.Lines(lines));
  Compose(rows, source, end, bytes, stream.Next(bytes - end));
}

void WriteStrip(const GappedPlanes& planes, const PlaneStrip& strip, bool streams) {
  Choose(streams ? kStreamStrip : kCopyStrip)(planes, strip);
}

}  // namespace dmlop

#endif  // HWY_ONCE
