// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <optional>
#include <vector>

#include "core/base/integers.h"
#include "core/engine/copy/copy_views.h"
#include "core/engine/fill/diagonal_band.h"
#include "core/ops/families.h"
#include "core/ops/operator.h"

namespace dmlop {

// --- moves by indices ----------------------------------------------------------------------------

// A move in terms of the indices of its tensors, without their memory.

// Index d of the move runs from 0 to `size` - 1 and steps along one axis in each tensor.
struct MoveDim {
  int64_t size;
  size_t from_axis, to_axis;
  int64_t from_step, to_step;  // from_step 0: the same element is repeated
};

// The indices of a move from `first` to `last` along each dimension.
struct MoveBox {
  Dims first, last;
};

struct AffineMove {
  size_t input, output;
  Dims from_begin, to_begin;  // the elements at index 0, 0, ...
  std::vector<MoveDim> dims;

  // Returns the smallest box that has all indices that lead into a region of the output, which is
  // exact for a single element; empty if there are none.
  std::optional<MoveBox> Reaching(const Region& region) const;

  // Returns those indices as boxes that have no others.
  std::vector<MoveBox> BoxesWithin(const Region& region) const;

  // Returns the smallest region of the input that has all elements that a box reads.
  Region SourceOf(const MoveBox& box) const;
};

// Views of the operator's tensors without memory. Only distances within a tensor have a meaning.
struct IndexViews {
  explicit IndexViews(const OperatorDesc& op);

  std::vector<ConstTensorView> inputs;
  std::vector<TensorView> outputs;
};

// Builds the moves of an operator from its moves of IndexViews.
std::vector<AffineMove> AffineMoves(const Movement& movement, const OperatorDesc& op);
AffineMove AffineMoveOf(const TensorMove& move, const IndexViews& views);

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

namespace {

std::optional<ElementBytes> FillOf(const Movement& movement, const OperatorDesc& op) {
  return movement.fill != nullptr ? movement.fill(op) : std::nullopt;
}

// Returns a move that writes the value to every element. The value must outlive it.
Move FillMove(const ElementBytes& value, const TensorView& output) {
  const Dims& sizes = output.layout.sizes;
  return {{value.data(), output.type, {sizes, Dims::Filled(sizes.size(), 0)}}, output};
}

void Fill(const Movement& movement, const OperatorDesc& op, const TensorView& output) {
  if (const auto value = FillOf(movement, op)) FillView(*value, output);
}

// Returns the region of the output that a move writes, if it writes all of it in order.
std::optional<Region> BoxOf(const AffineMove& move) {
  Region box{move.output, move.to_begin, Dims::Filled(move.to_begin.size(), 1)};
  for (const MoveDim& dim : move.dims) {
    if (dim.to_step != 1 || box.sizes[dim.to_axis] != 1) return std::nullopt;
    box.sizes[dim.to_axis] = dim.size;
  }
  return box;
}

// Fills the surroundings of a box: what lies before and behind it along each axis in turn.
void FillAround(const Region& box, const ElementBytes& value, TensorView rest,
                std::vector<Move>& moves) {
  for (size_t axis = 0; axis < box.begin.size(); ++axis) {
    const int64_t begin = box.begin[axis];
    const int64_t end = begin + box.sizes[axis];
    const int64_t size = rest.layout.sizes[axis];
    if (begin > 0) moves.push_back(FillMove(value, rest.Slice(axis, 0, begin)));
    if (end < size) moves.push_back(FillMove(value, rest.Slice(axis, end, size - end)));
    rest = rest.Slice(axis, begin, box.sizes[axis]);
  }
}

// Returns the copy that a box of a move makes into a part of its output; `output` views that part.
Move CopyOf(const AffineMove& move, const MoveBox& box, ConstTensorView from, const Region& part,
            const TensorView& output) {
  TensorView to = output;
  to.layout = {};
  const auto advance = [&](size_t axis, int64_t count) {
    to.data += count * output.layout.strides[axis] * static_cast<int64_t>(ByteWidth(output.type));
  };
  for (size_t axis = 0; axis < part.begin.size(); ++axis) {
    advance(axis, move.to_begin[axis] - part.begin[axis]);
  }
  for (size_t d = 0; d < move.dims.size(); ++d) {
    const MoveDim& dim = move.dims[d];
    const int64_t size = box.last[d] - box.first[d] + 1;
    advance(dim.to_axis, box.first[d] * dim.to_step);
    to.layout.sizes.push_back(size);
    to.layout.strides.push_back(dim.to_step * output.layout.strides[dim.to_axis]);
    from = from.Slice(d, box.first[d], size);
  }
  return {from, to};
}

// Overwrites the part of the output with the band.
void Cover(const Movement& movement, const OperatorDesc& op, const Dims& begin,
           const TensorView& part) {
  if (movement.band == nullptr) return;
  const size_t rank = begin.size();
  FillBand(movement.band(op), begin[rank - 2], begin[rank - 1], part);
}

bool IsCovered(const Movement& movement, const OperatorDesc& op, const Region& output) {
  if (movement.band == nullptr || output.count() > 1) return false;
  const size_t rank = output.begin.size();
  return movement.band(op).Has(output.begin[rank - 2], output.begin[rank - 1]);
}

// Fills and moves. If there is a single move to a box, the box is not filled first.
void MoveAll(const Movement& movement, const OperatorDesc& op, InputViews inputs,
             OutputViews outputs) {
  const auto value = FillOf(movement, op);
  std::vector<Move> copies;
  if (movement.moves != nullptr) {
    for (const TensorMove& move : movement.moves(op, inputs, outputs)) {
      copies.push_back({move.from, move.to});
    }
  }
  if (value) {
    const auto box =
        copies.size() == 1 ? BoxOf(AffineMoves(movement, op).front()) : std::optional<Region>();
    if (box) {
      FillAround(*box, *value, outputs[0], copies);
    } else {
      for (const TensorView& output : outputs) Fill(movement, op, output);
    }
  }
  CopyAll(copies);
}

// Removes dimensions of size 1, as AffineMove does.
ConstTensorView Squeezed(const ConstTensorView& view) {
  ConstTensorView squeezed{view.data, view.type, {}};
  for (size_t d = 0; d < view.layout.rank(); ++d) {
    if (view.layout.sizes[d] == 1) continue;
    squeezed.layout.sizes.push_back(view.layout.sizes[d]);
    squeezed.layout.strides.push_back(view.layout.strides[d]);
  }
  return squeezed;
}

// Performs the moves into a part of an output; `output` views that part.
void MovePart(const Movement& movement, const OperatorDesc& op, InputViews inputs,
              const Region& part, const TensorView& output) {
  if (movement.moves == nullptr) return;
  const IndexViews views(op);
  const std::vector<TensorMove> places = movement.moves(op, views.inputs, views.outputs);
  // Absent inputs have no sizes, but the places of other inputs depend on these.
  std::vector<ConstTensorView> known(inputs.begin(), inputs.end());
  for (size_t i = 0; i < known.size(); ++i) {
    if (known[i].data == nullptr) known[i] = views.inputs[i];
  }
  const std::vector<TensorMove> moves = movement.moves(op, known, views.outputs);
  std::vector<Move> copies;
  for (size_t i = 0; i < moves.size(); ++i) {
    if (moves[i].output != part.tensor) continue;
    const AffineMove move = AffineMoveOf(places[i], views);
    const ConstTensorView from = Squeezed(moves[i].from);
    for (const MoveBox& box : move.BoxesWithin(part)) {
      copies.push_back(CopyOf(move, box, from, part, output));
    }
  }
  CopyAll(copies);
}

}  // namespace

void Run(const Movement& movement, const OperatorDesc& op, InputViews inputs, OutputViews outputs) {
  if (movement.run != nullptr) return movement.run(op, inputs, outputs);
  MoveAll(movement, op, inputs, outputs);
  for (const TensorView& output : outputs) {
    Cover(movement, op, Dims::Filled(output.layout.rank(), 0), output);
  }
}

std::vector<SourceMap> SourcesOf(const Movement& movement, const OperatorDesc& op) {
  std::vector<SourceMap> maps;
  for (AffineMove& move : AffineMoves(movement, op)) {
    maps.push_back([&, move = std::move(move)](const Region& output) -> std::optional<Region> {
      if (move.output != output.tensor || IsCovered(movement, op, output)) return std::nullopt;
      const auto box = move.Reaching(output);
      return box ? std::optional(move.SourceOf(*box)) : std::nullopt;
    });
  }
  return maps;
}

void RunPart(const Movement& movement, const OperatorDesc& op, InputViews inputs,
             const Region& part, const TensorView& output) {
  Fill(movement, op, output);
  MovePart(movement, op, inputs, part, output);
  Cover(movement, op, part.begin, output);
}

}  // namespace dmlop
