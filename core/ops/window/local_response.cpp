// SPDX-License-Identifier: Apache-2.0
// DML_LOCAL_RESPONSE_NORMALIZATION_OPERATOR_DESC and its gradient: divide elements by a power of
// the sum of squares around them.
#include "core/engine/window/local_response.h"

#include <algorithm>

#include "core/ops/formula.h"
#include "core/ops/signature.h"

namespace dmlop::local_response {
namespace {

constexpr auto kLocalSize = field::Uint("LocalSize", {.min = 1, .rule = "CTR-5"});
constexpr auto kBias = field::Float("Bias");
constexpr auto kFields =
    Fields(kInputTensor, kOutputTensor, kCrossChannel, kLocalSize, kAlpha, kBeta, kBias);
constexpr auto kGradFields = Fields(kInputTensor, kInputGradient, kOutputGradient, kCrossChannel,
                                    kLocalSize, kAlpha, kBeta, kBias);

void Infer(const OperatorDesc& op, Inference& infer) {
  InferEqualSizes(op.info().type_rule, op, infer);
}

LocalResponse ResponseOf(const OperatorDesc& op) {
  return {op[kCrossChannel], op[kLocalSize], op[kAlpha], op[kBeta], op[kBias]};
}

std::vector<uint32_t> Whole(const OperatorDesc& op) {
  return op[kCrossChannel] ? std::vector<uint32_t>{1} : std::vector<uint32_t>{2, 3};
}

// Maps to the elements of an input within `reach` of a part of the output.
SourceMap Around(const OperatorDesc& op, size_t input, WindowReach reach) {
  return [&op, input, reach](const Region& output) {
    Region region{input, output.begin, output.sizes};
    for (const uint32_t d : Whole(op)) {
      const int64_t last = op.sizes(kInputTensor)[d] - 1;
      const int64_t end = output.begin[d] + output.sizes[d] - 1;
      region.begin[d] = std::max<int64_t>(0, output.begin[d] - reach.before);
      region.sizes[d] = std::min(last, end + reach.after) - region.begin[d] + 1;
    }
    return region;
  };
}

std::vector<SourceMap> Sources(const OperatorDesc& op) {
  return {Around(op, 0, ResponseOf(op).Reach())};
}

// An element depends on those whose regions contain it, and on all elements of these regions.
std::vector<SourceMap> GradSources(const OperatorDesc& op) {
  const WindowReach reach = ResponseOf(op).Reach();
  const int64_t both = reach.before + reach.after;
  return {Around(op, 0, {both, both}), Around(op, 1, reach.Mirrored())};
}

void Run(const OperatorDesc& op, InputViews inputs, OutputViews outputs) {
  NormalizeLocalResponse(ResponseOf(op), inputs[0], outputs[0]);
}

void RunGrad(const OperatorDesc& op, InputViews inputs, OutputViews outputs) {
  LocalResponseGradient(ResponseOf(op), inputs[0], inputs[1], outputs[0]);
}

FormulaNode NumberOf(float value, Formula& formula) {
  return formula.Number(static_cast<double>(value));
}

FormulaNode SumOfSquares(const OperatorDesc& op, const Region& element, Formula& formula) {
  const auto square = [&](FormulaNode x) { return formula.Apply(FormulaOperation::kSquare, {x}); };
  const Region region = *Around(op, 0, ResponseOf(op).Reach())(element);
  return formula.Sum(formula.Each(formula.Elements(region), square));
}

// Returns Bias + Alpha / LocalSize * the sum of the squares around an element of the input.
FormulaNode BaseOf(const OperatorDesc& op, FormulaNode squares, Formula& formula) {
  const FormulaNode size = formula.Number(static_cast<double>(op[kLocalSize]));
  const FormulaNode share =
      formula.Quotient(formula.Product({NumberOf(op[kAlpha], formula), squares}), size);
  return formula.Sum({NumberOf(op[kBias], formula), share});
}

FormulaNode NamedBaseAt(const OperatorDesc& op, const Region& element, Formula& formula) {
  const FormulaNode squares = formula.Named("sum of squares", SumOfSquares(op, element, formula));
  return formula.Named("base", BaseOf(op, squares, formula));
}

FormulaNode Meaning(const OperatorDesc& op, const Region& element, Formula& formula) {
  const FormulaNode beta = NumberOf(op[kBeta], formula);
  const FormulaNode divisor = formula.Named(
      "divisor",
      formula.Apply(FormulaOperation::kPower, {NamedBaseAt(op, element, formula), beta}));
  return formula.Quotient(formula.Element({0, element.begin, element.sizes}), divisor);
}

// Returns g * x * base^(-Beta - 1) for each element whose region contains this one.
std::vector<FormulaNode> PartsAround(const OperatorDesc& op, const Region& element,
                                     Formula& formula) {
  const Region around = *Around(op, 0, ResponseOf(op).Reach().Mirrored())(element);
  const FormulaNode exponent = formula.Number(-static_cast<double>(op[kBeta]) - 1);
  std::vector<FormulaNode> parts;
  for (int64_t k = 0; k < around.count() && !formula.is_too_long(); ++k) {
    const Region place{0, around.IndexAt(k), element.sizes};
    const FormulaNode base = BaseOf(op, SumOfSquares(op, place, formula), formula);
    const FormulaNode x = formula.Element(place);
    const FormulaNode gradient = formula.Element({1, place.begin, place.sizes});
    parts.push_back(
        formula.Product({gradient, x, formula.Apply(FormulaOperation::kPower, {base, exponent})}));
  }
  return parts;
}

// Returns g * base^-Beta - 2 * Alpha * Beta / LocalSize * x * the sum of the parts around.
FormulaNode GradMeaning(const OperatorDesc& op, const Region& element, Formula& formula) {
  const FormulaNode power = formula.Apply(
      FormulaOperation::kPower, {NamedBaseAt(op, element, formula), NumberOf(-op[kBeta], formula)});
  const FormulaNode own = formula.Named(
      "own part", formula.Product({formula.Element({1, element.begin, element.sizes}), power}));
  const FormulaNode sum =
      formula.Named("sum around", formula.Sum(PartsAround(op, element, formula)));
  const FormulaNode two = formula.Number(2.0);
  const FormulaNode product =
      formula.Product({two, NumberOf(op[kAlpha], formula), NumberOf(op[kBeta], formula)});
  const FormulaNode size = formula.Number(static_cast<double>(op[kLocalSize]));
  const FormulaNode factor = formula.Named("factor", formula.Quotient(product, size));
  const FormulaNode x = formula.Element({0, element.begin, element.sizes});
  return formula.Difference(own, formula.Product({factor, x, sum}));
}

constexpr OperatorInfo kOperators[] = {
    OperatorRow(
        "LOCAL_RESPONSE_NORMALIZATION", {kFields, "LRN-1", Infer},
        Computed{.run = Run, .sources = Sources, .unsplittable_dims = Whole, .formula = Meaning}),
    OperatorRow("LOCAL_RESPONSE_NORMALIZATION_GRAD", {kGradFields, "LRG-1", Infer},
                Computed{.run = RunGrad,
                         .sources = GradSources,
                         .unsplittable_dims = Whole,
                         .formula = GradMeaning}),
};

}  // namespace

extern const std::span<const OperatorInfo> kOperatorRows = kOperators;

}  // namespace dmlop::local_response
