#include "core/ops/unfold_rows.h"

#include <algorithm>
#include <optional>
#include <vector>

#include "core/base/parallel.h"
#include "core/kernels/copy.h"
#include "core/kernels/stream.h"
#include "core/ops/shuffle_plan.h"

namespace dmlop {
namespace {

constexpr int64_t kPieceBytes = StreamBuffer::kMaxCapacity;

// Strided rows go by programs of shuffles where a piece has several of them, and there are not more
// taps than it is worth to plan.
constexpr int64_t kMaxShuffledRowBytes = 1 << 10;
constexpr int64_t kMaxShuffledTaps = 32;

// The turn with that number of a loop that takes at most `step` of `count` at once.
Range TurnOf(int64_t number, int64_t step, int64_t count) {
  return {number * step, std::min((number + 1) * step, count)};
}

// A part of each of some rows of a piece, in elements.
struct Strip {
  int64_t rows, columns, pitch;
};

// Planes are cut into pieces: some of their rows or, where rows are long, a part of one. So pieces
// follow one another as the output's elements do.
class RowLoop {
 public:
  explicit RowLoop(const UnfoldGeometry& geometry)
      : geometry_(geometry),
        row_(geometry.row_dim()),
        column_(geometry.column_dim()),
        width_(geometry.width()),
        step_bytes_(step() * width_),
        copy_(CopyTileFor(static_cast<size_t>(width_))),
        is_packed_(IsPacked(geometry.output().layout)) {
    PlanPieces();
    PlanRows();
  }

  void Run() const {
    const TensorView& output = geometry_.output();
    const int64_t piece_bytes = piece_rows_ * piece_columns_ * width_;
    const bool streams = is_packed_ && output.element_bytes() >= kStreamBytes;
    ParallelFor(Product(loops_), GrainFor(piece_bytes, 0), output.element_bytes(),
                [&](int64_t begin, int64_t end) {
                  if (streams) {
                    StreamPieces(begin, end);
                  } else {
                    WritePieces(begin, end);
                  }
                });
  }

 private:
  // From one element of a piece to the next, in elements.
  int64_t step() const { return geometry_.output().layout.strides.back(); }

  void PlanPieces() {
    const int64_t capacity = kPieceBytes / width_;
    piece_columns_ = std::min(column_.blocks, capacity);
    piece_rows_ = std::min(row_.blocks, capacity / piece_columns_);
    if (piece_columns_ < column_.blocks) piece_rows_ = 1;
    loops_ = geometry_.loops();
    loops_.push_back((row_.blocks + piece_rows_ - 1) / piece_rows_);
    loops_.push_back((column_.blocks + piece_columns_ - 1) / piece_columns_);
  }

  // How to copy the part of a piece that lies inside the input.
  void PlanRows() {
    const int64_t column_step = column_.stride * column_.step;
    // Every other element has a kernel of its own.
    if (step() != 1 || column_step == 1 || column_step == 2 ||
        column_.blocks * width_ > kMaxShuffledRowBytes || column_.window > kMaxShuffledTaps) {
      return;
    }
    for (int64_t tap = 0; tap < column_.window; ++tap) {
      const int64_t columns = Inside(column_, tap).count();
      std::vector<std::optional<Origin>> origins;
      for (int64_t i = 0; i < columns; ++i) origins.push_back(Origin{0, i * column_step * width_});
      row_programs_.push_back(PlanShuffle(origins, width_, column_.blocks * width_,
                                          {row_.stride * row_.step * width_}));
    }
  }

  void WritePieces(int64_t begin, int64_t end) const {
    Dims index = IndexOf(loops_, begin);
    for (int64_t i = begin; i < end; ++i, Advance(loops_, index)) WritePiece(index, Target(index));
  }

  void StreamPieces(int64_t begin, int64_t end) const {
    Dims index = IndexOf(loops_, begin);
    StreamBuffer stream(Target(index), kPieceBytes);
    for (int64_t i = begin; i < end; ++i, Advance(loops_, index)) {
      WritePiece(index, stream.Next(Rows(index).count() * Columns(index).count() * width_));
    }
  }

  int64_t RowTap(const Dims& index) const { return index[geometry_.dims().size()]; }
  int64_t ColumnTap(const Dims& index) const { return index[1 + geometry_.dims().size()]; }
  Range Rows(const Dims& index) const {
    return TurnOf(index[index.size() - 2], piece_rows_, row_.blocks);
  }
  Range Columns(const Dims& index) const {
    return TurnOf(index.back(), piece_columns_, column_.blocks);
  }

  std::byte* Target(const Dims& index) const {
    const int64_t first = Rows(index).begin * column_.blocks + Columns(index).begin;
    return geometry_.OutputPlane(geometry_.PlaceAt(index)) + first * step_bytes_;
  }

  void WritePiece(const Dims& index, std::byte* to) const {
    const std::byte* plane = geometry_.InputPlane(geometry_.PlaceAt(index));
    const UnfoldGeometry::InsidePart inside = geometry_.InsideOf(RowTap(index), ColumnTap(index));
    const Range rows = Rows(index);
    const Range columns = Columns(index);
    const Range inside_rows = Intersection(rows, inside.rows);
    const Range inside_columns = Intersection(columns, inside.columns);
    const int64_t elements = rows.count() * columns.count();
    if (plane == nullptr || inside_rows.count() == 0 || inside_columns.count() == 0) {
      return FillWithZeros({1, elements, 0}, to);
    }
    const Strip strip{inside_rows.count(), inside_columns.count(), columns.count()};
    const int64_t first =
        (inside_rows.begin - rows.begin) * strip.pitch + (inside_columns.begin - columns.begin);
    const int64_t row = inside.row + (inside_rows.begin - inside.rows.begin) * row_.stride;
    const int64_t column =
        inside.column + (inside_columns.begin - inside.columns.begin) * column_.stride;
    CopyInside(strip, ColumnTap(index), to + first * step_bytes_,
               plane + (row * row_.step + column * column_.step) * width_);
    // Around it, and from each row's end to the beginning of the next one.
    const int64_t end = first + (strip.rows - 1) * strip.pitch + strip.columns;
    FillWithZeros({1, first, 0}, to);
    FillWithZeros({strip.rows - 1, strip.pitch - strip.columns, strip.pitch},
                  to + (first + strip.columns) * step_bytes_);
    FillWithZeros({1, elements - end, 0}, to + end * step_bytes_);
  }

  void FillWithZeros(const Strip& strip, std::byte* to) const {
    alignas(64) static constexpr std::byte kZeros[kPieceBytes]{};
    if (strip.rows == 0 || strip.columns == 0) return;
    copy_({strip.rows, strip.columns, strip.pitch * step(), step(), 0, 1}, to, kZeros);
  }

  void CopyInside(const Strip& strip, int64_t column_tap, std::byte* to,
                  const std::byte* from) const {
    if (!row_programs_.empty()) {
      const auto& program = row_programs_[static_cast<size_t>(column_tap)];
      if (program) return shuffle_(*program, strip.rows, to, &from);
    }
    copy_({strip.rows, strip.columns, strip.pitch * step(), step(), row_.stride * row_.step,
           column_.stride * column_.step},
          to, from);
  }

  const UnfoldGeometry& geometry_;
  const UnfoldDim& row_;
  const UnfoldDim& column_;
  int64_t width_;       // bytes of an element
  int64_t step_bytes_;  // from one element of a piece to the next
  CopyTileFunction copy_;
  ShuffleFunction shuffle_ = ShuffleForIsa();
  bool is_packed_;          // the output
  Dims loops_;              // N, C, taps, blocks but the last two, pieces
  int64_t piece_rows_ = 1;  // of a whole piece
  int64_t piece_columns_ = 1;
  // For each tap's columns, where they are strided.
  std::vector<std::optional<ShuffleProgram>> row_programs_;
};

}  // namespace

void UnfoldRowByRow(const UnfoldGeometry& geometry) {
  RowLoop(geometry).Run();
}

}  // namespace dmlop
