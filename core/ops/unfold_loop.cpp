#include "core/ops/unfold_loop.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "core/base/parallel.h"
#include "core/kernels/copy.h"
#include "core/kernels/stream.h"

namespace dmlop {
namespace {

struct Range {
  int64_t begin, end;

  int64_t count() const { return std::max<int64_t>(0, end - begin); }
};

Range Intersection(Range a, Range b) {
  return {std::max(a.begin, b.begin), std::min(a.end, b.end)};
}

// The turn with that number of a loop that takes at most `step` of `count` at once.
Range Piece(int64_t number, int64_t step, int64_t count) {
  return {number * step, std::min((number + 1) * step, count)};
}

int64_t Position(const UnfoldDim& dim, int64_t block, int64_t tap) {
  return block * dim.stride - dim.padding + tap * dim.dilation;
}

int64_t Offset(const UnfoldDim& dim, int64_t block, int64_t tap) {
  return Position(dim, block, tap) * dim.step;
}

// Blocks whose tap lies inside the input.
Range Inside(const UnfoldDim& dim, int64_t tap) {
  const auto blocks_before = [&](int64_t position) {
    return position <= 0 ? 0 : std::min((position + dim.stride - 1) / dim.stride, dim.blocks);
  };
  const int64_t start = dim.padding - tap * dim.dilation;
  return {blocks_before(start), blocks_before(dim.size + start)};
}

// The output as planes of the last two spatial dimensions, one for each (N, C, taps..., blocks but
// the last two). Planes are cut into pieces: some of their rows or, where rows are long, a part of
// one. So pieces follow one another as the output's elements do.
class UnfoldLoop {
 public:
  UnfoldLoop(std::vector<UnfoldDim> dims, const ConstTensorView& input, const TensorView& output)
      : input_(input),
        output_(output),
        width_(static_cast<int64_t>(ByteWidth(input.type))),
        copy_(CopyTileFor(ByteWidth(input.type))),
        dims_(std::move(dims)) {
    // A line is an image of one row.
    if (dims_.size() == 1) dims_.insert(dims_.begin(), {1, 1, 1, 1, 1, 0, 0});
    PlanPieces();
  }

  void Run() const {
    constexpr int64_t kParallelBytes = 1 << 16;
    const int64_t piece_bytes = piece_rows_ * piece_columns_ * width_;
    const int64_t bytes = output_.layout.element_count() * width_;
    const bool streams = bytes >= kStreamBytes && IsPacked(output_.layout);
    ParallelFor(Product(loops_), kParallelBytes / piece_bytes + 1, [&](int64_t begin, int64_t end) {
      streams ? StreamPieces(begin, end) : WritePieces(begin, end);
    });
  }

 private:
  const UnfoldDim& row_dim() const { return dims_[dims_.size() - 2]; }
  const UnfoldDim& column_dim() const { return dims_.back(); }

  void PlanPieces() {
    const int64_t capacity = StreamBuffer::kCapacity / width_;
    piece_columns_ = std::min(column_dim().blocks, capacity);
    piece_rows_ = std::min(row_dim().blocks, capacity / piece_columns_);
    if (piece_columns_ < column_dim().blocks) piece_rows_ = 1;
    loops_ = {input_.layout.sizes[0], input_.layout.sizes[1]};
    for (const UnfoldDim& dim : dims_) loops_.push_back(dim.window);
    for (size_t d = 0; d + 2 < dims_.size(); ++d) loops_.push_back(dims_[d].blocks);
    loops_.push_back((row_dim().blocks + piece_rows_ - 1) / piece_rows_);
    loops_.push_back((column_dim().blocks + piece_columns_ - 1) / piece_columns_);
  }

  void WritePieces(int64_t begin, int64_t end) const {
    Dims index = IndexOf(loops_, begin);
    for (int64_t i = begin; i < end; ++i, Advance(index)) {
      WritePiece(index, output_.data + OutputOffset(index) * width_);
    }
  }

  void StreamPieces(int64_t begin, int64_t end) const {
    Dims index = IndexOf(loops_, begin);
    StreamBuffer stream(output_.data + OutputOffset(index) * width_);
    for (int64_t i = begin; i < end; ++i, Advance(index)) {
      WritePiece(index, stream.Next(Rows(index).count() * Columns(index).count() * width_));
    }
  }

  void Advance(Dims& index) const {
    for (size_t d = index.size(); d-- > 0;) {
      if (++index[d] < loops_[d]) return;
      index[d] = 0;
    }
  }

  int64_t Tap(const Dims& index, size_t d) const { return index[2 + d]; }
  int64_t Block(const Dims& index, size_t d) const { return index[2 + dims_.size() + d]; }
  int64_t RowTap(const Dims& index) const { return Tap(index, dims_.size() - 2); }
  int64_t ColumnTap(const Dims& index) const { return Tap(index, dims_.size() - 1); }
  Range Rows(const Dims& index) const {
    return Piece(index[index.size() - 2], piece_rows_, row_dim().blocks);
  }
  Range Columns(const Dims& index) const {
    return Piece(index.back(), piece_columns_, column_dim().blocks);
  }

  int64_t OutputOffset(const Dims& index) const {
    const size_t planes = dims_.size() - 2;
    int64_t tap = index[1];
    for (size_t d = 0; d < dims_.size(); ++d) tap = tap * dims_[d].window + Tap(index, d);
    int64_t block = 0;
    for (size_t d = 0; d < planes; ++d) block = block * dims_[d].blocks + Block(index, d);
    block = block * row_dim().blocks + Rows(index).begin;
    block = block * column_dim().blocks + Columns(index).begin;
    const Dims& to = output_.layout.strides;
    const size_t n = to.size() - 3;
    return index[0] * to[n] + tap * to[n + 1] + block * to[n + 2];
  }

  // The offset of the piece's plane in the input, or nothing where it lies in the padding.
  std::optional<int64_t> InputPlane(const Dims& index) const {
    const Dims& from = input_.layout.strides;
    int64_t offset = index[0] * from[0] + index[1] * from[1];
    for (size_t d = 0; d + 2 < dims_.size(); ++d) {
      const int64_t position = Position(dims_[d], Block(index, d), Tap(index, d));
      if (position < 0 || position >= dims_[d].size) return std::nullopt;
      offset += position * dims_[d].step;
    }
    return offset;
  }

  void WritePiece(const Dims& index, std::byte* to) const {
    const Range rows = Rows(index);
    const Range columns = Columns(index);
    const std::optional<int64_t> plane = InputPlane(index);
    const Range inside_rows =
        plane ? Intersection(rows, Inside(row_dim(), RowTap(index))) : Range{0, 0};
    const Range inside_columns = Intersection(columns, Inside(column_dim(), ColumnTap(index)));
    const int64_t elements = rows.count() * columns.count();
    const int64_t elements_inside = inside_rows.count() * inside_columns.count();
    const int64_t to_step = output_.layout.strides.back();
    if (elements_inside < elements) {
      constexpr uint64_t kZero = 0;
      copy_({1, elements, 0, to_step, 0, 0}, to, reinterpret_cast<const std::byte*>(&kZero));
    }
    if (elements_inside == 0) return;

    const int64_t from = *plane + Offset(row_dim(), inside_rows.begin, RowTap(index)) +
                         Offset(column_dim(), inside_columns.begin, ColumnTap(index));
    const int64_t skipped =
        (inside_rows.begin - rows.begin) * columns.count() + (inside_columns.begin - columns.begin);
    copy_({inside_rows.count(), inside_columns.count(), columns.count() * to_step, to_step,
           row_dim().stride * row_dim().step, column_dim().stride * column_dim().step},
          to + skipped * to_step * width_, input_.data + from * width_);
  }

  const ConstTensorView& input_;
  const TensorView& output_;
  int64_t width_;  // bytes of an element
  CopyTileFunction copy_;
  std::vector<UnfoldDim> dims_;  // at least two
  Dims loops_;                   // N, C, taps, blocks but the last two, pieces
  int64_t piece_rows_ = 1;       // of a whole piece
  int64_t piece_columns_ = 1;
};

}  // namespace

void UnfoldWindows(std::vector<UnfoldDim> dims, const ConstTensorView& input,
                   const TensorView& output) {
  UnfoldLoop(std::move(dims), input, output).Run();
}

}  // namespace dmlop
