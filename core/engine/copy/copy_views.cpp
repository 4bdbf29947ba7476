// SPDX-License-Identifier: Apache-2.0
#include "core/engine/copy/copy_views.h"

#include <algorithm>
#include <deque>
#include <optional>
#include <vector>

#include "core/base/integers.h"
#include "core/base/memory.h"
#include "core/base/parallel.h"
#include "core/engine/copy/row_group.h"
#include "core/engine/copy/tile_shape.h"
#include "core/kernels/copy/stream.h"
#include "core/tensor/loop_nest.h"

namespace dmlop {
namespace {

constexpr int64_t kBlockBytes = 1 << 11;
constexpr int64_t kStreamedRowBytes = 1 << 8;  // shorter rows have too few whole lines
constexpr int64_t kMaxStreams = 16;            // the first-level cache holds the buffers of so many
constexpr int64_t kMaxRowBytes = 1 << 13;      // of all copies; longer rows gain nothing together

// The copy as rows, unless more than one loop surrounds them.
std::optional<RowsCopy> AsRows(const Move& copy) {
  enum Operand : size_t { kTo, kFrom };
  LoopNest<2> nest{copy.to.layout.sizes, {copy.to.layout.strides, copy.from.layout.strides}};
  nest = Merged(SortedByStride(Merged(nest), kTo));
  const int64_t width = static_cast<int64_t>(ByteWidth(copy.to.type));
  const bool ends_in_row =
      nest.rank() > 0 && nest.strides[kTo].back() == 1 && nest.strides[kFrom].back() == 1;
  if (nest.rank() != (ends_in_row ? 2 : 1)) return std::nullopt;
  const int64_t row_bytes = width * (ends_in_row ? nest.sizes.back() : 1);
  return RowsCopy{nest.sizes[0],
                  row_bytes,
                  copy.to.data,
                  copy.from.data,
                  nest.strides[kTo][0] * width,
                  nest.strides[kFrom][0] * width};
}

// Copies many short rows of several tensors, a block of rows of all tensors at a time, so that each
// cache line is used up while it is cached.
class ShortRowsLoop {
 public:
  ShortRowsLoop(std::span<const RowsCopy> copies, int64_t width)
      : rows_(copies.front().rows), groups_(GroupsOf(copies, width)) {
    int64_t shortest = copies.front().row_bytes;
    for (const RowsCopy& copy : copies) {
      row_bytes_ += copy.row_bytes;
      shortest = std::min(shortest, copy.row_bytes);
    }
    block_rows_ = std::max<int64_t>(1, kBlockBytes / row_bytes_);
    if (rows_ * row_bytes_ < kStreamBytes) return;
    if (shortest >= kStreamedRowBytes) {
      streaming_ = Streaming::kRows;
      block_rows_ = 1;  // measured: sequential reads gain twice what longer blocks do
    } else if (CanStreamBlocks()) {
      streaming_ = Streaming::kBlocks;
    }
  }

  void Run() const {
    ParallelFor(CeilDiv(rows_, block_rows_), kParallelBytes / kBlockBytes, rows_ * row_bytes_,
                [&](int64_t begin, int64_t end) {
                  const int64_t end_row = std::min(end * block_rows_, rows_);
                  if (streaming_ == Streaming::kBlocks) {
                    StreamBlocks(begin * block_rows_, end_row);
                  } else {
                    WriteBlocks(begin * block_rows_, end_row);
                  }
                });
  }

 private:
  // kRows streams each row by itself; kBlocks packs blocks of rows first.
  enum class Streaming { kNone, kRows, kBlocks };

  bool CanStreamBlocks() const {
    return std::ssize(groups_) <= kMaxStreams &&
           std::all_of(groups_.begin(), groups_.end(), [&](const RowGroup& group) {
             return group.is_packed() && block_rows_ * group.row_bytes() <= kBlockBytes;
           });
  }

  void WriteBlocks(int64_t begin, int64_t end) const {
    for (int64_t row = begin; row < end; row += block_rows_) {
      const int64_t rows = std::min(block_rows_, end - row);
      for (const RowGroup& group : groups_) {
        if (streaming_ == Streaming::kRows) {
          StreamBlock(group, row, rows);
        } else {
          group.Pack(row, rows, group.row(row));
        }
      }
    }
    if (streaming_ == Streaming::kRows) FlushStreams();
  }

  void StreamBlocks(int64_t begin, int64_t end) const {
    std::deque<StreamBuffer> streams;
    for (const RowGroup& group : groups_) streams.emplace_back(group.row(begin), kBlockBytes);
    for (int64_t row = begin; row < end; row += block_rows_) {
      const int64_t rows = std::min(block_rows_, end - row);
      PrefetchRows(row + rows, rows);
      for (size_t g = 0; g < groups_.size(); ++g) {
        groups_[g].Pack(row, rows, streams[g].Next(rows * groups_[g].row_bytes()));
      }
    }
  }

  // Copies to several places mostly read parts of the same rows and together cover them.
  void PrefetchRows(int64_t row, int64_t rows) const {
    const RowsCopy& copy = groups_.front().copies().front();
    if (groups_.size() == 1 || copy.from_pitch > row_bytes_) return;
    const std::byte* from = copy.from + row * copy.from_pitch;
    for (int64_t i = 0; i < rows * copy.from_pitch; i += kLineBytes) __builtin_prefetch(from + i);
  }

  void StreamBlock(const RowGroup& group, int64_t row, int64_t rows) const {
    for (const RowsCopy& copy : group.copies()) {
      stream_(rows, copy.row_bytes, copy.to + row * copy.to_pitch, copy.to_pitch,
              copy.from + row * copy.from_pitch, copy.from_pitch);
    }
  }

  int64_t rows_;
  int64_t row_bytes_ = 0;  // summed over all copies
  std::vector<RowGroup> groups_;
  int64_t block_rows_;
  Streaming streaming_ = Streaming::kNone;
  StreamRowsFunction stream_ = StreamRowsForIsa();
};

// The copies as rows, if all are short and equally many; otherwise empty.
std::vector<RowsCopy> AsShortRows(std::span<const Move> copies) {
  std::vector<RowsCopy> all;
  int64_t row_bytes = 0;
  for (const Move& copy : copies) {
    const std::optional<RowsCopy> rows = AsRows(copy);
    if (!rows || (!all.empty() && rows->rows != all.front().rows)) return {};
    row_bytes += rows->row_bytes;
    if (row_bytes > kMaxRowBytes) return {};
    all.push_back(*rows);
  }
  return all;
}

// Number of leading dimensions over which all copies are sliced. A slice fits the second-level
// cache if possible, but is not smaller than a tile.
size_t SharedDims(std::span<const Move> moves, int64_t all_bytes) {
  constexpr int64_t kSliceBytes = 1 << 20;
  const Dims& sizes = moves.front().to.layout.sizes;
  size_t shared = 0;
  for (; all_bytes > kSliceBytes && shared < sizes.size(); ++shared) {
    const bool agree = std::all_of(moves.begin(), moves.end(), [&](const Move& move) {
      const Dims& others = move.to.layout.sizes;
      return others.size() == sizes.size() && others[shared] == sizes[shared];
    });
    all_bytes /= sizes[shared];
    if (!agree || all_bytes < TilePlan::kTileBytes) break;
  }
  return shared;
}

// Copies slice by slice, so that what several copies read or write is close together, and threads
// share the tiles of all copies.
class SlicesLoop {
 public:
  explicit SlicesLoop(std::span<const Move> moves) : moves_(moves) {
    for (const Move& move : moves) bytes_ += move.to.element_bytes();
    const Dims& sizes = moves.front().to.layout.sizes;
    loops_ = Dims(sizes.begin(), sizes.begin() + SharedDims(moves, bytes_));
    for (const Move& move : moves) {
      copies_.emplace_back(Slice(move.from), Slice(move.to), bytes_, nullptr);
      streams_ |= copies_.back().streams();
      slice_tiles_ += copies_.back().tiles();
    }
  }

  void Run() const {
    const int64_t tiles = Product(loops_) * slice_tiles_;
    const int64_t tile_bytes = std::max<int64_t>(1, bytes_ / tiles);
    ParallelFor(tiles, kParallelBytes / tile_bytes + 1, bytes_, [&](int64_t begin, int64_t end) {
      for (int64_t at = begin; at < end;) {
        const int64_t first = at % slice_tiles_;
        const int64_t count = std::min(end - at, slice_tiles_ - first);
        RunSlice(IndexOf(loops_, at / slice_tiles_), first, first + count);
        at += count;
      }
      if (streams_) FlushStreams();
    });
  }

 private:
  template <typename View>
  View Slice(View view) const {
    const size_t shared = loops_.size();
    view.layout = {Dims(view.layout.sizes.begin() + shared, view.layout.sizes.end()),
                   Dims(view.layout.strides.begin() + shared, view.layout.strides.end())};
    return view;
  }

  // Runs tiles [begin, end), counted over all copies, at a place of the shared loops.
  void RunSlice(const Dims& place, int64_t begin, int64_t end) const {
    for (size_t c = 0; c < copies_.size() && end > 0; ++c) {
      const int64_t tiles = copies_[c].tiles();
      if (begin < tiles) {
        const Move& move = moves_[c];
        copies_[c].Run(std::max<int64_t>(begin, 0), std::min(end, tiles),
                       OffsetAt(move.to.layout, place), OffsetAt(move.from.layout, place));
      }
      begin -= tiles;
      end -= tiles;
    }
  }

  static int64_t OffsetAt(const Layout& layout, const Dims& place) {
    int64_t offset = 0;
    for (size_t d = 0; d < place.size(); ++d) offset += place[d] * layout.strides[d];
    return offset;
  }

  std::span<const Move> moves_;
  int64_t bytes_ = 0;
  Dims loops_;                     // the loops that the copies share
  std::vector<TiledMove> copies_;  // the copies within a slice
  int64_t slice_tiles_ = 0;        // summed over all copies
  bool streams_ = false;
};

}  // namespace

void CopyAll(std::span<const Move> moves) {
  if (moves.empty()) return;
  if (moves.size() == 1) return CopyView(moves[0].from, moves[0].to);
  if (const std::vector<RowsCopy> rows = AsShortRows(moves); rows.size() > 1) {
    const int64_t width = static_cast<int64_t>(ByteWidth(moves.front().to.type));
    return ShortRowsLoop(rows, width).Run();
  }
  SlicesLoop(moves).Run();
}

// --- work between two views ----------------------------------------------------------------------

namespace {

void RunTiles(const ConstTensorView& from, const TensorView& to, const RowWork* row) {
  const int64_t bytes = to.element_bytes();
  const TiledMove move(from, to, bytes, row);
  if (move.tiles() == 1) return move.Run(0, 1, 0, 0);
  ParallelFor(move.tiles(), kParallelBytes / move.tile_bytes() + 1, bytes,
              [&](int64_t begin, int64_t end) {
                move.Run(begin, end, 0, 0);
                if (move.streams()) FlushStreams();
              });
}

}  // namespace

void CopyView(const ConstTensorView& from, const TensorView& to) {
  RunTiles(from, to, nullptr);
}

void ComputeView(const ConstTensorView& from, const TensorView& to, const RowWork& row) {
  RunTiles(from, to, &row);
}

}  // namespace dmlop
