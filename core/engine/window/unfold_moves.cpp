// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstring>
#include <optional>
#include <utility>

#include "core/base/parallel.h"
#include "core/engine/window/unfold.h"
#include "core/kernels/copy/copy.h"
#include "core/kernels/copy/stream.h"

namespace dmlop {
namespace {

constexpr size_t kMaxMoves = 1 << 8;  // per plan, so that it stays in the second-level cache

// Each pair of a tap and a block of a dimension is one element. A move has a single tap, or a
// single block if there are fewer of them, and all of the others that lie inside the input.
struct Pairs {
  explicit Pairs(const UnfoldDim& dim)
      : by_tap(dim.window <= dim.blocks), count(std::min(dim.window, dim.blocks)) {}

  bool by_tap;
  int64_t count;  // number of moves
};

// Moves for the first (N, C) as views over (N, C, taps or blocks of each dimension).
class MoveList {
 public:
  MoveList(const std::vector<UnfoldDim>& dims, const ConstTensorView& input,
           const TensorView& output)
      : dims_(dims), input_(input), output_(output) {
    for (const UnfoldDim& dim : dims) {
      windows_.push_back(dim.window);
      blocks_.push_back(dim.blocks);
      counts_.push_back(Pairs(dim).count);
    }
    const Dims& to = output.layout.strides;
    const size_t n = to.size() - 3;
    tap_steps_ = PackedStrides(windows_);
    block_steps_ = PackedStrides(blocks_);
    for (int64_t& step : tap_steps_) step *= to[n + 1];
    for (int64_t& step : block_steps_) step *= to[n + 2];
    channel_ = {{input.layout.sizes[0], input.layout.sizes[1]},
                {to[n], Product(windows_) * to[n + 1]}};
  }

  void Run() {
    Dims index = Dims::Filled(dims_.size(), 0);
    for (int64_t i = Product(counts_); i > 0; --i, Advance(counts_, index)) {
      AddCopy(index);
      AddZeros(index);
      if (moves_.size() >= kMaxMoves) CopyMoves();
    }
    CopyMoves();
  }

  // Returns the moves from the input.
  std::vector<Move> Copies() {
    Dims index = Dims::Filled(dims_.size(), 0);
    for (int64_t i = Product(counts_); i > 0; --i, Advance(counts_, index)) AddCopy(index);
    return std::move(moves_);
  }

 private:
  bool ByTap(size_t d) const { return Pairs(dims_[d]).by_tap; }
  Range All(size_t d) const { return {0, ByTap(d) ? blocks_[d] : windows_[d]}; }
  Range InsideOf(size_t d, int64_t fixed) const {
    return ByTap(d) ? dims_[d].OutputsInside(fixed, dims_[d].blocks) : dims_[d].PresentTaps(fixed);
  }

  void AddCopy(const Dims& index) {
    Move move{{input_.data, input_.type, Start()}, Target()};
    int64_t offset = 0;
    for (size_t d = 0; d < dims_.size(); ++d) {
      const Range inside = InsideOf(d, index[d]);
      if (inside.count() == 0) return;
      const UnfoldDim& dim = dims_[d];
      Narrow(d, index[d], inside, move.to);
      const int64_t first =
          ByTap(d) ? dim.Position(inside.begin, index[d]) : dim.Position(index[d], inside.begin);
      offset += first * dim.step;
      move.from.layout.sizes.push_back(inside.count());
      // A step that is never taken may exceed the range of offsets.
      const int64_t step = inside.count() == 1 ? 0 : ByTap(d) ? dim.stride : dim.dilation;
      move.from.layout.strides.push_back(step * dim.step);
    }
    move.from.data += offset * static_cast<int64_t>(ByteWidth(input_.type));
    moves_.push_back(move);
  }

  // Adds the padding before and after the part inside the input, dimension by dimension.
  void AddZeros(const Dims& index) {
    TensorView target = Target();
    for (size_t d = 0; d < dims_.size(); ++d) {
      const Range inside = InsideOf(d, index[d]);
      AddZeros(index, d, {0, inside.count() == 0 ? All(d).end : inside.begin}, target);
      if (inside.count() == 0) return;
      AddZeros(index, d, {inside.end, All(d).end}, target);
      Narrow(d, index[d], inside, target);
    }
  }

  // Adds zeros in dimension `d` to a target that has the earlier dimensions.
  void AddZeros(const Dims& index, size_t d, Range others, TensorView target) {
    static constexpr uint64_t kZero = 0;
    if (others.count() <= 0) return;
    Narrow(d, index[d], others, target);
    for (size_t i = d + 1; i < dims_.size(); ++i) Narrow(i, index[i], All(i), target);
    const Dims& sizes = target.layout.sizes;
    moves_.push_back({{reinterpret_cast<const std::byte*>(&kZero),
                       input_.type,
                       {sizes, Dims::Filled(sizes.size(), 0)}},
                      target});
  }

  Layout Start() const {
    return {channel_.sizes, {input_.layout.strides[0], input_.layout.strides[1]}};
  }
  TensorView Target() const { return {output_.data, output_.type, channel_}; }

  // Adds dimension `d` to a target.
  void Narrow(size_t d, int64_t fixed, Range others, TensorView& target) const {
    const int64_t fixed_step = ByTap(d) ? tap_steps_[d] : block_steps_[d];
    const int64_t step = ByTap(d) ? block_steps_[d] : tap_steps_[d];
    target.layout.sizes.push_back(others.count());
    target.layout.strides.push_back(step);
    target.data +=
        (fixed * fixed_step + others.begin * step) * static_cast<int64_t>(ByteWidth(target.type));
  }

  void CopyMoves() {
    CopyAll(moves_);
    moves_.clear();
  }

  const std::vector<UnfoldDim>& dims_;
  const ConstTensorView& input_;
  const TensorView& output_;
  Dims windows_, blocks_, counts_;
  Dims tap_steps_, block_steps_;  // strides of the output in elements
  Layout channel_;                // N and C of the output
  std::vector<Move> moves_;
};

}  // namespace

void UnfoldByMoves(const std::vector<UnfoldDim>& dims, const ConstTensorView& input,
                   const TensorView& output) {
  MoveList(dims, input, output).Run();
}

std::vector<Move> UnfoldMoves(const std::vector<UnfoldDim>& dims, const ConstTensorView& input,
                              const TensorView& output) {
  return MoveList(dims, input, output).Copies();
}

void UnfoldWindows(const std::vector<UnfoldDim>& dims, const ConstTensorView& input,
                   const TensorView& output) {
  if (!UnfoldByImages(dims, input, output)) UnfoldByMoves(dims, input, output);
}

// --- images --------------------------------------------------------------------------------------

namespace {

constexpr int64_t kImagesBytes = 160 << 10;   // must stay in the second-level cache
constexpr int64_t kImageRowBytes = 16 << 10;  // one row of all images
constexpr int64_t kMaxShift = 1 << 16;        // in rows; far more than such images have
constexpr int64_t kShortRun = 1 << 9;         // has too few whole lines to be streamed by itself
constexpr int64_t kLongRow = 6 * StreamBuffer::kLine;  // is streamed just as well without images

// A row tap reads the rows of its phase from `shift` on.
struct RowTap {
  size_t phase;
  int64_t shift;
};

// A box of blocks in the last two dimensions, whose images are built together.
struct BlockBox {
  Range rows, columns;
};

class Images {
 public:
  Images(const UnfoldDim& row, const UnfoldDim& column, int64_t width)
      : row_(row), column_(column), width_(width), copy_(CopyTileFor(static_cast<size_t>(width))) {}

  // Returns false if images do not fit into the cache or do not pay.
  bool Plan() {
    if (column_.window > kImageRowBytes / width_ || row_.window > kMaxShift ||
        row_.dilation > kMaxShift || row_.window * row_.dilation > kMaxShift) {
      return false;
    }
    PlanTaps();
    columns_ = Share(column_.blocks, kImageRowBytes / width_ / column_.window);
    const int64_t phases = std::ssize(phases_);
    const int64_t row_bytes = column_.window * columns_ * width_;
    const int64_t rows = kImagesBytes / row_bytes / phases - max_shift_;
    if (rows < 1) return false;
    rows_ = Share(row_.blocks, rows);
    return row_.window * rows_ >= phases * (rows_ + max_shift_);
  }

  int64_t bytes() const { return column_.window * ImageRows(rows_) * columns_ * width_; }

  // The number of boxes in a plane of the output, counted row by row.
  int64_t boxes() const { return Shares(row_.blocks, rows_) * Shares(column_.blocks, columns_); }
  BlockBox Box(int64_t number) const {
    const int64_t across = Shares(column_.blocks, columns_);
    const int64_t row = number / across * rows_;
    const int64_t column = number % across * columns_;
    return {{row, std::min(row + rows_, row_.blocks)},
            {column, std::min(column + columns_, column_.blocks)}};
  }

  // Builds the images of a box, except for the zeros.
  void Fill(const BlockBox& box, const std::byte* plane, std::byte* images) const {
    const int64_t rows = box.rows.count() + max_shift_;
    for (int64_t tap = 0; tap < column_.window; ++tap) {
      const Range columns = Intersection(column_.OutputsInside(tap, column_.blocks), box.columns);
      for (size_t phase = 0; phase < phases_.size(); ++phase) {
        const int64_t first = box.rows.begin * row_.stride + phases_[phase] - row_.start;
        const Range inside = StepsInside(first, row_.stride, rows, row_.size);
        if (inside.count() == 0 || columns.count() == 0) continue;
        const int64_t row = first + inside.begin * row_.stride;
        const int64_t column = column_.Position(columns.begin, tap);
        std::byte* to = images + RunOffset(box, phase, inside.begin, tap) +
                        (columns.begin - box.columns.begin) * width_;
        copy_({inside.count(), columns.count(), box.columns.count(), 1, row_.stride * row_.step,
               column_.stride * column_.step},
              to, plane + (row * row_.step + column * column_.step) * width_);
      }
    }
  }

  // Returns the place of the run that a row tap and a column tap read.
  int64_t RunOffset(const BlockBox& box, int64_t row_tap, int64_t column_tap) const {
    const RowTap& tap = row_taps_[static_cast<size_t>(row_tap)];
    return RunOffset(box, tap.phase, tap.shift, column_tap);
  }

 private:
  static int64_t Shares(int64_t count, int64_t share) { return (count + share - 1) / share; }
  // Returns the size of equal shares of `count` that do not exceed `most`.
  static int64_t Share(int64_t count, int64_t most) { return Shares(count, Shares(count, most)); }

  void PlanTaps() {
    for (int64_t tap = 0; tap < row_.window; ++tap) {
      const int64_t rest = tap * row_.dilation % row_.stride;
      const size_t phase =
          static_cast<size_t>(std::find(phases_.begin(), phases_.end(), rest) - phases_.begin());
      if (phase == phases_.size()) phases_.push_back(rest);
      row_taps_.push_back({phase, tap * row_.dilation / row_.stride});
    }
    max_shift_ = row_taps_.back().shift;
  }

  int64_t ImageRows(int64_t rows) const { return std::ssize(phases_) * (rows + max_shift_); }

  int64_t RunOffset(const BlockBox& box, size_t phase, int64_t row, int64_t column_tap) const {
    const int64_t rows = box.rows.count() + max_shift_;
    const int64_t image_row =
        (column_tap * std::ssize(phases_) + static_cast<int64_t>(phase)) * rows;
    return (image_row + row) * box.columns.count() * width_;
  }

  UnfoldDim row_, column_;
  int64_t width_;  // bytes per element
  CopyTileFunction copy_;
  std::vector<int64_t> phases_;  // first rows that taps read, modulo the stride
  std::vector<RowTap> row_taps_;
  int64_t max_shift_ = 0;
  int64_t rows_ = 0, columns_ = 0;  // size of a box
};

class ImageLoop {
 public:
  ImageLoop(std::vector<UnfoldDim> dims, const Images& images, const ConstTensorView& input,
            const TensorView& output)
      : dims_(std::move(dims)),
        images_(images),
        input_(input),
        output_(output),
        width_(static_cast<int64_t>(ByteWidth(input.type))),
        row_(dims_[dims_.size() - 2]),
        column_(dims_.back()),
        outer_(dims_.size() - 2),
        loops_{input.layout.sizes[0], images.boxes(), input.layout.sizes[1]} {
    for (size_t d = 0; d < outer_; ++d) loops_.push_back(dims_[d].window);
    for (size_t d = 0; d < outer_; ++d) loops_.push_back(dims_[d].blocks);
    for (size_t d = 0; d < outer_; ++d) outer_blocks_ *= dims_[d].blocks;
    plane_bytes_ = row_.blocks * column_.blocks * width_;
  }

  void Run() const {
    const int64_t bytes = output_.element_bytes();
    const bool streams = bytes >= kStreamPiecesBytes;
    // Planes are packed if they are adjacent in the order in which they are written.
    const bool packs = streams && plane_bytes_ <= kShortRun && images_.boxes() == 1 &&
                       outer_blocks_ == 1 && IsPacked(output_.layout);
    const int64_t count = Product(loops_);
    ParallelFor(count, count * kGrainBytes / bytes + 1, bytes, [&](int64_t begin, int64_t end) {
      Thread thread(images_.bytes());
      if (packs) thread.stream.emplace(TargetAt(IndexOf(loops_, begin)), kCapacity);
      thread.write = streams ? StreamRowsForIsa() : CopyRuns;
      Dims index = IndexOf(loops_, begin);
      for (int64_t i = begin; i < end; ++i, Advance(loops_, index)) {
        Prepare(index, thread);
        WriteRuns(index, thread);
      }
      if (streams) FlushStreams();
    });
  }

 private:
  static constexpr int64_t kGrainBytes = 1 << 17;
  static constexpr int64_t kCapacity = StreamBuffer::kMaxCapacity;

  struct Thread {
    explicit Thread(int64_t bytes) : images(static_cast<size_t>(bytes)) {}

    Buffer images;         // aligned, so that whole lines of runs are loaded; initially zeros
    int64_t box = kZeros;  // the box of these images and of their padding
    StreamRowsFunction write = nullptr;
    std::optional<StreamBuffer> stream;
  };
  static constexpr int64_t kZeros = -1;

  static void CopyRuns(int64_t rows, int64_t row_bytes, std::byte* to, int64_t to_pitch,
                       const std::byte* from, int64_t from_pitch) {
    for (int64_t i = 0; i < rows; ++i) {
      std::memcpy(to + i * to_pitch, from + i * from_pitch, static_cast<size_t>(row_bytes));
    }
  }

  // The taps and the blocks of the outer dimensions.
  const int64_t* OuterTaps(const Dims& index) const { return index.begin() + 3; }
  const int64_t* OuterBlocks(const Dims& index) const { return index.begin() + 3 + outer_; }

  void Prepare(const Dims& index, Thread& thread) const {
    const std::byte* plane = InputPlane(index);
    const int64_t box = plane == nullptr ? kZeros : index[1];
    if (box != thread.box && thread.box != kZeros) {
      std::memset(thread.images.data(), 0, static_cast<size_t>(images_.bytes()));
    }
    thread.box = box;
    if (plane != nullptr) images_.Fill(images_.Box(box), plane, thread.images.data());
  }

  // Returns null in the padding.
  const std::byte* InputPlane(const Dims& index) const {
    int64_t offset = index[0] * input_.layout.strides[0] + index[2] * input_.layout.strides[1];
    for (size_t d = 0; d < outer_; ++d) {
      const int64_t position = dims_[d].Position(OuterBlocks(index)[d], OuterTaps(index)[d]);
      if (position < 0 || position >= dims_[d].size) return nullptr;
      offset += position * dims_[d].step;
    }
    return input_.data + offset * width_;
  }

  // Returns the destination of the box for the first tap in both of the last dimensions.
  std::byte* TargetAt(const Dims& index) const {
    int64_t tap = index[2];
    int64_t block = 0;
    for (size_t d = 0; d < outer_; ++d) {
      tap = tap * dims_[d].window + OuterTaps(index)[d];
      block = block * dims_[d].blocks + OuterBlocks(index)[d];
    }
    tap *= row_.window * column_.window;
    const BlockBox box = images_.Box(index[1]);
    block = (block * row_.blocks + box.rows.begin) * column_.blocks + box.columns.begin;
    const Dims& to = output_.layout.strides;
    const size_t n = to.size() - 3;
    return output_.data + (index[0] * to[n] + tap * to[n + 1] + block) * width_;
  }

  void WriteRuns(const Dims& index, Thread& thread) const {
    const BlockBox box = images_.Box(index[1]);
    const int64_t tap_pitch = output_.layout.strides[output_.layout.rank() - 2] * width_;
    const int64_t row_bytes = box.columns.count() * width_;
    const bool is_run = box.columns.count() == column_.blocks;
    const int64_t rows = is_run ? 1 : box.rows.count();
    const int64_t run_bytes = is_run ? box.rows.count() * row_bytes : row_bytes;
    std::byte* to = TargetAt(index);
    for (int64_t i = 0; i < row_.window; ++i) {
      for (int64_t j = 0; j < column_.window; ++j, to += tap_pitch) {
        const std::byte* from = thread.images.data() + images_.RunOffset(box, i, j);
        if (thread.stream) {
          std::memcpy(thread.stream->Next(run_bytes), from, static_cast<size_t>(run_bytes));
        } else {
          thread.write(rows, run_bytes, to, column_.blocks * width_, from, row_bytes);
        }
      }
    }
  }

  std::vector<UnfoldDim> dims_;
  const Images& images_;
  const ConstTensorView& input_;
  const TensorView& output_;
  int64_t width_;  // bytes per element
  const UnfoldDim& row_;
  const UnfoldDim& column_;
  size_t outer_;  // number of dimensions except the last two
  Dims loops_;    // N, boxes, C, taps and blocks of the outer dimensions
  int64_t outer_blocks_ = 1;
  int64_t plane_bytes_;  // bytes of a plane in the output
};

// Returns whether the elements that a tap reads from a row are adjacent and many.
bool HasLongRows(const UnfoldDim& column, const TensorView& output) {
  return column.stride * column.step == 1 && output.element_bytes() >= kStreamPiecesBytes &&
         column.blocks * static_cast<int64_t>(ByteWidth(output.type)) >= kLongRow;
}

}  // namespace

bool UnfoldByImages(const std::vector<UnfoldDim>& dims, const ConstTensorView& input,
                    const TensorView& output) {
  if (output.layout.strides.back() != 1 || HasLongRows(dims.back(), output)) return false;
  std::vector<UnfoldDim> two_or_more = dims;
  // A line is an image with one row.
  if (dims.size() == 1) two_or_more.insert(two_or_more.begin(), {{}, 1, 0});
  const size_t row = two_or_more.size() - 2;
  Images images(two_or_more[row], two_or_more[row + 1],
                static_cast<int64_t>(ByteWidth(input.type)));
  if (!images.Plan()) return false;
  ImageLoop(std::move(two_or_more), images, input, output).Run();
  return true;
}

}  // namespace dmlop
