// SPDX-License-Identifier: Apache-2.0
// DML_AVERAGE_POOLING_OPERATOR_DESC and DML_AVERAGE_POOLING1_OPERATOR_DESC: divides the sum of the
// present taps of each window by their number or, with IncludePadding, by that of the taps in the
// input and in the padding. Taps beyond the padding never count.
#include "core/engine/window/pool_sum.h"
#include "core/ops/hardware_tolerance.h"
#include "core/ops/window/shared.h"

namespace dmlop::pool_average {
namespace {

using namespace pooling;

constexpr const Field* kFields[] = {&kInputTensor, &kOutputTensor,  &kDimensionCount,
                                    &kStrides,     &kWindowSize,    &kStartPadding,
                                    &kEndPadding,  &kIncludePadding};
constexpr const Field* kFields1[] = {&kInputTensor, &kOutputTensor, &kDimensionCount,
                                     &kStrides,     &kWindowSize,   &kStartPadding,
                                     &kEndPadding,  &kDilations,    &kIncludePadding};
constexpr SupportRow kRows[] = {{Level(1, 0), 4, 5, {types::kFloats}}};
constexpr SupportRow kRows1[] = {{Level(6, 2), 4, 5, {types::kFloats}}};
constexpr SupportTable kSupport[] = {{kRows}};
constexpr SupportTable kSupport1[] = {{kRows1}};
constexpr Rule kRules[] = {kCounts, kNoZeros, kSameBatches, kPooledSizes, kFit};

void Run(const OperatorDesc& op, InputViews inputs, const Dims& begin, OutputViews outputs) {
  const PoolSum average = op[kIncludePadding] ? PoolSum::kPaddedAverage : PoolSum::kAverage;
  SumWindows({average}, DimsOf(op, kInputTensor), inputs[0], begin, outputs[0]);
}

std::vector<SourceMap> Sources(const OperatorDesc& op) {
  return WindowSources(DimsOf(op, kInputTensor), 0);
}

FormulaNode Meaning(const OperatorDesc& op, const Region& element, Formula& formula) {
  const PoolDims dims = DimsOf(op, kInputTensor);
  const FormulaNode sum =
      formula.Named("sum", formula.Sum(PresentTapsAt(dims, element.begin, formula)));
  return formula.Quotient(sum, NamedTapCount(dims, op[kIncludePadding], element.begin, formula));
}

// The same as for REDUCE over a window.
Tolerance HardwareTolerance(const OperatorDesc& op) {
  return UlpOfSum(op[kWindowSize], 1, 2);
}

constexpr OperatorInfo kOperators[] = {
    {.name = "AVERAGE_POOLING",
     .summary = "the average of each window",
     .fields = kFields,
     .support = kSupport,
     .type_rule = "POOL-1",
     .rules = kRules,
     .infer = InferPooling,
     .family = Computed{.run = Run, .sources = Sources, .formula = Meaning},
     .hardware_tolerance = HardwareTolerance},
    {.name = "AVERAGE_POOLING1",
     .summary = "the average of each window with gaps",
     .fields = kFields1,
     .support = kSupport1,
     .type_rule = "POOL-1",
     .rules = kRules,
     .infer = InferPooling,
     .family = Computed{.run = Run, .sources = Sources, .formula = Meaning},
     .hardware_tolerance = HardwareTolerance},
};

}  // namespace

std::span<const OperatorInfo> Operators() {
  return kOperators;
}

}  // namespace dmlop::pool_average
