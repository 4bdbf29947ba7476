#include "core/ops/unfold_runs.h"

#include <algorithm>
#include <cstring>
#include <optional>
#include <vector>

#include "core/base/parallel.h"
#include "core/kernels/gapped_rows.h"
#include "core/kernels/prefetch.h"
#include "core/kernels/stream.h"
#include "core/ops/unfold_source.h"

namespace dmlop {
namespace {

// Of the input of a channel, or its images, that stay in the first-level cache while all taps are
// written, plane after plane.
constexpr int64_t kNearBytes = 24 << 10;
// Other channels are taken strip by strip, so that what the taps have in common is near: about so
// much of a plane's input, or its images. A plane may begin and end within lines, which are not
// streamed: where planes are small, these would be many.
constexpr int64_t kStripSourceBytes = 16 << 10;
constexpr int64_t kMinStripBytes = 2 << 10;    // of the output
constexpr int64_t kLoneStripBytes = 64 << 10;  // where there is one tap only
constexpr int64_t kMinStrippedBytes = 8 << 10;

// Taps, at most so many of which are planned once for all channels.
constexpr int64_t kFewTaps = 1 << 10;

// In which lines mostly come from one row.
constexpr int64_t kMinApartRowBytes = 192;

// Whether rows so far apart, in elements, follow each other as in the output, or are worth it.
bool HasPitchOfRuns(int64_t pitch, const UnfoldGeometry& geometry) {
  const int64_t blocks = geometry.column_dim().blocks;
  return pitch == blocks || geometry.row_dim().blocks == 1 ||
         (blocks * geometry.width() >= kMinApartRowBytes &&
          pitch * geometry.width() >= StreamBuffer::kLine);
}

// Whether what a tap sees of a row lies side by side in the input.
bool RowsAreRuns(const UnfoldGeometry& geometry) {
  const UnfoldDim& row = geometry.row_dim();
  const UnfoldDim& column = geometry.column_dim();
  return (column.stride * column.step == 1 || column.size == 1) &&
         (row.size == 1 || HasPitchOfRuns(row.stride * row.step, geometry));
}

bool FitsNear(const UnfoldGeometry& geometry, const std::optional<UnfoldPhases>& phases) {
  if (phases) return phases->bytes() <= kNearBytes;
  int64_t bytes = geometry.width();
  for (const UnfoldDim& dim : geometry.dims()) {
    bytes *= dim.size;
    if (bytes > kNearBytes) return false;
  }
  return true;
}

// What taps see, of the last two dimensions.
class TapRows {
 public:
  TapRows(const UnfoldGeometry& geometry, const std::optional<UnfoldPhases>& phases)
      : geometry_(geometry), phases_(phases) {
    if (geometry.tap_count() > kFewTaps) return;
    for (int64_t i = 0; i < geometry.row_dim().window; ++i) {
      for (int64_t j = 0; j < geometry.column_dim().window; ++j) {
        planned_.push_back(RowsOfTap(geometry, phases, i, j));
      }
    }
  }

  GappedRows At(int64_t row_tap, int64_t column_tap) const {
    if (planned_.empty()) return RowsOfTap(geometry_, phases_, row_tap, column_tap);
    return planned_[static_cast<size_t>(row_tap * geometry_.column_dim().window + column_tap)];
  }

  // Of all taps, if these are few.
  const std::vector<GappedRows>& planned() const { return planned_; }

 private:
  const UnfoldGeometry& geometry_;
  const std::optional<UnfoldPhases>& phases_;
  std::vector<GappedRows> planned_;
};

// --- plane after plane, as they follow each other in the output ----------------------------------

class PlaneLoop {
 public:
  PlaneLoop(const UnfoldGeometry& geometry, const std::optional<UnfoldPhases>& phases)
      : geometry_(geometry),
        phases_(phases),
        rows_of_taps_(geometry, phases),
        loops_(geometry.loops()),
        channel_planes_(Product(loops_) / (loops_[0] * loops_[1])) {}

  void Run() const {
    const TensorView& output = geometry_.output();
    const bool streams = output.element_bytes() >= kStreamBytes && IsPacked(output.layout);
    const int64_t grain = GrainFor(geometry_.plane_bytes(), phases_ ? phases_->bytes() : 0);
    ParallelFor(Product(loops_), grain, output.element_bytes(), [&](int64_t begin, int64_t end) {
      if (streams) {
        StreamPlanes(begin, end);
      } else {
        WritePlanes(begin, end);
      }
    });
  }

 private:
  struct Plane {
    GappedRows rows;  // none in the padding
    const std::byte* source;
  };

  void WritePlanes(int64_t begin, int64_t end) const {
    const int64_t bytes = geometry_.plane_bytes();
    ForEachPlane(begin, end, [&](const Plane& plane, const UnfoldPlace& place) {
      std::byte* to = geometry_.OutputPlane(place);
      if (IsShortRow(plane)) {
        std::memcpy(to, plane.source + plane.rows.from, static_cast<size_t>(bytes));
      } else {
        WriteStrip({{&plane.rows, 1}, plane.source, bytes, to, 0}, {0, bytes}, false);
      }
    });
  }

  void StreamPlanes(int64_t begin, int64_t end) const {
    const int64_t bytes = geometry_.plane_bytes();
    StreamBuffer stream(geometry_.OutputPlane(geometry_.PlaceAt(IndexOf(loops_, begin))),
                        StreamBuffer::kMaxCapacity);
    ForEachPlane(begin, end, [&](const Plane& plane, const UnfoldPlace&) {
      if (IsShortRow(plane)) {
        std::memcpy(stream.Next(bytes), plane.source + plane.rows.from, static_cast<size_t>(bytes));
      } else {
        StreamGappedRows(plane.rows, plane.source, bytes, stream);
      }
    });
  }

  // A plane that is one row without padding, and so short that a kernel would not pay.
  bool IsShortRow(const Plane& plane) const {
    constexpr int64_t kShortBytes = 1 << 10;
    return plane.rows.row_bytes == geometry_.plane_bytes() && plane.rows.row_bytes <= kShortBytes;
  }

  template <typename Write>
  void ForEachPlane(int64_t begin, int64_t end, Write&& write) const {
    const size_t outer = geometry_.dims().size() - 2;
    Dims index = IndexOf(loops_, begin);
    UnfoldSource source(geometry_, phases_);
    PrefetchShares next_channel;
    for (int64_t i = begin; i < end; ++i, Advance(loops_, index)) {
      const UnfoldPlace place = geometry_.PlaceAt(index);
      if (i % channel_planes_ == 0) next_channel = NextChannel(place);
      next_channel.AskForShare();
      source.Prepare(place, {0, geometry_.row_dim().size});
      Plane plane{{}, source.PlaneOf(place)};
      if (plane.source != nullptr) {
        plane.rows = rows_of_taps_.At(place.taps[outer], place.taps[outer + 1]);
      }
      write(plane, place);
    }
  }

  // Nothing where that is far away, or the processor sees it coming.
  PrefetchShares NextChannel(const UnfoldPlace& place) const {
    constexpr int64_t kFewPlanes = 4;
    constexpr int64_t kMaxBytes = 1 << 16;
    int64_t bytes = geometry_.width();
    for (const UnfoldDim& dim : geometry_.dims()) bytes *= dim.size;
    if (channel_planes_ < kFewPlanes || bytes > kMaxBytes) return {};
    return {geometry_.PackedInput(geometry_.Channel(place) + bytes, bytes), channel_planes_};
  }

  const UnfoldGeometry& geometry_;
  const std::optional<UnfoldPhases>& phases_;
  TapRows rows_of_taps_;
  Dims loops_;              // N, C, taps, blocks but the last two
  int64_t channel_planes_;  // of the output
};

// --- strip by strip ------------------------------------------------------------------------------

class StripLoop {
 public:
  static bool IsWorthIt(const UnfoldGeometry& geometry, const std::optional<UnfoldPhases>& phases) {
    return geometry.tap_count() <= kFewTaps && geometry.plane_bytes() >= kMinStrippedBytes &&
           !FitsNear(geometry, phases);
  }

  StripLoop(const UnfoldGeometry& geometry, const std::optional<UnfoldPhases>& phases)
      : geometry_(geometry),
        phases_(phases),
        rows_of_taps_(geometry, phases),
        strips_(StripsOf(geometry, phases)) {
    const Dims loops = geometry.loops();
    const int64_t* taps = loops.begin() + 2;
    const int64_t* blocks = taps + geometry.dims().size();
    outer_taps_ = Dims(taps, blocks - 2);
    families_ = Dims(loops.begin(), taps);
    for (const int64_t* count = blocks; count != loops.end(); ++count) families_.push_back(*count);
  }

  void Run() const {
    const int64_t written = geometry_.plane_bytes() * geometry_.tap_count() / strips_;
    ParallelFor(Product(families_) * strips_, GrainFor(written, FirstRowsBytes()),
                geometry_.output().element_bytes(), [&](int64_t begin, int64_t end) {
                  UnfoldSource source(geometry_, phases_);
                  for (int64_t i = begin; i < end; ++i) {
                    WriteStripOfFamily(IndexOf(families_, i / strips_), i % strips_, source);
                  }
                  if (streams_) FlushStreams();
                });
  }

 private:
  static int64_t StripsOf(const UnfoldGeometry& geometry,
                          const std::optional<UnfoldPhases>& phases) {
    const int64_t plane_bytes = geometry.plane_bytes();
    const int64_t source_bytes = phases ? phases->bytes() : plane_bytes;
    const int64_t strip_bytes = geometry.tap_count() == 1 ? kLoneStripBytes : kStripSourceBytes;
    const int64_t strips = (source_bytes + strip_bytes / 2) / strip_bytes;
    return std::clamp(strips, int64_t{1}, plane_bytes / kMinStripBytes);
  }

  // Whole lines; no strip has more than one more than another.
  int64_t StripBegin(int64_t strip) const {
    const int64_t lines = (geometry_.plane_bytes() + StreamBuffer::kLine - 1) / StreamBuffer::kLine;
    return lines * strip / strips_ * StreamBuffer::kLine;
  }

  // One strip of the planes of all taps at the same N, C and blocks.
  void WriteStripOfFamily(const Dims& family, int64_t number, UnfoldSource& source) const {
    // The first of the taps of the last two dimensions.
    Dims tap = Dims::Filled(geometry_.dims().size(), 0);
    const UnfoldPlace place{family[0], family[1], tap.begin(), family.begin() + 2};
    source.Prepare(place, InputRows(number));
    const PlaneStrip strip{StripBegin(number), StripBegin(number + 1),
                           source.NextRows(place, InputRows(number + 1).end)};
    Dims outer = Dims::Filled(outer_taps_.size(), 0);
    for (int64_t i = 0; i < Product(outer_taps_); ++i, Advance(outer_taps_, outer)) {
      std::copy(outer.begin(), outer.end(), tap.begin());
      WriteStrip({rows_of_taps_.planned(), source.PlaneOf(place), geometry_.plane_bytes(),
                  geometry_.OutputPlane(place), geometry_.tap_pitch()},
                 strip, streams_);
    }
  }

  // Of the images, what a thread fills for its first strip: the rows from the first tap to the
  // last.
  int64_t FirstRowsBytes() const {
    if (!phases_) return 0;
    const UnfoldDim& row = geometry_.row_dim();
    return std::min((row.window - 1) * row.dilation + 1, row.size) * phases_->row_bytes();
  }

  // The rows that all taps see of a strip and of the line behind it.
  Range InputRows(int64_t strip) const {
    const Range bytes{StripBegin(strip), StripBegin(strip + 1)};
    const UnfoldDim& row = geometry_.row_dim();
    const int64_t row_bytes = geometry_.column_dim().blocks * geometry_.width();
    const int64_t first = bytes.begin / row_bytes;
    const int64_t last = std::min((bytes.end + StreamBuffer::kLine) / row_bytes, row.blocks - 1);
    return Intersection({Position(row, first, 0), Position(row, last, row.window - 1) + 1},
                        {0, row.size});
  }

  const UnfoldGeometry& geometry_;
  const std::optional<UnfoldPhases>& phases_;
  bool streams_ = geometry_.output().element_bytes() >= kStreamPiecesBytes;
  TapRows rows_of_taps_;
  int64_t strips_;   // of a plane
  Dims outer_taps_;  // of all dimensions but the last two
  Dims families_;    // N, C, blocks but the last two
};

}  // namespace

bool UnfoldByRuns(const UnfoldGeometry& geometry) {
  if (geometry.output().layout.strides.back() != 1) return false;
  std::optional<UnfoldPhases> phases;
  if (!RowsAreRuns(geometry)) {
    if (geometry.dims().size() > 2) return false;
    phases = UnfoldPhases::For(geometry.row_dim(), geometry.column_dim(), geometry.width());
    if (!phases || !phases->Pay(geometry.tap_count())) return false;
    if (!HasPitchOfRuns(phases->row_pitch(), geometry)) return false;
  }
  if (StripLoop::IsWorthIt(geometry, phases)) {
    StripLoop(geometry, phases).Run();
  } else {
    PlaneLoop(geometry, phases).Run();
  }
  return true;
}

}  // namespace dmlop
