#include "core/ops/unfold_loop.h"

#include <algorithm>
#include <memory>
#include <optional>
#include <utility>

#include "core/base/parallel.h"
#include "core/kernels/copy.h"
#include "core/kernels/gapped_rows.h"
#include "core/kernels/stream.h"
#include "core/ops/shuffle_plan.h"
#include "core/ops/unfold_inside.h"
#include "core/ops/unfold_phases.h"
#include "core/ops/unfold_taps.h"

namespace dmlop {
namespace {

constexpr int64_t kPieceBytes = StreamBuffer::kMaxCapacity;
constexpr int64_t kShiftedBytes = 1 << 16;  // of a piece that needs no buffer

// Strided rows go by programs of shuffles where a piece has several of them, and there are not more
// taps than it is worth to plan.
constexpr int64_t kMaxShuffledRowBytes = 1 << 10;
constexpr int64_t kMaxShuffledTaps = 32;

Range Intersection(Range a, Range b) {
  return {std::max(a.begin, b.begin), std::min(a.end, b.end)};
}

// The turn with that number of a loop that takes at most `step` of `count` at once.
Range Piece(int64_t number, int64_t step, int64_t count) {
  return {number * step, std::min((number + 1) * step, count)};
}

// A part of each of some rows of a piece, in elements.
struct Strip {
  int64_t rows, columns, pitch;
};

// The output as planes of the last two spatial dimensions, one for each (N, C, taps..., blocks but
// the last two). Planes are cut into pieces: some of their rows or, where rows are long, a part of
// one. So pieces follow one another as the output's elements do.
class UnfoldLoop {
 public:
  UnfoldLoop(std::vector<UnfoldDim> dims, const ConstTensorView& input, const TensorView& output)
      : input_(input),
        output_(output),
        width_(static_cast<int64_t>(ByteWidth(input.type))),
        step_bytes_(output.layout.strides.back() * width_),
        copy_(CopyTileFor(ByteWidth(input.type))),
        dims_(std::move(dims)) {
    // A line is an image of one row.
    if (dims_.size() == 1) dims_.insert(dims_.begin(), {1, 1, 1, 1, 1, 0, 0});
    for (int64_t tap = 0; tap < row_dim().window; ++tap) {
      inside_rows_.push_back(Inside(row_dim(), tap));
    }
    for (int64_t tap = 0; tap < column_dim().window; ++tap) {
      inside_columns_.push_back(Inside(column_dim(), tap));
    }
    is_packed_ = IsPacked(output.layout);
    if (is_packed_ && dims_.size() == 2 && !RowsAreRuns()) {
      phases_ = UnfoldPhases::For(row_dim(), column_dim(), width_);
    }
    streams_ = is_packed_ && output.element_bytes() >= kStreamBytes;
    PlanPieces();
    PlanRows();
  }

  void Run() const {
    constexpr int64_t kParallelBytes = 1 << 16;
    constexpr int64_t kPlanesPerImage = 10;
    const int64_t piece_bytes = piece_rows_ * piece_columns_ * width_;
    int64_t grain = kParallelBytes / piece_bytes + 1;
    // Each thread makes the images of the channels that it has pieces of, which is worth it for
    // several planes of each image.
    if (phases_) grain = std::max(grain, kPlanesPerImage * phases_->count() * pieces_of_plane());
    ParallelFor(Product(loops_), grain, output_.element_bytes(), [&](int64_t begin, int64_t end) {
      if (streams_) {
        StreamPieces(begin, end);
      } else if (is_packed_) {
        WriteConsecutively(begin, end);
      } else {
        WritePieces(begin, end);
      }
    });
  }

 private:
  // The images of the channel that a thread is at, where there are phases.
  class Images {
   public:
    explicit Images(const UnfoldLoop& loop) : loop_(loop) {
      if (!loop.phases_) return;
      bytes_ =
          std::make_unique_for_overwrite<std::byte[]>(static_cast<size_t>(loop.phases_->bytes()));
    }

    const std::byte* For(const Dims& index) {
      if (!loop_.phases_) return nullptr;
      const int64_t channel = index[0] * loop_.loops_[1] + index[1];
      if (channel != channel_) {
        channel_ = channel;
        loop_.phases_->Fill(loop_.input_.data + loop_.ChannelOffset(index) * loop_.width_,
                            bytes_.get());
      }
      return bytes_.get();
    }

   private:
    const UnfoldLoop& loop_;
    std::unique_ptr<std::byte[]> bytes_;
    int64_t channel_ = -1;
  };

  int64_t pieces_of_plane() const { return loops_.back() * loops_[loops_.size() - 2]; }
  const UnfoldDim& row_dim() const { return dims_[dims_.size() - 2]; }
  const UnfoldDim& column_dim() const { return dims_.back(); }

  // Whether rows follow each other in the input as in the output.
  bool RowsAreRuns() const {
    const int64_t step = row_dim().stride * row_dim().step;
    return output_.layout.strides.back() == 1 && column_dim().stride * column_dim().step == 1 &&
           (step == column_dim().blocks || row_dim().blocks == 1);
  }

  void PlanPieces() {
    is_shifted_ = phases_ || RowsAreRuns();
    const int64_t bytes = streams_ && is_shifted_ ? kShiftedBytes : kPieceBytes;
    const int64_t capacity = bytes / width_;
    piece_columns_ = std::min(column_dim().blocks, capacity);
    piece_rows_ = std::min(row_dim().blocks, capacity / piece_columns_);
    if (piece_columns_ < column_dim().blocks) piece_rows_ = 1;
    loops_ = {input_.layout.sizes[0], input_.layout.sizes[1]};
    for (const UnfoldDim& dim : dims_) loops_.push_back(dim.window);
    for (size_t d = 0; d + 2 < dims_.size(); ++d) loops_.push_back(dims_[d].blocks);
    loops_.push_back((row_dim().blocks + piece_rows_ - 1) / piece_rows_);
    loops_.push_back((column_dim().blocks + piece_columns_ - 1) / piece_columns_);
  }

  // How to copy the part of a piece that lies inside the input.
  void PlanRows() {
    const int64_t column_step = column_dim().stride * column_dim().step;
    const int64_t row_step = row_dim().stride * row_dim().step;
    // Every other element has a kernel of its own.
    if (is_shifted_ || output_.layout.strides.back() != 1 || column_step == 1 || column_step == 2 ||
        column_dim().blocks * width_ > kMaxShuffledRowBytes ||
        column_dim().window > kMaxShuffledTaps) {
      return;
    }
    for (int64_t tap = 0; tap < column_dim().window; ++tap) {
      const int64_t columns = inside_columns_[static_cast<size_t>(tap)].count();
      std::vector<std::optional<Origin>> origins;
      for (int64_t i = 0; i < columns; ++i) origins.push_back(Origin{0, i * column_step * width_});
      row_programs_.push_back(
          PlanShuffle(origins, width_, column_dim().blocks * width_, {row_step * width_}));
    }
  }

  void WriteConsecutively(int64_t begin, int64_t end) const {
    Dims index = IndexOf(loops_, begin);
    std::byte* to = output_.data + OutputOffset(index) * width_;
    Images images(*this);
    for (int64_t i = begin; i < end; ++i, Advance(index)) {
      WritePiece(index, images.For(index), to);
      to += Rows(index).count() * Columns(index).count() * width_;
    }
  }

  void WritePieces(int64_t begin, int64_t end) const {
    Dims index = IndexOf(loops_, begin);
    for (int64_t i = begin; i < end; ++i, Advance(index)) {
      WritePiece(index, nullptr, output_.data + OutputOffset(index) * width_);
    }
  }

  void StreamPieces(int64_t begin, int64_t end) const {
    Dims index = IndexOf(loops_, begin);
    StreamBuffer stream(output_.data + OutputOffset(index) * width_, kPieceBytes);
    Images images(*this);
    for (int64_t i = begin; i < end; ++i, Advance(index)) {
      StreamPiece(index, images.For(index), stream);
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

  int64_t ChannelOffset(const Dims& index) const {
    const Dims& from = input_.layout.strides;
    return index[0] * from[0] + index[1] * from[1];
  }

  // The offset of the piece's plane in the input, or nothing where it lies in the padding.
  std::optional<int64_t> InputPlane(const Dims& index) const {
    int64_t offset = ChannelOffset(index);
    for (size_t d = 0; d + 2 < dims_.size(); ++d) {
      const int64_t position = Position(dims_[d], Block(index, d), Tap(index, d));
      if (position < 0 || position >= dims_[d].size) return std::nullopt;
      offset += position * dims_[d].step;
    }
    return offset;
  }

  // The part of a piece that lies inside the input.
  struct InsidePart {
    int64_t first;  // element of the piece
    Strip strip;    // without rows, where there is no such part
    const std::byte* from;
  };

  // `images` are those of the piece's channel, or null where it comes from the input itself.
  InsidePart InsideOf(const Dims& index, const std::byte* images) const {
    const Range rows = Rows(index);
    const Range columns = Columns(index);
    const Range inside_rows = Intersection(rows, inside_rows_[static_cast<size_t>(RowTap(index))]);
    const Range inside_columns =
        Intersection(columns, inside_columns_[static_cast<size_t>(ColumnTap(index))]);
    const std::optional<int64_t> plane = InputPlane(index);
    if (!plane || inside_rows.count() == 0 || inside_columns.count() == 0) return {};
    const int64_t row = Position(row_dim(), inside_rows.begin, RowTap(index));
    const int64_t column = Position(column_dim(), inside_columns.begin, ColumnTap(index));
    const std::byte* from =
        images
            ? images + phases_->Offset(row, column) * width_
            : input_.data + (*plane + row * row_dim().step + column * column_dim().step) * width_;
    const int64_t first =
        (inside_rows.begin - rows.begin) * columns.count() + (inside_columns.begin - columns.begin);
    return {first, {inside_rows.count(), inside_columns.count(), columns.count()}, from};
  }

  void StreamPiece(const Dims& index, const std::byte* images, StreamBuffer& stream) const {
    const int64_t bytes = Rows(index).count() * Columns(index).count() * width_;
    if (!is_shifted_) return WritePiece(index, images, stream.Next(bytes));
    const InsidePart inside = InsideOf(index, images);
    const Strip& strip = inside.strip;
    const bool is_empty = strip.rows == 0;
    StreamGappedRows({bytes, is_empty ? bytes : inside.first * width_, strip.rows,
                      strip.columns * width_, is_empty ? bytes : strip.pitch * width_, inside.from},
                     stream);
  }

  void WritePiece(const Dims& index, const std::byte* images, std::byte* to) const {
    const int64_t elements = Rows(index).count() * Columns(index).count();
    const InsidePart inside = InsideOf(index, images);
    const Strip& strip = inside.strip;
    if (strip.rows == 0) return FillWithZeros({1, elements, 0}, to);
    CopyInside(strip, ColumnTap(index), to + inside.first * step_bytes_, inside.from);
    // Around it, and from each row's end to the beginning of the next one.
    const int64_t end = inside.first + (strip.rows - 1) * strip.pitch + strip.columns;
    FillWithZeros({1, inside.first, 0}, to);
    FillWithZeros({strip.rows - 1, strip.pitch - strip.columns, strip.pitch},
                  to + (inside.first + strip.columns) * step_bytes_);
    FillWithZeros({1, elements - end, 0}, to + end * step_bytes_);
  }

  void FillWithZeros(const Strip& strip, std::byte* to) const {
    alignas(64) static constexpr std::byte kZeros[kPieceBytes]{};
    if (strip.rows == 0 || strip.columns == 0) return;
    const int64_t step = output_.layout.strides.back();
    copy_({strip.rows, strip.columns, strip.pitch * step, step, 0, 1}, to, kZeros);
  }

  void CopyInside(const Strip& strip, int64_t column_tap, std::byte* to,
                  const std::byte* from) const {
    const int64_t step = output_.layout.strides.back();
    if (is_shifted_) {
      return copy_({1, (strip.rows - 1) * strip.pitch + strip.columns, 0, 1, 0, 1}, to, from);
    }
    if (!row_programs_.empty()) {
      const auto& program = row_programs_[static_cast<size_t>(column_tap)];
      if (program) return shuffle_(*program, strip.rows, to, &from);
    }
    copy_({strip.rows, strip.columns, strip.pitch * step, step, row_dim().stride * row_dim().step,
           column_dim().stride * column_dim().step},
          to, from);
  }

  const ConstTensorView& input_;
  const TensorView& output_;
  int64_t width_;       // bytes of an element
  int64_t step_bytes_;  // from one element of a piece to the next
  CopyTileFunction copy_;
  ShuffleFunction shuffle_ = ShuffleForIsa();
  std::vector<UnfoldDim> dims_;  // at least two
  Dims loops_;                   // N, C, taps, blocks but the last two, pieces
  int64_t piece_rows_ = 1;       // of a whole piece
  int64_t piece_columns_ = 1;
  std::vector<Range> inside_rows_;     // for each tap
  std::vector<Range> inside_columns_;  // for each tap
  bool is_packed_;                     // the output
  bool streams_;                       // past the caches
  std::optional<UnfoldPhases> phases_;
  bool is_shifted_;  // a piece is a run of the input or of an image of it, but for its padding
  // For each tap's columns, where they are strided.
  std::vector<std::optional<ShuffleProgram>> row_programs_;
};

}  // namespace

void UnfoldWindows(std::vector<UnfoldDim> dims, const ConstTensorView& input,
                   const TensorView& output) {
  if (LiesAcross(dims, input)) return UnfoldTaps(dims, input, output);
  UnfoldLoop(std::move(dims), input, output).Run();
}

}  // namespace dmlop
