// SPDX-License-Identifier: Apache-2.0
#include "core/ops/movement/affine_move.h"

#include <algorithm>

#include "core/base/integers.h"

namespace dmlop {
namespace {

// A fictitious address for tensors without memory.
std::byte* Nowhere() {
  return reinterpret_cast<std::byte*>(uintptr_t{1} << 40);
}

// The axis of a packed tensor that a stride belongs to, and the number of steps along it.
struct AxisStep {
  size_t axis;
  int64_t step;
};
AxisStep AxisStepOf(const Layout& packed, int64_t stride) {
  for (size_t d = 0; d < packed.rank(); ++d) {
    if (packed.sizes[d] > 1 && packed.strides[d] <= std::abs(stride)) {
      return {d, stride / packed.strides[d]};
    }
  }
  return {0, 0};
}

template <typename View>
Dims IndexIn(const View& view, const std::byte* data) {
  return IndexOf(view.layout.sizes,
                 (data - view.data) / static_cast<int64_t>(ByteWidth(view.type)));
}

// Returns the dimensions of a move that run along one axis of the output, the longest step first.
std::vector<size_t> DimsAlong(const std::vector<MoveDim>& dims, size_t axis) {
  std::vector<size_t> along;
  for (size_t d = 0; d < dims.size(); ++d) {
    if (dims[d].to_axis == axis) along.push_back(d);
  }
  std::stable_sort(along.begin(), along.end(),
                   [&](size_t a, size_t b) { return dims[a].to_step > dims[b].to_step; });
  return along;
}

// Cuts boxes so that they reach only indices `first` to `last` of one axis.
class AxisCutter {
 public:
  AxisCutter(const std::vector<MoveDim>& dims, size_t axis)
      : dims_(dims), along_(DimsAlong(dims, axis)) {}

  std::vector<MoveBox> Cut(const MoveBox& box, int64_t first, int64_t last) {
    boxes_.clear();
    CutFrom(0, box, first, last);
    return std::move(boxes_);
  }

 private:
  void CutFrom(size_t i, MoveBox box, int64_t first, int64_t last) {
    if (i == along_.size()) {
      if (first <= 0 && 0 <= last) boxes_.push_back(box);
      return;
    }
    const size_t d = along_[i];
    const int64_t step = dims_[d].to_step;
    const int64_t reach = Reach(i + 1);
    // Indices that stay in the range with every offset of the other dimensions, or with some.
    const int64_t whole_first = std::max<int64_t>(0, CeilDiv(first, step));
    const int64_t whole_last = std::min(dims_[d].size - 1, FloorDiv(last - reach, step));
    const int64_t part_first = std::max<int64_t>(0, CeilDiv(first - reach, step));
    const int64_t part_last = std::min(dims_[d].size - 1, FloorDiv(last, step));
    for (int64_t k = part_first; k <= part_last; ++k) {
      if (k == whole_first && whole_first <= whole_last) {
        box.first[d] = whole_first;
        box.last[d] = whole_last;
        boxes_.push_back(box);
        k = whole_last;
        continue;
      }
      box.first[d] = box.last[d] = k;
      CutFrom(i + 1, box, first - k * step, last - k * step);
    }
  }

  // Returns the greatest offset that dimensions i and later add.
  int64_t Reach(size_t i) const {
    int64_t reach = 0;
    for (; i < along_.size(); ++i) {
      reach += (dims_[along_[i]].size - 1) * dims_[along_[i]].to_step;
    }
    return reach;
  }

  const std::vector<MoveDim>& dims_;
  std::vector<size_t> along_;
  std::vector<MoveBox> boxes_;
};

}  // namespace

std::vector<MoveBox> AffineMove::BoxesWithin(const Region& region) const {
  MoveBox whole;
  for (const MoveDim& dim : dims) {
    whole.first.push_back(0);
    whole.last.push_back(dim.size - 1);
  }
  std::vector<MoveBox> boxes = {whole};
  for (size_t axis = 0; axis < to_begin.size(); ++axis) {
    AxisCutter cutter(dims, axis);
    const int64_t first = region.begin[axis] - to_begin[axis];
    std::vector<MoveBox> cut;
    for (const MoveBox& box : boxes) {
      for (MoveBox& part : cutter.Cut(box, first, first + region.sizes[axis] - 1)) {
        cut.push_back(std::move(part));
      }
    }
    boxes = std::move(cut);
  }
  return boxes;
}

std::optional<MoveBox> AffineMove::Reaching(const Region& region) const {
  std::optional<MoveBox> hull;
  for (const MoveBox& box : BoxesWithin(region)) {
    if (!hull) hull = box;
    for (size_t d = 0; d < dims.size(); ++d) {
      hull->first[d] = std::min(hull->first[d], box.first[d]);
      hull->last[d] = std::max(hull->last[d], box.last[d]);
    }
  }
  return hull;
}

Region AffineMove::SourceOf(const MoveBox& box) const {
  Region region{input, from_begin, Dims::Filled(from_begin.size(), 1)};
  for (size_t d = 0; d < dims.size(); ++d) {
    const MoveDim& dim = dims[d];
    const int64_t lowest = std::min(box.first[d] * dim.from_step, box.last[d] * dim.from_step);
    region.begin[dim.from_axis] += lowest;
    region.sizes[dim.from_axis] += (box.last[d] - box.first[d]) * std::abs(dim.from_step);
  }
  return region;
}

IndexViews::IndexViews(const OperatorDesc& op) {
  for (const TensorSlot& slot : TensorSlots(op)) {
    const Layout layout = PackedLayout(Dims(slot.desc->sizes->begin(), slot.desc->sizes->end()));
    if (slot.role() == TensorRole::kInput) {
      inputs.push_back({Nowhere(), *slot.desc->data_type, layout});
    } else {
      outputs.push_back({Nowhere(), *slot.desc->data_type, layout});
    }
  }
}

AffineMove AffineMoveOf(const TensorMove& move, const IndexViews& views) {
  const ConstTensorView& input = views.inputs[move.input];
  const TensorView& output = views.outputs[move.output];
  AffineMove affine{
      move.input, move.output, IndexIn(input, move.from.data), IndexIn(output, move.to.data), {}};
  for (size_t d = 0; d < move.to.layout.rank(); ++d) {
    if (move.to.layout.sizes[d] == 1) continue;
    const AxisStep from = AxisStepOf(input.layout, move.from.layout.strides[d]);
    const AxisStep to = AxisStepOf(output.layout, move.to.layout.strides[d]);
    affine.dims.push_back({move.to.layout.sizes[d], from.axis, to.axis, from.step, to.step});
  }
  return affine;
}

std::vector<AffineMove> AffineMoves(const Movement& movement, const OperatorDesc& op) {
  std::vector<AffineMove> affine;
  if (movement.moves == nullptr) return affine;
  const IndexViews views(op);
  for (const TensorMove& move : movement.moves(op, views.inputs, views.outputs)) {
    affine.push_back(AffineMoveOf(move, views));
  }
  return affine;
}

}  // namespace dmlop
