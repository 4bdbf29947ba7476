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

// A line that is put together from parts of rows, with zeros between them.
class LineOfParts {
 public:
  HWY_INLINE LineOfParts() {
    for (hn::Vec<D>& vector : vectors_) vector = hn::Zero(D());
  }

  // Bytes [begin, end) of the line are those of the one at `from`.
  HWY_INLINE void Add(int64_t begin, int64_t end, const std::byte* from) {
    if (begin >= end) return;
    const D d;
    const uint64_t kept = BitRange(begin, end);
    for (size_t i = 0; i < kVectors; ++i) {
      const uint64_t bits = kept >> (i * kLanes);
      const auto mask = hn::LoadMaskBits(d, reinterpret_cast<const uint8_t*>(&bits));
      const auto bytes = hn::LoadU(d, reinterpret_cast<const uint8_t*>(from + i * kLanes));
      vectors_[i] = hn::Or(vectors_[i], hn::IfThenElseZero(mask, bytes));
    }
  }

  template <bool kStreams>
  HWY_INLINE void Write(std::byte* to) const {
    for (size_t i = 0; i < kVectors; ++i) {
      dmlop::HWY_NAMESPACE::Write<kStreams>(vectors_[i], D(), to + i * kLanes);
    }
  }

 private:
  using D = hn::CappedTag<uint8_t, kLine>;
  static constexpr size_t kLanes = hn::MaxLanes(D());
  static constexpr size_t kVectors = kLine / kLanes;

  hn::Vec<D> vectors_[kVectors];
};

// Rows from some byte on.
struct RowsFrom {
  const std::byte* from;
  int64_t gap;  // where the first row ends that does
  int64_t gap_bytes;
  int64_t pitch;
  int64_t skipped;  // of the source, more than of what is written, from row to row
};

// Writes whole lines of `bytes` in all.
template <bool kStreams>
HWY_INLINE void WriteLines(int64_t bytes, std::byte* to, RowsFrom rows) {
  constexpr int64_t kAhead = 1 << 11;  // bytes that are asked for before they are needed
  const int64_t source_pitch = rows.pitch + rows.skipped;
  const int64_t ahead = rows.pitch <= kAhead ? kAhead / rows.pitch * source_pitch : kAhead;
  for (int64_t at = 0; at < bytes; at += kLine) {
    for (const int64_t whole = HWY_MIN(rows.gap, bytes); at + kLine <= whole; at += kLine) {
      hwy::Prefetch(rows.from + at + ahead);
      WriteLine<kStreams>(to + at, rows.from + at);
    }
    if (at == bytes) return;
    LineOfParts line;
    int64_t begin = 0;
    while (rows.gap < at + kLine) {
      line.Add(begin, rows.gap - at, rows.from + at);
      begin = rows.gap + rows.gap_bytes - at;
      if (begin > kLine) break;
      rows.gap += rows.pitch;
      rows.from += rows.skipped;
    }
    line.Add(begin, kLine, rows.from + at);
    line.template Write<kStreams>(to + at);
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
    const int64_t at = first - rows.first;
    const int64_t gap_bytes = rows.pitch - rows.row_bytes;
    const int64_t skipped = rows.from_pitch - rows.pitch;
    const int64_t row = at / rows.pitch;
    const bool is_one = gap_bytes == 0 && skipped == 0;
    WriteLines<kStreams>(last - first, to + first - begin,
                         {source + rows.from + at + row * skipped,
                          is_one ? INT64_MAX : row * rows.pitch + rows.row_bytes - at, gap_bytes,
                          rows.pitch, skipped});
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
    std::memcpy(to + from - begin, source + rows.from + row * rows.from_pitch + from - first,
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
