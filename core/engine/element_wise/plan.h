// How element-wise work on several views is cut into boxes, and boxes into rows.
#pragma once

#include <array>
#include <span>

#include "core/kernels/element_wise/row.h"
#include "core/tensor/loop_nest.h"
#include "core/tensor/tensor.h"

namespace dmlop {

// The output, then the inputs.
inline constexpr size_t kElementOperands = 1 + kMaxElementInputs;
using ElementNest = LoopNest<kElementOperands>;

enum class RowKind {
  kAdjacent,  // the elements of each row are side by side
  kRepeated,  // each row has one
  kPacked,    // they are moved, box by box, from or to where they are
};

struct ElementPlan {
  static constexpr int64_t kBoxBytes = 1 << 14;  // of the operand with the widest elements

  ElementNest nest;                               // with falling strides of the output
  std::array<int64_t, kElementOperands> first{};  // offsets of the elements where the loops begin
  Dims box;                                       // sizes
  size_t row_loop;                                // a row is this loop and those inside it
  std::array<RowKind, kElementOperands> kinds;
  bool streams;  // past the caches
};

ElementPlan PlanElements(std::span<const ConstTensorView> inputs, const TensorView& output);

}  // namespace dmlop
