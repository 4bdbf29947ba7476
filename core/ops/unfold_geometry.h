// Where UNFOLD's elements lie: what each tap sees of each dimension, and the output as planes of
// the last two spatial dimensions, one for each (N, C, taps..., blocks but of the last two).
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "core/ops/unfold_loop.h"

namespace dmlop {

struct Range {
  int64_t begin, end;

  int64_t count() const { return std::max<int64_t>(0, end - begin); }
};

inline Range Intersection(Range a, Range b) {
  return {std::max(a.begin, b.begin), std::min(a.end, b.end)};
}

inline int64_t Position(const UnfoldDim& dim, int64_t block, int64_t tap) {
  return block * dim.stride - dim.padding + tap * dim.dilation;
}

inline int64_t Offset(const UnfoldDim& dim, int64_t block, int64_t tap) {
  return Position(dim, block, tap) * dim.step;
}

// Blocks whose tap lies inside the input.
inline Range Inside(const UnfoldDim& dim, int64_t tap) {
  const auto blocks_before = [&](int64_t position) {
    if (dim.stride > 1) position = (position + dim.stride - 1) / dim.stride;
    return std::clamp(position, int64_t{0}, dim.blocks);
  };
  const int64_t start = dim.padding - tap * dim.dilation;
  return {blocks_before(start), blocks_before(dim.size + start)};
}

// How many pieces of the output a thread takes at least, where it first has to bring about so many
// bytes of the input into another form: what it writes then is several times as much.
inline int64_t GrainFor(int64_t piece_bytes, int64_t prepared_bytes) {
  constexpr int64_t kParallelBytes = 1 << 16;
  constexpr int64_t kWrittenPerPrepared = 4;
  return std::max(kParallelBytes, kWrittenPerPrepared * prepared_bytes) / piece_bytes + 1;
}

// A plane of the output. The lists belong to the caller.
struct UnfoldPlace {
  int64_t n, channel;
  const int64_t* taps;    // of every spatial dimension
  const int64_t* blocks;  // of all but the last two
};

class UnfoldGeometry {
 public:
  // The part of an output plane that two taps, of the last two dimensions, see.
  struct InsidePart {
    Range rows, columns;
    int64_t row, column;  // of the input's plane, where the first of them is
  };

  // Keeps the views.
  UnfoldGeometry(std::vector<UnfoldDim> dims, const ConstTensorView& input,
                 const TensorView& output);

  const std::vector<UnfoldDim>& dims() const { return dims_; }  // at least two
  const UnfoldDim& row_dim() const { return dims_[dims_.size() - 2]; }
  const UnfoldDim& column_dim() const { return dims_.back(); }
  const ConstTensorView& input() const { return input_; }
  const TensorView& output() const { return output_; }
  int64_t width() const { return width_; }  // bytes of an element

  int64_t tap_count() const;
  int64_t plane_bytes() const { return row_dim().blocks * column_dim().blocks * width_; }

  // Bytes from a tap's plane of the output to the next tap's, at the same blocks.
  int64_t tap_pitch() const;

  // The counts of N, C and taps, and of blocks in all dimensions but the last two: the loops over
  // planes as they follow each other in the output.
  Dims loops() const;
  UnfoldPlace PlaceAt(const Dims& index) const;

  // Where a channel of the input and a plane of the output begin.
  const std::byte* Channel(const UnfoldPlace& place) const;
  std::byte* OutputPlane(const UnfoldPlace& place) const;

  // The input's plane that the place's comes from; null in the padding.
  const std::byte* InputPlane(const UnfoldPlace& place) const;

  InsidePart InsideOf(int64_t row_tap, int64_t column_tap) const;

  // The input's bytes from there on, as far as it goes; nothing if it is not packed.
  std::span<const std::byte> PackedInput(const std::byte* from, int64_t bytes) const;

 private:
  const ConstTensorView& input_;
  const TensorView& output_;
  int64_t width_;
  std::vector<UnfoldDim> dims_;
};

}  // namespace dmlop
