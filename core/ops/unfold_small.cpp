#include "core/ops/unfold_small.h"

#include <algorithm>
#include <cstring>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "core/base/parallel.h"
#include "core/kernels/kept_bytes.h"
#include "core/kernels/stream.h"
#include "core/ops/unfold_phases.h"

namespace dmlop {
namespace {

// What is used for every channel stays in the first-level cache, or near it.
constexpr int64_t kMaxKeptBytes = 32 << 10;
constexpr int64_t kMaxImagesBytes = 16 << 10;

// What a tap of the last two dimensions sees.
struct SmallTap {
  bool sees;              // anything
  int64_t from;           // of the images, where the plane's first byte would be
  const std::byte* kept;  // for each byte of the plane
};

class SmallLoop {
 public:
  static bool IsWorthIt(const UnfoldGeometry& geometry, const UnfoldPhases& phases) {
    const int64_t plane_bytes = geometry.plane_bytes();
    const int64_t taps = geometry.row_dim().window * geometry.column_dim().window;
    int64_t input_planes = 1;
    int64_t output_planes = taps;
    for (size_t d = 0; d + 2 < geometry.dims().size(); ++d) {
      input_planes *= geometry.dims()[d].size;
      output_planes *= geometry.dims()[d].window * geometry.dims()[d].blocks;
      if (input_planes > kMaxImagesBytes) return false;
    }
    return input_planes * phases.bytes() <= kMaxImagesBytes &&
           plane_bytes <= StreamBuffer::kMaxCapacity && taps <= kMaxKeptBytes / plane_bytes &&
           phases.Pay(output_planes / input_planes);
  }

  SmallLoop(const UnfoldGeometry& geometry, const UnfoldPhases& phases)
      : geometry_(geometry),
        phases_(phases),
        plane_bytes_(geometry.plane_bytes()),
        loops_(geometry.loops()) {
    for (size_t d = 0; d + 2 < geometry.dims().size(); ++d) {
      input_planes_.push_back(geometry.dims()[d].size);
    }
    PlanTaps();
  }

  void Run() const {
    const TensorView& output = geometry_.output();
    const bool is_packed = IsPacked(output.layout);
    const bool streams = is_packed && output.element_bytes() >= kStreamBytes;
    const int64_t grain = GrainFor(plane_bytes_, Product(input_planes_) * phases_.bytes());
    ParallelFor(Product(loops_), grain, output.element_bytes(), [&](int64_t begin, int64_t end) {
      if (streams) {
        StreamBuffer stream(Target(IndexOf(loops_, begin)), StreamBuffer::kMaxCapacity);
        ForEachPlane(begin, end, [&](const Dims&) { return stream.Next(plane_bytes_); });
      } else {
        ForEachPlane(begin, end, [&](const Dims& index) { return Target(index); });
      }
    });
  }

 private:
  // The images of all planes of a channel, with as much around them as a plane may go beyond.
  class Images {
   public:
    explicit Images(const SmallLoop& loop)
        : loop_(loop),
          bytes_(static_cast<size_t>(2 * loop.plane_bytes_ +
                                     Product(loop.input_planes_) * loop.phases_.bytes())) {}

    const std::byte* first() const { return bytes_.data() + loop_.plane_bytes_; }

    void Fill(const UnfoldPlace& place) {
      if (place.n == n_ && place.channel == channel_) return;
      n_ = place.n;
      channel_ = place.channel;
      const UnfoldGeometry& geometry = loop_.geometry_;
      std::byte* to = bytes_.data() + loop_.plane_bytes_;
      Dims index = Dims::Filled(loop_.input_planes_.size(), 0);
      for (int64_t i = 0; i < Product(loop_.input_planes_); ++i) {
        int64_t offset = 0;
        for (size_t d = 0; d < index.size(); ++d) offset += index[d] * geometry.dims()[d].step;
        loop_.phases_.Fill({0, geometry.row_dim().size},
                           geometry.Channel(place) + offset * geometry.width(), to);
        to += loop_.phases_.bytes();
        Advance(loop_.input_planes_, index);
      }
    }

   private:
    const SmallLoop& loop_;
    std::vector<std::byte> bytes_;
    int64_t n_ = -1, channel_ = -1;
  };

  void PlanTaps() {
    const UnfoldDim& row = geometry_.row_dim();
    const UnfoldDim& column = geometry_.column_dim();
    kept_.resize(static_cast<size_t>(row.window * column.window * plane_bytes_));
    std::byte* kept = kept_.data();
    for (int64_t i = 0; i < row.window; ++i) {
      for (int64_t j = 0; j < column.window; ++j, kept += plane_bytes_) {
        taps_.push_back(PlanTap(i, j, kept));
      }
    }
  }

  SmallTap PlanTap(int64_t row_tap, int64_t column_tap, std::byte* kept) const {
    const UnfoldDim& row = geometry_.row_dim();
    const UnfoldDim& column = geometry_.column_dim();
    const Range rows = Inside(row, row_tap);
    const Range columns = Inside(column, column_tap);
    if (rows.count() == 0 || columns.count() == 0) return {false, 0, kept};
    const int64_t width = geometry_.width();
    for (int64_t i = rows.begin; i < rows.end; ++i) {
      std::memset(kept + (i * column.blocks + columns.begin) * width, 0xff,
                  static_cast<size_t>(columns.count() * width));
    }
    const int64_t from = phases_.Offset(Position(row, rows.begin, row_tap),
                                        Position(column, columns.begin, column_tap));
    return {true, (from - rows.begin * column.blocks - columns.begin) * width, kept};
  }

  std::byte* Target(const Dims& index) const {
    return geometry_.OutputPlane(geometry_.PlaceAt(index));
  }

  // The number of the input's plane that the place's comes from, or nothing in the padding.
  std::optional<int64_t> InputPlane(const UnfoldPlace& place) const {
    int64_t number = 0;
    for (size_t d = 0; d < input_planes_.size(); ++d) {
      const int64_t position = Position(geometry_.dims()[d], place.blocks[d], place.taps[d]);
      if (position < 0 || position >= input_planes_[d]) return std::nullopt;
      number = number * input_planes_[d] + position;
    }
    return number;
  }

  template <typename TargetOf>
  void ForEachPlane(int64_t begin, int64_t end, TargetOf&& target_of) const {
    Dims index = IndexOf(loops_, begin);
    Images images(*this);
    for (int64_t i = begin; i < end; ++i, Advance(loops_, index)) {
      const UnfoldPlace place = geometry_.PlaceAt(index);
      images.Fill(place);
      WritePlane(place, images.first(), target_of(index));
    }
  }

  void WritePlane(const UnfoldPlace& place, const std::byte* images, std::byte* to) const {
    const int64_t* last_taps = place.taps + input_planes_.size();
    const SmallTap& tap =
        taps_[static_cast<size_t>(last_taps[0] * geometry_.column_dim().window + last_taps[1])];
    const std::optional<int64_t> plane = InputPlane(place);
    if (!plane || !tap.sees) {
      std::memset(to, 0, static_cast<size_t>(plane_bytes_));
    } else {
      copy_(plane_bytes_, to, images + *plane * phases_.bytes() + tap.from, tap.kept);
    }
  }

  const UnfoldGeometry& geometry_;
  const UnfoldPhases& phases_;
  CopyKeptFunction copy_ = CopyKeptForIsa();
  int64_t plane_bytes_;
  Dims input_planes_;  // dimensions of the input but N, C and the last two
  Dims loops_;         // N, C, taps, blocks but the last two
  std::vector<std::byte> kept_;
  std::vector<SmallTap> taps_;
};

}  // namespace

bool UnfoldSmallPlanes(const UnfoldGeometry& geometry) {
  if (geometry.output().layout.strides.back() != 1) return false;
  const auto phases =
      UnfoldPhases::For(geometry.row_dim(), geometry.column_dim(), geometry.width());
  // Rows follow each other in the images as in the output.
  if (!phases || phases->row_pitch() != geometry.column_dim().blocks) return false;
  if (!SmallLoop::IsWorthIt(geometry, *phases)) return false;
  SmallLoop(geometry, *phases).Run();
  return true;
}

}  // namespace dmlop
