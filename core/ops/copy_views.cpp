#include "core/ops/copy_views.h"

#include <algorithm>
#include <deque>
#include <optional>
#include <vector>

#include "core/base/machine.h"
#include "core/base/parallel.h"
#include "core/kernels/stream.h"
#include "core/ops/row_group.h"
#include "core/ops/tiled_loop.h"
#include "core/tensor/loop_nest.h"

namespace dmlop {
namespace {

constexpr int64_t kBlockBytes = 1 << 11;
constexpr int64_t kStreamedRowBytes = 1 << 8;  // shorter ones have too few whole lines
constexpr int64_t kMaxStreams = 16;            // whose buffers the first-level cache can hold
constexpr int64_t kMaxRowBytes = 1 << 13;      // of all copies; longer ones need no company

// The copy as rows, unless it takes more loops than one around them.
std::optional<RowsCopy> AsRows(const ViewCopy& copy) {
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

// Many short rows of several tensors, a block of rows of all of them at a time: so each line of
// memory is used up while it is in the cache.
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
      block_rows_ = 1;  // measured: reading on in order is worth twice as much as longer blocks
    } else if (CanStreamBlocks()) {
      streaming_ = Streaming::kBlocks;
    }
  }

  void Run() const {
    ParallelFor((rows_ + block_rows_ - 1) / block_rows_, kParallelBytes / kBlockBytes,
                rows_ * row_bytes_, [&](int64_t begin, int64_t end) {
                  const int64_t end_row = std::min(end * block_rows_, rows_);
                  if (streaming_ == Streaming::kBlocks) {
                    StreamBlocks(begin * block_rows_, end_row);
                  } else {
                    WriteBlocks(begin * block_rows_, end_row);
                  }
                });
  }

 private:
  // Each row by itself, or blocks of rows composed first.
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
          group.Compose(row, rows, group.row(row));
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
      AskForRows(row + rows, rows);
      for (size_t g = 0; g < groups_.size(); ++g) {
        groups_[g].Compose(row, rows, streams[g].Next(rows * groups_[g].row_bytes()));
      }
    }
  }

  // Copies to several places are mostly parts of the same rows, which fill their memory.
  void AskForRows(int64_t row, int64_t rows) const {
    constexpr int64_t kLine = 64;
    const RowsCopy& copy = groups_.front().copies().front();
    if (groups_.size() == 1 || copy.from_pitch > row_bytes_) return;
    const std::byte* from = copy.from + row * copy.from_pitch;
    for (int64_t i = 0; i < rows * copy.from_pitch; i += kLine) __builtin_prefetch(from + i);
  }

  void StreamBlock(const RowGroup& group, int64_t row, int64_t rows) const {
    for (const RowsCopy& copy : group.copies()) {
      stream_(rows, copy.row_bytes, copy.to + row * copy.to_pitch, copy.to_pitch,
              copy.from + row * copy.from_pitch, copy.from_pitch);
    }
  }

  int64_t rows_;
  int64_t row_bytes_ = 0;  // of all copies
  std::vector<RowGroup> groups_;
  int64_t block_rows_;
  Streaming streaming_ = Streaming::kNone;
  StreamRowsFunction stream_ = StreamRowsForIsa();
};

// The copies as rows that are short and equally many; empty where they are not.
std::vector<RowsCopy> AsShortRows(std::span<const ViewCopy> copies) {
  std::vector<RowsCopy> all;
  int64_t row_bytes = 0;
  for (const ViewCopy& copy : copies) {
    const std::optional<RowsCopy> rows = AsRows(copy);
    if (!rows || (!all.empty() && rows->rows != all.front().rows)) return {};
    row_bytes += rows->row_bytes;
    if (row_bytes > kMaxRowBytes) return {};
    all.push_back(*rows);
  }
  return all;
}

}  // namespace

void CopyViews(std::span<const ViewCopy> copies) {
  if (const std::vector<RowsCopy> rows = AsShortRows(copies); rows.size() > 1) {
    const int64_t width = static_cast<int64_t>(ByteWidth(copies.front().to.type));
    return ShortRowsLoop(rows, width).Run();
  }
  for (const ViewCopy& copy : copies) CopyView(copy.from, copy.to);
}

}  // namespace dmlop
