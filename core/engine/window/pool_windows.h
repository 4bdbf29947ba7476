// Where the windows of a pooling lie, and which outputs have windows of one form.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "core/base/integers.h"
#include "core/engine/window/unfold_geometry.h"
#include "core/exact/reduce_function.h"
#include "core/tensor/tensor.h"

namespace dmlop {

// One dimension: output p has the taps at the positions p * stride - start + t * dilation, of which
// those are absent that lie outside of the input. A tap is counted up to `end` positions behind it.
struct PoolDim {
  int64_t size = 1;  // of the input
  int64_t window = 1;
  int64_t stride = 1, dilation = 1;
  int64_t start = 0, end = 0;

  int64_t Position(int64_t output, int64_t tap) const {
    return output * stride - start + tap * dilation;
  }
  Range PresentTaps(int64_t output) const {
    return StepsInside(Position(output, 0), dilation, window, size);
  }
  int64_t CountedTaps(int64_t output) const {
    return StepsInside(output * stride, dilation, window, start + size + end).count();
  }
  // Of the first `outputs`, those whose windows begin and end around some of the positions.
  Range OutputsReaching(Range positions, int64_t outputs) const;
};

// Of each dimension of the tensors, N and C included, which have windows of one tap.
using PoolDims = std::vector<PoolDim>;

// Neighbouring outputs of one dimension whose windows have the same taps.
struct PoolSegment {
  int64_t begin, count;  // outputs
  Range taps;            // present; not in order where there are none
  int64_t counted;
};
std::vector<PoolSegment> SegmentsOf(const PoolDim& dim, int64_t begin, int64_t count);

// Outputs whose windows have the same taps: one segment of each dimension.
using PoolBox = std::vector<PoolSegment>;

bool HasTaps(const PoolBox& box);
int64_t PresentTaps(const PoolBox& box);
Int128 CountedTaps(const PoolBox& box);  // paddings may make it that large

// The numbers of taps of a part of outputs, by their indices in it.
class TapCounts {
 public:
  TapCounts(const PoolDims& dims, const Dims& begin, const Dims& sizes);

  int64_t Present(const Dims& index) const {
    int64_t taps = 1;
    for (size_t d = 0; d < index.size(); ++d) taps *= present_[d][static_cast<size_t>(index[d])];
    return taps;
  }
  Int128 Counted(const Dims& index) const {
    Int128 taps = 1;
    for (size_t d = 0; d < index.size(); ++d) taps *= counted_[d][static_cast<size_t>(index[d])];
    return taps;
  }

 private:
  std::vector<std::vector<int64_t>> present_, counted_;  // of each dimension
};

// All boxes of the part of an output that begins at an index.
class PoolBoxes {
 public:
  PoolBoxes(const PoolDims& dims, const Dims& begin, const Dims& sizes);

  int64_t count() const { return Product(counts_); }
  PoolBox At(int64_t i) const;

 private:
  std::vector<std::vector<PoolSegment>> segments_;
  Dims counts_;
};

// The part of a view of outputs from index `begin` on that is in the box.
TensorView PartOf(const TensorView& outputs, const Dims& begin, const PoolBox& box);

// The windows of a box that has taps, in a tensor of some layout: the dimensions of the outputs,
// then taps of those behind the first two.
struct PoolWindows {
  int64_t first;  // offset in elements
  Layout layout;
};
PoolWindows WindowsOf(const PoolDims& dims, const PoolBox& box, const Layout& input);

// Loops over the taps of a window, which has at most three spatial dimensions: the last one is the
// innermost.
struct TapLoops {
  std::array<int64_t, 3> sizes = {1, 1, 1};
  std::array<int64_t, 3> steps{};

  int64_t count() const { return sizes[0] * sizes[1] * sizes[2]; }
};
// Of windows in a tensor of so many dimensions.
TapLoops TapsOf(const PoolWindows& windows, size_t rank);
// Of each tap from the first one.
std::vector<int64_t> OffsetsOf(const TapLoops& taps);

// The dimension of outputs that are worked on side by side: the last one that has many.
size_t PoolRowDimension(const Dims& sizes);

// Reduces each window of a box that has taps to one element of the outputs.
void ReduceWindows(ReduceFunction function, const PoolDims& dims, const PoolBox& box,
                   const ConstTensorView& input, const TensorView& outputs);

}  // namespace dmlop
