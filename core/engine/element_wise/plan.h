// SPDX-License-Identifier: Apache-2.0
// Cuts element-wise work on several views into boxes, and boxes into rows.
#pragma once

#include <array>
#include <span>

#include "core/kernels/element_wise/row.h"
#include "core/tensor/loop_nest.h"
#include "core/tensor/tensor.h"

namespace dmlop {

// Operand 0 is the output; the inputs follow.
inline constexpr size_t kElementOperands = 1 + kMaxElementInputs;
using ElementNest = LoopNest<kElementOperands>;

enum class RowKind {
  kAdjacent,  // the elements of a row are side by side
  kRepeated,  // one element serves a whole row
  kPacked,    // elements are copied into or out of a buffer, box by box
};

struct ElementPlan {
  static constexpr int64_t kBoxBytes = 1 << 14;  // for the operand with the widest elements

  ElementNest nest;                               // strides of the output decrease
  std::array<int64_t, kElementOperands> first{};  // offsets at which the loops begin
  Dims box;                                       // sizes of a box
  size_t row_loop;                                // a row comprises this loop and those inside it
  std::array<RowKind, kElementOperands> kinds;
  bool streams;  // results bypass the caches
};

ElementPlan PlanElements(std::span<const ConstTensorView> inputs, const TensorView& output);

}  // namespace dmlop
