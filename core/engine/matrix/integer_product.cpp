// SPDX-License-Identifier: Apache-2.0
#include "core/engine/matrix/integer_product.h"

#include <algorithm>
#include <type_traits>
#include <utility>

#include "core/base/memory.h"
#include "core/base/parallel.h"
#include "core/engine/matrix/product_grid.h"
#include "core/kernels/matrix/integer_tile.h"

namespace dmlop {
namespace {

// Lines of a block whose sums stay in the second-level cache with their panels.
constexpr int64_t kSumRows = 128;
constexpr int64_t kSumColumns = 192;
// Columns of a block that packs them; those that lie side by side are read in long runs.
constexpr int64_t kPackedColumns = 768;

// Size of the lines of an operand that are packed at a time, for all threads together.
constexpr int64_t kBytesAtATime = 1 << 24;
// Numbers of a line that are packed at a time, as 16-bit ones even if they are narrowed then.
constexpr int64_t kPackedDepth = 512;

// Products are below 2^16, so sums of so many fit in 32 bits.
constexpr int64_t kExactDepth = 32 * 1024;
// Longer lines are cut, so that those of a block are not larger than what is packed at a time. The
// sum of so many numbers fits in 32 bits.
constexpr int64_t kMostDepth = kBytesAtATime / 256;
static_assert(kMostDepth % kExactDepth == 0 && kMostDepth % kPackedDepth == 0);

// --- packing -------------------------------------------------------------------------------------

// Tiles of bytes if the processor multiplies these, otherwise of 16-bit numbers. In both, a group
// of a line's numbers takes four bytes.
struct Tiles {
  // Packing bytes takes longer than packing 16-bit numbers, which few rows do not make up for.
  explicit Tiles(int64_t row_count)
      : are_bytes(MultipliesBytes() && row_count > kByteRows),
        rows(are_bytes ? kByteRows : CurrentIntegerTile().rows),
        columns(are_bytes ? kByteColumns : CurrentIntegerTile().columns) {}

  int64_t Groups(int64_t count) const { return CeilDiv(count, are_bytes ? 4 : 2); }

  void Add(int64_t row_count, const std::byte* left, const std::byte* right, int64_t count,
           int32_t* sums, int64_t stride) const {
    if (are_bytes) return AddByteTile(row_count, left, right, Groups(count), sums, stride);
    AddTile(row_count, reinterpret_cast<const int16_t*>(left),
            reinterpret_cast<const int16_t*>(right), Groups(count), sums, stride);
  }

  bool are_bytes;
  int64_t rows, columns;
};

enum class Side { kLeft, kRight };

// Numbers of some lines.
struct LinePart {
  const IntegerLines& from;
  Range lines, numbers;
};

// Packs lines into panels. Panels of 16-bit numbers hold what is to be multiplied. Those of bytes
// hold the numbers less a base instead, by which they are unsigned on the left side and signed on
// the right one; the product is then corrected by the sum of each line and by its excess, by which
// its numbers are too large.
class Panels {
 public:
  Panels(const LinePart& part, Side side, const Tiles& tiles)
      : part_(part),
        tiles_(tiles),
        width_(side == Side::kLeft ? tiles_.rows : tiles_.columns),
        base_((side == Side::kRight ? 128 : 0) -
              (part.from.numbers.type() == DataType::kInt8 ? 128 : 0)),
        less_(static_cast<size_t>(count() * width_)) {
    for (int64_t line = 0; line < lines(); ++line) {
      less_[static_cast<size_t>(line)] =
          static_cast<int16_t>(tiles.are_bytes ? base_ : ZeroPoint(line));
    }
  }

  const Tiles& tiles() const { return tiles_; }
  int64_t depth() const { return part_.numbers.count(); }
  int64_t width() const { return width_; }
  int64_t lines() const { return part_.lines.count(); }
  int64_t count() const { return CeilDiv(lines(), width_); }
  int64_t BytesOf(int64_t numbers) const { return tiles_.Groups(numbers) * 4 * width_; }

  // The lines of a range of panels, counted from the first one, and the place of that one.
  Range LinesOf(Range panels) const {
    return {panels.begin * width_, std::min(panels.end * width_, lines())};
  }
  int64_t first() const { return part_.lines.begin; }

  int64_t ExcessOf(int64_t line) const { return ZeroPoint(line) - base_; }

  // The memory that a thread needs to pack panels.
  using Workspace = AlignedNumbers<int16_t>;
  Workspace MakeWorkspace() const {
    return Workspace(tiles_.are_bytes ? width_ * RoundUp(PackedDepth(), 2) : 0);
  }
  int64_t PackedDepth() const { return std::min(kPackedDepth, depth()); }

  // Packs at most kPackedDepth numbers of a panel from number k on, and returns how many. Bytes of
  // each line are added to its sum.
  int64_t Pack(int64_t panel, int64_t k, const Workspace& workspace, std::byte* to,
               int32_t* sums) const {
    const Range lines = LinesOf({panel, panel + 1});
    const int64_t count = std::min(kPackedDepth, depth() - k);
    int16_t* const pairs = tiles_.are_bytes ? workspace.data() : reinterpret_cast<int16_t*>(to);
    part_.from.numbers.PackPairs({first() + lines.begin, lines.count()},
                                 {part_.numbers.begin + k, count}, less_.data() + lines.begin,
                                 width_, pairs);
    if (tiles_.are_bytes) NarrowPanel(pairs, count, width_, to, sums);
    return count;
  }

 private:
  int64_t ZeroPoint(int64_t line) const {
    return ZeroPointAt(part_.from.zero_points, first() + line);
  }

  LinePart part_;
  Tiles tiles_;
  int64_t width_;
  int64_t base_;
  std::vector<int16_t> less_;  // for each line of the panels
};

// Panels that are kept, with the sums of their lines.
class PackedPanels {
 public:
  explicit PackedPanels(const Panels& panels)
      : panels_(panels),
        panel_bytes_(panels.BytesOf(panels.depth())),
        bytes_(panels.count() * panel_bytes_),
        sums_(static_cast<size_t>(panels.count() * panels.width())) {
    const int64_t grain = PackingGrain(panels.count(), panels.width() * panels.depth());
    ParallelFor(panels.count(), grain, 0, [&](int64_t begin, int64_t end) { Pack({begin, end}); });
  }

  const Panels& panels() const { return panels_; }

  // A panel from number k of its lines on, which begins a group.
  std::byte* Panel(int64_t panel, int64_t k) const {
    return bytes_.data() + panel * panel_bytes_ + panels_.BytesOf(k);
  }
  const int32_t* Sums(int64_t line) const { return sums_.data() + line; }

 private:
  // Packs some numbers of all panels, then the next ones: if lines lie side by side, so do what
  // neighbouring panels read.
  void Pack(Range range) {
    const Panels::Workspace workspace = panels_.MakeWorkspace();
    for (int64_t k = 0; k < panels_.depth(); k += kPackedDepth) {
      for (int64_t panel = range.begin; panel < range.end; ++panel) {
        panels_.Pack(panel, k, workspace, Panel(panel, k), sums_.data() + panel * panels_.width());
      }
    }
  }

  Panels panels_;
  int64_t panel_bytes_;
  AlignedNumbers<std::byte> bytes_;
  std::vector<int32_t> sums_;
};

// --- products ------------------------------------------------------------------------------------

// Computes blocks of a product for one thread. Panels of the left side are kept. So are those of
// the right one if many rows use them; otherwise they are packed when they are used, in the cache.
template <typename Sum>
class BlockSums {
 public:
  BlockSums(int64_t batch, const PackedPanels& left, const Panels& right, const PackedPanels* kept)
      : batch_(batch),
        left_(left),
        right_(right),
        kept_(kept),
        workspace_(right.MakeWorkspace()),
        panel_(kept != nullptr ? 0 : right.BytesOf(right.PackedDepth())) {}

  void Run(const ProductGrid::Block& block, const SumSink<Sum>& sink) {
    stride_ = block.columns.count() * right_.width();
    const auto count = static_cast<size_t>(block.rows.count() * left_.panels().width() * stride_);
    sums_.assign(count, 0);
    totals_.assign(kWraps ? 0 : count, 0);
    column_sums_.assign(static_cast<size_t>(stride_), 0);
    for (int64_t k = 0; k < right_.depth(); k += kExactDepth) {
      AddProducts(block, {k, std::min(k + kExactDepth, right_.depth())});
      for (size_t i = 0; i < totals_.size(); ++i) totals_[i] += std::exchange(sums_[i], 0);
    }
    Pass(left_.panels().LinesOf(block.rows), right_.LinesOf(block.columns), sink);
  }

 private:
  static constexpr bool kWraps = std::is_same_v<Sum, int32_t>;
  using Wrapping = std::make_unsigned_t<Sum>;
  static Wrapping Wrap(int64_t value) { return static_cast<Wrapping>(static_cast<Sum>(value)); }

  void AddProducts(const ProductGrid::Block& block, Range numbers) {
    if (kept_ != nullptr) {
      for (int64_t c = block.columns.begin; c < block.columns.end; ++c) {
        AddPanel(block, c, numbers.begin, numbers.count(), kept_->Panel(c, numbers.begin));
      }
      return;
    }
    for (int64_t k = numbers.begin; k < numbers.end; k += kPackedDepth) {
      for (int64_t c = block.columns.begin; c < block.columns.end; ++c) {
        const int64_t count =
            right_.Pack(c, k, workspace_, panel_.data(),
                        column_sums_.data() + (c - block.columns.begin) * right_.width());
        AddPanel(block, c, k, count, panel_.data());
      }
    }
  }

  void AddPanel(const ProductGrid::Block& block, int64_t column_panel, int64_t k, int64_t count,
                const std::byte* right) {
    const int64_t width = left_.panels().width();
    const int64_t rows = left_.panels().LinesOf(block.rows).end;
    int32_t* sums = sums_.data() + (column_panel - block.columns.begin) * right_.width();
    for (int64_t r = block.rows.begin; r < block.rows.end; ++r) {
      right_.tiles().Add(std::min(width, rows - r * width), left_.Panel(r, k), right, count, sums,
                         stride_);
      sums += width * stride_;
    }
  }

  void Pass(Range rows, Range columns, const SumSink<Sum>& sink) {
    if (right_.tiles().are_bytes) FindExcesses(columns);
    for (int64_t r = rows.begin; r < rows.end; ++r) {
      TakeRow((r - rows.begin) * stride_, columns.count());
      if (right_.tiles().are_bytes) TakeOffExcess(r, columns);
      sink({batch_, left_.panels().first() + r, right_.first() + columns.begin, row_});
    }
  }

  void FindExcesses(Range columns) {
    excesses_.clear();
    for (int64_t c = columns.begin; c < columns.end; ++c) {
      excesses_.push_back(static_cast<int32_t>(right_.ExcessOf(c)));
    }
  }

  void TakeRow(int64_t begin, int64_t count) {
    if constexpr (kWraps) {
      row_.assign(sums_.begin() + begin, sums_.begin() + begin + count);
    } else {
      row_.assign(totals_.begin() + begin, totals_.begin() + begin + count);
    }
  }

  // With x and y too large, (a - x) (b - y) = a b - x b - y (a - x). Sums of 32 bits wrap.
  void TakeOffExcess(int64_t row, Range columns) {
    const int64_t excess = left_.panels().ExcessOf(row);
    const Wrapping x = Wrap(excess);
    const Wrapping row_sum = Wrap(*left_.Sums(row) - right_.depth() * excess);
    const int32_t* sums = kept_ != nullptr ? kept_->Sums(columns.begin) : column_sums_.data();
    for (size_t c = 0; c < row_.size(); ++c) {
      const Wrapping y = Wrap(excesses_[c]);
      row_[c] = static_cast<Sum>(static_cast<Wrapping>(row_[c]) - x * Wrap(sums[c]) - y * row_sum);
    }
  }

  int64_t batch_;
  const PackedPanels& left_;
  const Panels& right_;
  const PackedPanels* kept_;
  Panels::Workspace workspace_;
  AlignedNumbers<std::byte> panel_;
  int64_t stride_ = 0;  // of a row of sums
  std::vector<int32_t> sums_;
  std::vector<int64_t> totals_;  // where 32 bits do not suffice
  std::vector<int32_t> column_sums_, excesses_;
  std::vector<Sum> row_;
};

template <typename Sum>
void Multiply(int64_t batch, const Panels& rows, const Panels& columns, const SumSink<Sum>& sink) {
  const PackedPanels left(rows);
  std::optional<PackedPanels> kept;
  if (rows.lines() > kSumRows) kept.emplace(columns);
  // Columns that are packed for a block are so for all rows.
  const ProductGrid::Side all{1, rows.lines(), rows.lines()};
  const ProductGrid::Side blocks{rows.count(), rows.width(), kSumRows};
  const ProductGrid grid(kept ? blocks : all,
                         {columns.count(), columns.width(), kept ? kSumColumns : kPackedColumns},
                         ProductGrid::Outer::kColumns, columns.depth());
  ParallelFor(grid.count(), kParallelElements / grid.products() + 1, 0,
              [&](int64_t begin, int64_t end) {
                BlockSums<Sum> sums(batch, left, columns, kept ? &*kept : nullptr);
                for (int64_t i = begin; i < end; ++i) {
                  ProductGrid::Block block = grid.At(i);
                  if (!kept) block.rows = {0, rows.count()};
                  sums.Run(block, sink);
                }
              });
}

// Calls body with ranges of at most `step` of [0, count).
template <typename Body>
void ForRanges(int64_t count, int64_t step, Body&& body) {
  for (int64_t i = 0; i < count; i += step) body(Range{i, std::min(i + step, count)});
}

template <typename Sum>
class MatrixOfSums {
 public:
  MatrixOfSums(int64_t batch, const IntegerLines& rows, const IntegerLines& columns,
               const SumSink<Sum>& sink)
      : tiles_(rows.numbers.count()), batch_(batch), rows_(rows), columns_(columns), sink_(sink) {}

  void Run() const {
    if (depth() > kMostDepth) return RunDeep();
    const int64_t step = std::max(kSumColumns, kBytesAtATime / depth());
    ForRanges(columns_.numbers.count(), step, [&](Range columns) {
      ForRanges(rows_.numbers.count(), step, [&](Range rows) {
        MultiplyPart(rows, columns, {0, depth()}, sink_);
      });
    });
  }

 private:
  int64_t depth() const { return rows_.numbers.length(); }

  void MultiplyPart(Range rows, Range columns, Range numbers, const SumSink<Sum>& sink) const {
    Multiply<Sum>(batch_, Panels({rows_, rows, numbers}, Side::kLeft, tiles_),
                  Panels({columns_, columns, numbers}, Side::kRight, tiles_), sink);
  }

  void RunDeep() const {
    ForRanges(columns_.numbers.count(), kSumColumns, [&](Range columns) {
      ForRanges(rows_.numbers.count(), kSumRows, [&](Range rows) { AddUpParts(rows, columns); });
    });
  }

  void AddUpParts(Range rows, Range columns) const {
    using Wrapping = std::make_unsigned_t<Sum>;
    std::vector<Sum> totals(static_cast<size_t>(rows.count() * columns.count()));
    const auto at = [&](int64_t row, int64_t column) {
      return totals.data() + (row - rows.begin) * columns.count() + column - columns.begin;
    };
    const auto add = [&](const SumRow<Sum>& row) {
      Sum* to = at(row.row, row.column);
      for (const Sum sum : row.sums) {
        *to = static_cast<Sum>(static_cast<Wrapping>(*to) + static_cast<Wrapping>(sum));
        ++to;
      }
    };
    ForRanges(depth(), kMostDepth,
              [&](Range numbers) { MultiplyPart(rows, columns, numbers, add); });
    for (int64_t row = rows.begin; row < rows.end; ++row) {
      sink_({batch_,
             row,
             columns.begin,
             {at(row, columns.begin), static_cast<size_t>(columns.count())}});
    }
  }

  Tiles tiles_;
  int64_t batch_;
  const IntegerLines& rows_;
  const IntegerLines& columns_;
  const SumSink<Sum>& sink_;
};

}  // namespace

template <typename Sum>
void MultiplyIntegers(int64_t batch, const IntegerLines& rows, const IntegerLines& columns,
                      const SumSink<Sum>& sink) {
  MatrixOfSums(batch, rows, columns, sink).Run();
}

template void MultiplyIntegers(int64_t, const IntegerLines&, const IntegerLines&,
                               const SumSink<int32_t>&);
template void MultiplyIntegers(int64_t, const IntegerLines&, const IntegerLines&,
                               const SumSink<int64_t>&);

}  // namespace dmlop
