// SPDX-License-Identifier: Apache-2.0
// DML_LP_NORMALIZATION_OPERATOR_DESC: divides slices along an axis by their norms.
#include <algorithm>

#include "core/engine/normalization/normalize.h"
#include "core/ops/normalization/shared.h"

namespace dmlop::lp_normalization {
namespace {

using namespace normalization;

constexpr auto kP = field::Uint("P", {.min = 1, .max = 2, .rule = "LPN-2"});
constexpr const Field* kFields[] = {&kInputTensor, &kOutputTensor, &kAxis, &kEpsilon, &kP};
constexpr SupportRow kRows[] = {
    {Level(1, 0), 4, 4, {types::kFloats}},
    {Level(3, 1), 1, 8, {types::kFloats}},
};

std::vector<uint32_t> AxesOf(const OperatorDesc& op) {
  return {op[kAxis]};
}

constexpr Signature kShapes = {"LPN-1", "LPN-1", kSliced, {}, AxesOf};

void Infer(const OperatorDesc& op, Inference& infer) {
  infer.RequireAxis("LPN-2", At(kAxis), op[kAxis], infer.tensor(kInputTensor));
  RequireFinite("LPN-4", kEpsilon, op, infer);
  infer.Require(!(op[kEpsilon] < 0), "LPN-4", At(kEpsilon), "{} is negative", op[kEpsilon]);
  InferShapes(kShapes, op, infer);
}

void Run(const OperatorDesc& op, InputViews inputs, OutputViews outputs) {
  // A floor of -0 becomes +0.
  const double epsilon = std::max(0.0, static_cast<double>(op[kEpsilon]));
  DivideByNorm({op[kP] == 2, epsilon}, AxesOf(op), inputs[0], outputs[0]);
}

FormulaNode Meaning(const OperatorDesc& op, const Region& element, Formula& formula) {
  using enum FormulaOperation;
  const bool squares = op[kP] == 2;
  const auto term = [&](FormulaNode x) {
    return formula.Apply(squares ? kSquare : kMagnitude, {x});
  };
  const std::vector<FormulaNode> slice = SliceAt(0, AxesOf(op), element, formula);
  FormulaNode norm =
      formula.Named(squares ? "sum of squares" : "norm", formula.Sum(formula.Each(slice, term)));
  if (squares) norm = formula.Named("norm", formula.Apply(kSquareRoot, {norm}));
  const FormulaNode epsilon = formula.Number(static_cast<double>(op[kEpsilon]));
  const FormulaNode divisor = formula.Named("divisor", formula.Apply(kAtLeast, {norm, epsilon}));
  return formula.Apply(kQuotientOrDividend, {ElementAt(0, element, formula), divisor});
}

constexpr OperatorInfo kOperators[] = {
    OperatorRow("LP_NORMALIZATION", {kFields, kSupportBy<kRows>, "LPN-1", Infer},
                Computed{.run = Run,
                         .sources = SourcesBy<kShapes>,
                         .unsplittable_dims = AxesOf,
                         .formula = Meaning}),
};

}  // namespace

extern const std::span<const OperatorInfo> kOperatorRows = kOperators;

}  // namespace dmlop::lp_normalization
