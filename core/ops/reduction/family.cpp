// SPDX-License-Identifier: Apache-2.0
#include "core/engine/reduce/reduce_run.h"
#include "core/ops/families.h"
#include "core/ops/formula.h"
#include "core/ops/reduction/shared.h"

namespace dmlop {
namespace {

// Returns the part of the input that is reduced to a part of the output.
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

std::optional<FormulaNode> FormulaOf(const Reduction& reduction, const OperatorDesc& op,
                                     const Region& element, Formula& formula) {
  const ReductionCall call = reduction.call(op);
  const std::vector<FormulaNode> elements = formula.Elements(GroupsOf(reduction, op, element));
  return Reduced(call.function, call.takes_last, elements, formula.inputs()[0].type, formula);
}

}  // namespace dmlop

namespace dmlop::reduction {

void InferIndexType(const OperatorDesc& op, std::string_view function, Inference& infer) {
  infer.OutputType(kOutput, DataType::kUint32);
  const DataType output = *op[kOutput].data_type;
  infer.Require(kIndexTypes.Contains(output), "RED-2", {kOutput.name, std::nullopt, "DataType"},
                "{} cannot hold the index that {} gives; expected one of {}", Name(output),
                function, ToString(kIndexTypes));
}

void InferReducedSizes(const OperatorDesc& op, Inference& infer) {
  if (!CheckAxes("RED-3", "RED-4", kAxes, op, infer.tensor(kInputTensor), infer)) {
    if (op[kOutput].sizes) {
      infer.RequireSameRank("RED-1", infer.tensor(kOutput), infer.tensor(kInputTensor));
    }
    return;
  }
  Sizes sizes = op.sizes(kInputTensor);
  for (const uint32_t axis : op[kAxes]) sizes[axis] = 1;
  infer.Output("RED-1", kOutput, sizes);
}

}  // namespace dmlop::reduction
