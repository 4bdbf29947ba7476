// SPDX-License-Identifier: Apache-2.0
// The family of reductions, and its operators.
#include <string_view>

#include "core/engine/reduce/reduce_run.h"
#include "core/ops/families.h"
#include "core/ops/formula.h"
#include "core/ops/hardware_tolerance.h"
#include "core/ops/inference.h"

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
namespace {

constexpr auto kOutput = field::Output("OutputTensor", TypeVariable::kU);

constexpr DataTypeSet kIndexTypes = types::kInt64s | types::kInt32s;

// The output holds indices if `function` yields them; its type is UINT32 if left out (RED-2).
void InferIndexType(const OperatorDesc& op, std::string_view function, Inference& infer) {
  infer.OutputType(kOutput, DataType::kUint32);
  const DataType output = *op[kOutput].data_type;
  infer.Require(kIndexTypes.Contains(output), "RED-2", {kOutput.name, std::nullopt, "DataType"},
                "{} cannot hold the index that {} gives; expected one of {}", Name(output),
                function, ToString(kIndexTypes));
}

// The output's sizes are 1 on Axes and otherwise those of the input (RED-1, RED-3, RED-4).
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

// --- ARGMIN and ARGMAX ---------------------------------------------------------------------------

// DML_ARGMIN_OPERATOR_DESC and DML_ARGMAX_OPERATOR_DESC: like REDUCE, but of equal elements either
// the first or the last can be chosen.

constexpr auto kArgFields = Fields(kInputTensor, kOutput, kAxisCount, kAxes, kAxisDirection);

void InferArg(const OperatorDesc& op, Inference& infer) {
  InferIndexType(op, op.name(), infer);
  InferReducedSizes(op, infer);
}

template <ReduceFunction kFunction>
ReductionCall ArgCall(const OperatorDesc& op) {
  return {kFunction, op[kAxes], op[kAxisDirection] == 1};
}

// --- REDUCE --------------------------------------------------------------------------------------

// DML_REDUCE_OPERATOR_DESC: applies a function to the elements along some axes, which get size 1;
// see functions.h.

constexpr auto kFunction =
    field::Enum("Function", {.prefix = "DML_REDUCE_FUNCTION_", .names = kReduceFunctionNames});
constexpr auto kReduceFields = Fields(kFunction, kInputTensor, kOutput, kAxisCount, kAxes);

ReduceFunction FunctionOf(const OperatorDesc& op) {
  return static_cast<ReduceFunction>(op[kFunction]);
}

void InferType(const OperatorDesc& op, Inference& infer) {
  if (GivesIndex(FunctionOf(op))) return InferIndexType(op, Name(FunctionOf(op)), infer);
  const DataType input = *op[kInputTensor].data_type;
  infer.OutputType(kOutput, input);
  const DataType output = *op[kOutput].data_type;
  infer.Require(output == input, "RED-2", {kOutput.name, std::nullopt, "DataType"},
                "{} does not match {} of InputTensor", Name(output), Name(input));
}

void InferReduce(const OperatorDesc& op, Inference& infer) {
  InferType(op, infer);
  InferReducedSizes(op, infer);
}

ReductionCall ReduceCall(const OperatorDesc& op) {
  return {FunctionOf(op), op[kAxes]};
}

Tolerance HardwareTolerance(const OperatorDesc& op) {
  if (!HasFloats(op)) return {};
  std::vector<uint32_t> counts;
  for (const uint32_t axis : op[kAxes]) counts.push_back(op.sizes(kInputTensor)[axis]);
  switch (FunctionOf(op)) {
    case ReduceFunction::kArgMax:
    case ReduceFunction::kArgMin:
    case ReduceFunction::kMax:
    case ReduceFunction::kMin:
      return {};
    case ReduceFunction::kL1:
    case ReduceFunction::kMultiply:
    case ReduceFunction::kSum:
      return UlpOfSum(counts, 1, 0);
    case ReduceFunction::kSumSquare:
      return UlpOfSum(counts, 2, 0);
    case ReduceFunction::kAverage:
      return UlpOfSum(counts, 1, 2);
    case ReduceFunction::kL2:
      return UlpOfSum(counts, 2, 1);
    case ReduceFunction::kLogSum:
      return UlpOfSum(counts, 1, 18);
    case ReduceFunction::kLogSumExp:
      return UlpOfSum(counts, 2, 18);
  }
  return {};
}

constexpr OperatorInfo kOperators[] = {
    OperatorRow("ARGMAX", {kArgFields, "RED-2", InferArg},
                Reduction{ArgCall<ReduceFunction::kArgMax>}),
    OperatorRow("ARGMIN", {kArgFields, "RED-2", InferArg},
                Reduction{ArgCall<ReduceFunction::kArgMin>}),
    OperatorRow("REDUCE", {kReduceFields, "RED-2", InferReduce}, Reduction{ReduceCall},
                {.hardware_tolerance = HardwareTolerance}),
};

}  // namespace

extern const std::span<const OperatorInfo> kOperatorRows = kOperators;

}  // namespace dmlop::reduction
