// SPDX-License-Identifier: Apache-2.0
// A move in terms of the indices of its tensors, without their memory.
#pragma once

#include <optional>
#include <vector>

#include "core/ops/operator.h"

namespace dmlop {

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

}  // namespace dmlop
