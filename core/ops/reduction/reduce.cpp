// SPDX-License-Identifier: Apache-2.0
// DML_REDUCE_OPERATOR_DESC: applies a function to the elements along some axes, which get size 1;
// see functions.h.
#include "core/ops/hardware_tolerance.h"
#include "core/ops/reduction/shared.h"

namespace dmlop::reduce {
namespace {

using namespace reduction;

constexpr auto kFunction =
    field::Enum("Function", {.prefix = "DML_REDUCE_FUNCTION_", .names = kReduceFunctionNames});
constexpr const Field* kFields[] = {&kFunction, &kInputTensor, &kOutput, &kAxisCount, &kAxes};

constexpr DataTypeSet kFloatsAnd32 = types::kFloats | types::kInt32s;
constexpr DataTypeSet kFloatsAnd32To64 = kFloatsAnd32 | types::kInt64s;
constexpr DataTypeSet kUint32 = {DataType::kUint32};

constexpr SupportRow kArgRows[] = {
    {Level(1, 0), 4, 4, {types::kFloats, kUint32}},
    {Level(2, 1), 4, 4, {types::kUpTo32, kUint32}},
    {Level(3, 0), 1, 8, {types::kUpTo32, kIndexTypes}},
    {Level(4, 1), 1, 8, {types::kUpTo32 | types::kInt64s, kIndexTypes}},
};
constexpr SupportRow kFloatOnlyRows[] = {
    {Level(1, 0), 4, 4, {types::kFloats}},
    {Level(3, 0), 1, 8, {types::kFloats}},
};
constexpr SupportRow kNormRows[] = {
    {Level(1, 0), 4, 4, {types::kFloats}},
    {Level(3, 0), 1, 8, {types::kFloats}},
    {Level(5, 0), 1, 8, {kFloatsAnd32To64}},
};
constexpr SupportRow kMinMaxRows[] = {
    {Level(1, 0), 4, 4, {types::kFloats}},
    {Level(2, 1), 4, 4, {kFloatsAnd32}},
    {Level(3, 0), 1, 8, {types::kUpTo32}},
    {Level(5, 0), 1, 8, {types::kUpTo32 | types::kInt64s}},
};
constexpr SupportRow kSumRows[] = {
    {Level(1, 0), 4, 4, {types::kFloats}},
    {Level(2, 1), 4, 4, {kFloatsAnd32}},
    {Level(3, 0), 1, 8, {kFloatsAnd32}},
    {Level(5, 0), 1, 8, {kFloatsAnd32To64}},
};

template <typename... Functions>
constexpr uint32_t SetOf(Functions... functions) {
  return ((uint32_t{1} << static_cast<uint32_t>(functions)) | ...);
}
using F = ReduceFunction;
constexpr SupportTable kSupport[] = {
    {kArgRows, &kFunction, SetOf(F::kArgMin, F::kArgMax)},
    {kFloatOnlyRows, &kFunction, SetOf(F::kAverage, F::kL2, F::kLogSum, F::kLogSumExp)},
    {kNormRows, &kFunction, SetOf(F::kL1, F::kSumSquare)},
    {kMinMaxRows, &kFunction, SetOf(F::kMin, F::kMax)},
    {kSumRows, &kFunction, SetOf(F::kMultiply, F::kSum)},
};

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

void Infer(const OperatorDesc& op, Inference& infer) {
  InferType(op, infer);
  InferReducedSizes(op, infer);
}

ReductionCall Call(const OperatorDesc& op) {
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
    OperatorRow("REDUCE", {kFields, kSupport, "RED-2", Infer}, Reduction{Call},
                {.hardware_tolerance = HardwareTolerance}),
};

}  // namespace

extern const std::span<const OperatorInfo> kOperatorRows = kOperators;

}  // namespace dmlop::reduce
