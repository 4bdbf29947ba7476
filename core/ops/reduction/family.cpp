#include "core/engine/reduce/reduce_run.h"
#include "core/ops/families.h"

namespace dmlop {
namespace {

// The inputs' part that becomes a part of the output.
Region GroupsOf(const Reduction& reduction, const OperatorDesc& op, Region part) {
  const std::vector<uint32_t>& input_sizes = *TensorSlots(op).front().desc->sizes;
  part.tensor = 0;
  for (const uint32_t axis : reduction.call(op).axes) part.sizes[axis] = input_sizes[axis];
  return part;
}

}  // namespace

void Run(const Reduction& reduction, const OperatorDesc& op, InputViews inputs,
         OutputViews outputs) {
  Reduce(reduction.call(op), inputs[0], outputs[0]);
}

std::vector<SourceMap> SourcesOf(const Reduction& reduction, const OperatorDesc& op) {
  return {[reduction, &op](const Region& output) { return GroupsOf(reduction, op, output); }};
}

void RunPart(const Reduction& reduction, const OperatorDesc& op, InputViews inputs,
             const Region& part, const TensorView& output) {
  Reduce(reduction.call(op), Narrowed(inputs[0], GroupsOf(reduction, op, part)), output);
}

}  // namespace dmlop
