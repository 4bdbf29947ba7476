// SPDX-License-Identifier: Apache-2.0

#include "core/engine/copy/copy_views.h"
#include "core/engine/fill/diagonal_band.h"
#include "core/ops/families.h"
#include "core/ops/movement/affine_move.h"

namespace dmlop {
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
