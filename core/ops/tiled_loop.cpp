#include "core/ops/tiled_loop.h"

#include <algorithm>

#include "core/base/parallel.h"
#include "core/ops/tile_plan.h"

namespace dmlop {
namespace {

using enum TilePlan::Operand;

constexpr int64_t kParallelBytes = 1 << 17;  // less than this is not worth a second thread

// Shorter rows are composed in a buffer first, and written in whole lines.
constexpr int64_t kStreamedRowBytes = 1 << 8;

// Work that writes past the caches by itself, or is made to do so.
enum class Streaming { kNone, kByWork, kByLoop };

class TiledLoop {
 public:
  TiledLoop(const TilePlan& plan, Streaming streaming, const ConstTensorView& from,
            const TensorView& to, const TileWork& work)
      : plan_(plan),
        streaming_(streaming),
        from_(from.data),
        to_(to.data),
        width_(static_cast<int64_t>(ByteWidth(to.type))),
        work_(work) {}

  void Run() const {
    const int64_t block_bytes = plan_.block.outer_count * plan_.block.inner_count * width_;
    ParallelFor(Product(plan_.blocks.sizes), kParallelBytes / block_bytes + 1,
                [&](int64_t begin, int64_t end) {
                  Walk<2> walk(plan_.blocks, begin);
                  for (int64_t i = begin; i < end; ++i, walk.Next()) {
                    WorkOnBlock(plan_.Block(i), to_ + walk.offset(kTo) * width_,
                                from_ + walk.offset(kFrom) * width_);
                  }
                  if (streaming_ != Streaming::kNone) FlushStreams();
                });
  }

 private:
  // The source is read along its lines where it disagrees with the destination.
  void WorkOnBlock(const CopyTile& block, std::byte* to, const std::byte* from) const {
    CopyTile tile = block;
    for (int64_t inner = 0; inner < block.inner_count; inner += tile.inner_count) {
      tile.inner_count = std::min(plan_.tile.inner_count, block.inner_count - inner);
      for (int64_t outer = 0; outer < block.outer_count; outer += tile.outer_count) {
        tile.outer_count = std::min(plan_.tile.outer_count, block.outer_count - outer);
        WorkOnTile(
            tile, to + (outer * block.to_outer_stride + inner * block.to_inner_stride) * width_,
            from + (outer * block.from_outer_stride + inner * block.from_inner_stride) * width_);
      }
    }
  }

  void WorkOnTile(const CopyTile& tile, std::byte* to, const std::byte* from) const {
    if (streaming_ != Streaming::kByLoop) return work_(tile, to, from);
    alignas(64) std::byte buffer[StreamBuffer::kCapacity];
    CopyTile composed = tile;
    composed.to_outer_stride = tile.inner_count;
    work_(composed, buffer, from);
    const int64_t row_bytes = tile.inner_count * width_;
    stream_(tile.outer_count, row_bytes, to, tile.to_outer_stride * width_, buffer, row_bytes);
  }

  const TilePlan& plan_;
  Streaming streaming_;
  const std::byte* from_;
  std::byte* to_;
  int64_t width_;  // bytes of an element
  const TileWork& work_;
  StreamRowsFunction stream_ = StreamRowsForIsa();
};

}  // namespace

void ForEachTile(const ConstTensorView& from, const TensorView& to, const TileWork& work) {
  const TilePlan plan = PlanTiles(from, to);
  TiledLoop(plan, plan.streams ? Streaming::kByLoop : Streaming::kNone, from, to, work).Run();
}

void CopyView(const ConstTensorView& from, const TensorView& to) {
  const TilePlan plan = PlanTiles(from, to);
  const int64_t width = static_cast<int64_t>(ByteWidth(to.type));
  const bool has_rows =
      plan.whole.from_inner_stride == 1 && plan.tile.inner_count * width >= kStreamedRowBytes;
  if (!plan.streams || !has_rows) {
    const TileWork copy = CopyTileFor(ByteWidth(to.type));
    return TiledLoop(plan, plan.streams ? Streaming::kByLoop : Streaming::kNone, from, to, copy)
        .Run();
  }
  const StreamRowsFunction stream = StreamRowsForIsa();
  const TileWork stream_tile = [=](const CopyTile& tile, std::byte* tile_to,
                                   const std::byte* tile_from) {
    stream(tile.outer_count, tile.inner_count * width, tile_to, tile.to_outer_stride * width,
           tile_from, tile.from_outer_stride * width);
  };
  TiledLoop(plan, Streaming::kByWork, from, to, stream_tile).Run();
}

}  // namespace dmlop
