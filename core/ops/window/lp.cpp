// SPDX-License-Identifier: Apache-2.0
// DML_LP_POOLING_OPERATOR_DESC and DML_LP_POOLING1_OPERATOR_DESC: the norm of each window, that is,
// the P-th root of the sum of the P-th powers of magnitudes.
#include <cmath>

#include "core/engine/window/pool_sum.h"
#include "core/ops/hardware_tolerance.h"
#include "core/ops/window/shared.h"

namespace dmlop::pool_lp {
namespace {

using namespace pooling;

constexpr auto kP =
    field::Uint("P", {.min = 1, .rule = "CTR-5"})
        .Means("Which norm: the P-th root of the sum of the magnitudes to the power of P.");
constexpr const Field* kFields[] = {&kInputTensor, &kOutputTensor, &kDimensionCount, &kStrides,
                                    &kWindowSize,  &kStartPadding, &kEndPadding,     &kP};
constexpr const Field* kFields1[] = {&kInputTensor, &kOutputTensor, &kDimensionCount,
                                     &kStrides,     &kWindowSize,   &kStartPadding,
                                     &kEndPadding,  &kDilations,    &kP};
constexpr SupportRow kRows[] = {{Level(1, 0), 4, 5, {types::kFloats}}};
constexpr SupportRow kRows1[] = {{Level(6, 2), 4, 5, {types::kFloats}}};
constexpr SupportTable kSupport[] = {{kRows}};
constexpr SupportTable kSupport1[] = {{kRows1}};
constexpr Rule kRules[] = {kCounts, kNoZeros, kSameBatches, kPooledSizes, kFit};

PoolSumCall CallOf(const OperatorDesc& op) {
  const uint32_t power = op[kP];
  if (power <= 2) return {power == 1 ? PoolSum::kL1 : PoolSum::kL2};
  return {PoolSum::kNorm, power};
}

void Run(const OperatorDesc& op, InputViews inputs, const Dims& begin, OutputViews outputs) {
  SumWindows(CallOf(op), DimsOf(op, kInputTensor), inputs[0], begin, outputs[0]);
}

std::vector<SourceMap> Sources(const OperatorDesc& op) {
  return WindowSources(DimsOf(op, kInputTensor), 0);
}

std::vector<FormulaNode> MagnitudesOf(std::span<const FormulaNode> taps, Formula& formula) {
  return formula.Each(
      taps, [&](FormulaNode x) { return formula.Apply(FormulaOperation::kMagnitude, {x}); });
}

// Returns the P-th root of a sum of P-th powers. The greatest magnitude is factored out if it is
// neither 0 nor infinite, so that no power overflows.
FormulaNode NormOf(std::span<const FormulaNode> taps, uint32_t power, Formula& formula) {
  using enum FormulaOperation;
  double most = 0;
  for (const FormulaNode x : taps) most = std::fmax(most, std::fabs(formula.ValueOf(x)));
  const std::vector<FormulaNode> magnitudes = MagnitudesOf(taps, formula);
  std::optional<FormulaNode> greatest;
  if (most > 0 && std::isfinite(most)) {
    greatest = formula.Named("greatest magnitude", formula.Apply(kMaximum, magnitudes));
  }
  const FormulaNode exponent = formula.Number(static_cast<double>(power));
  const auto raised = [&](FormulaNode x) {
    return formula.Apply(kPower, {greatest ? formula.Quotient(x, *greatest) : x, exponent});
  };
  const FormulaNode sum =
      formula.Named("sum of powers", formula.Sum(formula.Each(magnitudes, raised)));
  const FormulaNode one = formula.Number(1.0);
  const FormulaNode root = formula.Apply(kPower, {sum, formula.Quotient(one, exponent)});
  return greatest ? formula.Product({*greatest, root}) : root;
}

FormulaNode Meaning(const OperatorDesc& op, const Region& element, Formula& formula) {
  using enum FormulaOperation;
  const std::vector<FormulaNode> taps =
      PresentTapsAt(DimsOf(op, kInputTensor), element.begin, formula);
  if (op[kP] > 2) return NormOf(taps, op[kP], formula);
  if (op[kP] == 1) {
    return formula.Named("sum of magnitudes", formula.Sum(MagnitudesOf(taps, formula)));
  }
  const auto square = [&](FormulaNode x) { return formula.Apply(kSquare, {x}); };
  const FormulaNode sum = formula.Named("sum of squares", formula.Sum(formula.Each(taps, square)));
  return formula.Apply(kSquareRoot, {sum});
}

// The same as for REDUCE over a window.
Tolerance HardwareTolerance(const OperatorDesc& op) {
  return op[kP] == 2 ? UlpOfSum(op[kWindowSize], 1, 2) : Tolerance{};
}

constexpr OperatorInfo kOperators[] = {
    {.name = "LP_POOLING",
     .summary = "the norm of each window",
     .fields = kFields,
     .support = kSupport,
     .type_rule = "POOL-1",
     .rules = kRules,
     .infer = InferPooling,
     .family = Computed{.run = Run, .sources = Sources, .formula = Meaning},
     .hardware_tolerance = HardwareTolerance},
    {.name = "LP_POOLING1",
     .summary = "the norm of each window with gaps",
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

}  // namespace dmlop::pool_lp
