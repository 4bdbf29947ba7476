#include "core/ops/unfold_geometry.h"

#include <utility>

namespace dmlop {
UnfoldGeometry::UnfoldGeometry(std::vector<UnfoldDim> dims, const ConstTensorView& input,
                               const TensorView& output)
    : input_(input),
      output_(output),
      width_(static_cast<int64_t>(ByteWidth(input.type))),
      dims_(std::move(dims)) {
  // A line is an image of one row.
  if (dims_.size() == 1) dims_.insert(dims_.begin(), {1, 1, 1, 1, 1, 0, 0});
}

int64_t UnfoldGeometry::tap_count() const {
  int64_t count = 1;
  for (const UnfoldDim& dim : dims_) count *= dim.window;
  return count;
}

int64_t UnfoldGeometry::tap_pitch() const {
  return output_.layout.strides[output_.layout.rank() - 2] * width_;
}

Dims UnfoldGeometry::loops() const {
  Dims loops = {input_.layout.sizes[0], input_.layout.sizes[1]};
  for (const UnfoldDim& dim : dims_) loops.push_back(dim.window);
  for (size_t d = 0; d + 2 < dims_.size(); ++d) loops.push_back(dims_[d].blocks);
  return loops;
}

UnfoldPlace UnfoldGeometry::PlaceAt(const Dims& index) const {
  const int64_t* taps = index.begin() + 2;
  return {index[0], index[1], taps, taps + dims_.size()};
}

const std::byte* UnfoldGeometry::Channel(const UnfoldPlace& place) const {
  const Dims& from = input_.layout.strides;
  return input_.data + (place.n * from[0] + place.channel * from[1]) * width_;
}

std::byte* UnfoldGeometry::OutputPlane(const UnfoldPlace& place) const {
  int64_t tap = place.channel;
  for (size_t d = 0; d < dims_.size(); ++d) tap = tap * dims_[d].window + place.taps[d];
  int64_t block = 0;
  for (size_t d = 0; d + 2 < dims_.size(); ++d) block = block * dims_[d].blocks + place.blocks[d];
  block *= row_dim().blocks * column_dim().blocks;
  const Dims& to = output_.layout.strides;
  const size_t n = to.size() - 3;
  return output_.data + (place.n * to[n] + tap * to[n + 1] + block * to[n + 2]) * width_;
}

const std::byte* UnfoldGeometry::InputPlane(const UnfoldPlace& place) const {
  int64_t offset = 0;
  for (size_t d = 0; d + 2 < dims_.size(); ++d) {
    const int64_t position = Position(dims_[d], place.blocks[d], place.taps[d]);
    if (position < 0 || position >= dims_[d].size) return nullptr;
    offset += position * dims_[d].step;
  }
  return Channel(place) + offset * width_;
}

UnfoldGeometry::InsidePart UnfoldGeometry::InsideOf(int64_t row_tap, int64_t column_tap) const {
  const Range rows = Inside(row_dim(), row_tap);
  const Range columns = Inside(column_dim(), column_tap);
  return {rows, columns, Position(row_dim(), rows.begin, row_tap),
          Position(column_dim(), columns.begin, column_tap)};
}

std::span<const std::byte> UnfoldGeometry::PackedInput(const std::byte* from, int64_t bytes) const {
  if (!IsPacked(input_.layout)) return {};
  const int64_t left = input_.data + input_.element_bytes() - from;
  return {from, static_cast<size_t>(std::clamp(bytes, int64_t{0}, left))};
}

}  // namespace dmlop
