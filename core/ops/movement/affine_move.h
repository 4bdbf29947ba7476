// A move by the indices of its tensors, without their memory: which element becomes which.
#pragma once

#include <optional>
#include <vector>

#include "core/ops/operator.h"

namespace dmlop {

// Index d of the move runs from 0 to `size` - 1 and steps along one axis of each tensor.
struct MoveDim {
  int64_t size;
  size_t from_axis, to_axis;
  int64_t from_step, to_step;  // from_step 0: the same element again
};

// Indices of a move from `first` to `last` along each dimension.
struct MoveBox {
  Dims first, last;
};

struct AffineMove {
  size_t input, output;
  Dims from_begin, to_begin;  // the elements at index 0, 0, ...
  std::vector<MoveDim> dims;

  // The smallest box with all indices that lead into a region of the output; for one element, that
  // of its index alone. Empty where there are none.
  std::optional<MoveBox> Reaching(const Region& region) const;

  // The same as boxes that lead nowhere else.
  std::vector<MoveBox> BoxesWithin(const Region& region) const;

  // The smallest region of the input that a box leads from.
  Region SourceOf(const MoveBox& box) const;
};

// Views with the sizes of the operator's tensors, which lie in no memory: only distances within a
// tensor mean something.
struct IndexViews {
  explicit IndexViews(const OperatorDesc& op);

  std::vector<ConstTensorView> inputs;
  std::vector<TensorView> outputs;
};

// The moves of an operator, as it makes them of views.
std::vector<AffineMove> AffineMoves(const Movement& movement, const OperatorDesc& op);
AffineMove AffineMoveOf(const TensorMove& move, const IndexViews& views);

}  // namespace dmlop
