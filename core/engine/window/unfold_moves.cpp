// SPDX-License-Identifier: Apache-2.0
#include "core/engine/window/unfold.h"

#include <algorithm>

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

// Moves for the first (N, C) as views over (N, C, taps or blocks of each dimension), which cover
// all.
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

}  // namespace dmlop
