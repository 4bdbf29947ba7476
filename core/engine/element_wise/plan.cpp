// SPDX-License-Identifier: Apache-2.0
#include "core/engine/element_wise/row_pipeline.h"

#include <algorithm>
#include <cstdlib>

namespace dmlop {
namespace {

constexpr size_t kOutput = 0;

// Shorter rows (in elements) are put side by side if that makes a box one row.
constexpr int64_t kLongRow = 1 << 10;

// Number of elements in a box that is computed in place.
constexpr int64_t kLongBox = 1 << 15;

// Shorter runs do not fill whole lines.
constexpr int64_t kStreamedRunBytes = 1 << 7;

ElementNest NestOf(std::span<const ConstTensorView> inputs, const TensorView& output) {
  ElementNest nest;
  nest.sizes = output.layout.sizes;
  nest.strides.fill(output.layout.strides);
  for (size_t k = 0; k < inputs.size(); ++k) nest.strides[k + 1] = inputs[k].layout.strides;
  return nest;
}

// Reverses loops with a negative stride of the output, so that it is walked upward.
void TurnUpward(ElementPlan& plan) {
  ElementNest& nest = plan.nest;
  for (size_t d = 0; d < nest.rank(); ++d) {
    if (nest.strides[kOutput][d] >= 0) continue;
    for (size_t k = 0; k < kElementOperands; ++k) {
      plan.first[k] += (nest.sizes[d] - 1) * nest.strides[k][d];
      nest.strides[k][d] = -nest.strides[k][d];
    }
  }
}

int64_t Distance(const ElementNest& nest, size_t operand, size_t loop) {
  return std::abs(nest.strides[operand][loop]);
}

// The loop of an operand's smallest stride.
size_t NearestLoop(const ElementNest& nest, size_t operand) {
  size_t nearest = nest.rank() - 1;
  for (size_t d = nest.rank(); d-- > 0;) {
    const int64_t distance = Distance(nest, operand, d);
    if (distance != 0 && distance < Distance(nest, operand, nearest)) nearest = d;
  }
  return nearest;
}

// The box grows along the output's lines, and as far along those of transposed inputs.
Dims GrowBox(const ElementNest& nest, int64_t capacity) {
  const size_t last = nest.rank() - 1;
  Dims box = Dims::Filled(nest.rank(), 1);
  int64_t elements = 1;
  const auto grow = [&](size_t loop, int64_t limit) {
    const int64_t size = std::min({limit, nest.sizes[loop], capacity / (elements / box[loop])});
    elements = elements / box[loop] * size;
    box[loop] = size;
  };
  int64_t side = 1;
  while (side * side < capacity) side *= 2;
  for (size_t k = 1; k < kElementOperands; ++k) {
    const size_t loop = NearestLoop(nest, k);
    if (loop != last && box[loop] == 1) {
      grow(last, side);
      grow(loop, side);
    }
  }
  for (size_t d = nest.rank(); d-- > 0;) grow(d, capacity);
  return box;
}

// True if the loops of a box from `row_loop` on lead from each element to the adjacent one.
bool IsAdjacent(const ElementPlan& plan, size_t operand) {
  int64_t run = 1;
  for (size_t d = plan.nest.rank(); d-- > plan.row_loop;) {
    if (plan.box[d] != 1 && plan.nest.strides[operand][d] != run) return false;
    run *= plan.box[d];
  }
  return true;
}

bool IsRepeated(const ElementPlan& plan, size_t operand) {
  for (size_t d = plan.row_loop; d < plan.nest.rank(); ++d) {
    if (plan.box[d] != 1 && plan.nest.strides[operand][d] != 0) return false;
  }
  return true;
}

RowKind KindOf(const ElementPlan& plan, size_t operand) {
  if (IsAdjacent(plan, operand)) return RowKind::kAdjacent;
  return operand != kOutput && IsRepeated(plan, operand) ? RowKind::kRepeated : RowKind::kPacked;
}

void SetKinds(ElementPlan& plan) {
  for (size_t k = 0; k < kElementOperands; ++k) plan.kinds[k] = KindOf(plan, k);
}

bool PacksNothing(const ElementPlan& plan) {
  return std::count(plan.kinds.begin(), plan.kinds.end(), RowKind::kPacked) == 0;
}

}  // namespace

ElementPlan PlanElements(std::span<const ConstTensorView> inputs, const TensorView& output) {
  ElementPlan plan;
  plan.nest = NestOf(inputs, output);
  TurnUpward(plan);
  plan.nest = Merged(SortedByStride(Merged(plan.nest), kOutput));
  if (plan.nest.rank() == 0) plan.nest.Push(1, {1, 1, 1, 1});
  const Dims& sizes = plan.nest.sizes;
  const size_t last = sizes.size() - 1;

  // If rows along the last loop are long and no operand needs packing, they are computed in place.
  plan.box = sizes;
  plan.row_loop = last;
  SetKinds(plan);
  if ((sizes[last] >= kLongRow || last == 0) && PacksNothing(plan)) {
    plan.box = Dims::Filled(sizes.size(), 1);
    int64_t elements = 1;
    for (size_t d = sizes.size(); d-- > 0;) {
      plan.box[d] = std::min(sizes[d], std::max<int64_t>(1, kLongBox / elements));
      elements *= plan.box[d];
    }
  } else {
    size_t width = ByteWidth(output.type);
    for (const ConstTensorView& input : inputs) width = std::max(width, ByteWidth(input.type));
    plan.box = GrowBox(plan.nest, ElementPlan::kBoxBytes / static_cast<int64_t>(width));
    if (plan.box[last] < kLongRow) plan.row_loop = 0;
    SetKinds(plan);
  }
  int64_t run = 1;
  for (size_t d = plan.row_loop; d < sizes.size(); ++d) run *= plan.box[d];
  plan.streams = output.element_bytes() >= kStreamBytes &&
                 plan.kinds[kOutput] == RowKind::kAdjacent &&
                 run * static_cast<int64_t>(ByteWidth(output.type)) >= kStreamedRunBytes;
  return plan;
}

}  // namespace dmlop
