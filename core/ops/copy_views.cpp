#include "core/ops/copy_views.h"

#include <algorithm>
#include <optional>
#include <vector>

#include "core/base/parallel.h"
#include "core/kernels/copy.h"
#include "core/kernels/stream.h"
#include "core/ops/tiled_loop.h"
#include "core/tensor/loop_nest.h"

namespace dmlop {
namespace {

constexpr int64_t kBlockBytes = StreamBuffer::kCapacity;
constexpr int64_t kParallelBytes = 1 << 17;    // less than this is not worth a second thread
constexpr int64_t kStreamedRowBytes = 1 << 8;  // shorter ones have too few whole lines
constexpr int64_t kMaxRowBytes = 1 << 13;      // of all copies; longer ones need no company

// Rows of adjacent elements, at regular distances in bytes.
struct RowsCopy {
  int64_t rows;
  int64_t row_bytes;
  std::byte* to;
  const std::byte* from;
  int64_t to_pitch;
  int64_t from_pitch;
};

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

// Copies whose rows lie side by side in one destination.
struct Group {
  std::span<const RowsCopy> copies;
  int64_t row_bytes;

  std::byte* to() const { return copies.front().to; }
  int64_t pitch() const { return copies.front().to_pitch; }
  bool is_packed() const { return pitch() == row_bytes; }
  bool IsContinuedBy(const RowsCopy& next) const {
    return next.to == to() + row_bytes && next.to_pitch == pitch() &&
           row_bytes + next.row_bytes <= pitch();
  }
};

std::vector<Group> GroupsOf(std::span<const RowsCopy> copies) {
  std::vector<Group> groups;
  for (size_t i = 0; i < copies.size(); ++i) {
    if (groups.empty() || !groups.back().IsContinuedBy(copies[i])) {
      groups.push_back({copies.subspan(i, 0), 0});
    }
    Group& group = groups.back();
    group.copies = {group.copies.data(), group.copies.size() + 1};
    group.row_bytes += copies[i].row_bytes;
  }
  return groups;
}

// Many short rows of several tensors, a block of rows of all of them at a time: so each line of
// memory is used up while it is in the cache.
class ShortRowsLoop {
 public:
  explicit ShortRowsLoop(std::span<const RowsCopy> copies)
      : rows_(copies.front().rows), groups_(GroupsOf(copies)) {
    int64_t row_bytes = 0;
    int64_t shortest = copies.front().row_bytes;
    for (const RowsCopy& copy : copies) {
      row_bytes += copy.row_bytes;
      shortest = std::min(shortest, copy.row_bytes);
    }
    block_rows_ = std::max<int64_t>(1, kBlockBytes / row_bytes);
    if (rows_ * row_bytes < kStreamBytes) return;
    if (shortest >= kStreamedRowBytes) {
      streaming_ = Streaming::kRows;
      block_rows_ = 1;  // measured: reading on in order is worth twice as much as longer blocks
    } else if (groups_.size() == 1 && groups_.front().is_packed() &&
               row_bytes <= StreamBuffer::kCapacity) {
      streaming_ = Streaming::kBlocks;
    }
  }

  void Run() const {
    ParallelFor((rows_ + block_rows_ - 1) / block_rows_, kParallelBytes / kBlockBytes,
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
  // Each row by itself, or blocks of rows composed first. The latter does not pay for more than one
  // destination.
  enum class Streaming { kNone, kRows, kBlocks };

  void WriteBlocks(int64_t begin, int64_t end) const {
    for (int64_t row = begin; row < end; row += block_rows_) {
      const int64_t rows = std::min(block_rows_, end - row);
      for (const Group& group : groups_) {
        CopyBlock(group, row, rows, group.to() + row * group.pitch());
      }
    }
    if (streaming_ == Streaming::kRows) FlushStreams();
  }

  void StreamBlocks(int64_t begin, int64_t end) const {
    const Group& group = groups_.front();
    StreamBuffer stream(group.to() + begin * group.pitch());
    for (int64_t row = begin; row < end; row += block_rows_) {
      const int64_t rows = std::min(block_rows_, end - row);
      CopyBlock(group, row, rows, stream.Next(rows * group.row_bytes));
    }
  }

  void CopyBlock(const Group& group, int64_t row, int64_t rows, std::byte* to) const {
    for (const RowsCopy& copy : group.copies) {
      const std::byte* from = copy.from + row * copy.from_pitch;
      if (streaming_ == Streaming::kRows) {
        stream_(rows, copy.row_bytes, to, copy.to_pitch, from, copy.from_pitch);
      } else {
        copy_({rows, copy.row_bytes, copy.to_pitch, 1, copy.from_pitch, 1}, to, from);
      }
      to += copy.row_bytes;
    }
  }

  int64_t rows_;
  std::vector<Group> groups_;
  int64_t block_rows_;
  Streaming streaming_ = Streaming::kNone;
  CopyTileFunction copy_ = CopyTileFor(1);  // rows count in bytes
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
    return ShortRowsLoop(rows).Run();
  }
  for (const ViewCopy& copy : copies) CopyView(copy.from, copy.to);
}

}  // namespace dmlop
