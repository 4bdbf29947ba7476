// SPDX-License-Identifier: Apache-2.0
// DML_ADAM_OPTIMIZER_OPERATOR_DESC.
#include "core/engine/training/adam.h"

#include <cmath>

#include "core/ops/formula.h"
#include "core/ops/signature.h"

namespace dmlop::adam {
namespace {

constexpr auto kParameters = field::Input("InputParametersTensor");
constexpr auto kFirstMoment = field::Input("InputFirstMomentTensor");
constexpr auto kSecondMoment = field::Input("InputSecondMomentTensor");
constexpr auto kGradient = field::Input("GradientTensor");
constexpr auto kStep = field::Input("TrainingStepTensor", TypeVariable::kU, RankGroup::kSide);
constexpr auto kNewParameters = field::Output("OutputParametersTensor");
constexpr auto kNewFirstMoment = field::Output("OutputFirstMomentTensor");
constexpr auto kNewSecondMoment = field::Output("OutputSecondMomentTensor");
constexpr auto kLearningRate = field::Float("LearningRate");
constexpr auto kBeta1 = field::Float("Beta1");
constexpr auto kBeta2 = field::Float("Beta2");
constexpr auto kFields =
    Fields(kParameters, kFirstMoment, kSecondMoment, kGradient, kStep, kNewParameters,
           kNewFirstMoment, kNewSecondMoment, kLearningRate, kBeta1, kBeta2, kEpsilon);

void Infer(const OperatorDesc& op, Inference& infer) {
  const Sizes& sizes = op.sizes(kParameters);
  for (const auto* field : {&kFirstMoment, &kSecondMoment, &kGradient}) {
    infer.RequireSizes("ADAM-1", infer.tensor(*field), sizes);
  }
  for (const auto* field : {&kNewParameters, &kNewFirstMoment, &kNewSecondMoment}) {
    infer.Output("ADAM-1", *field, sizes);
  }
  const Sizes& step = op.sizes(kStep);
  infer.RequireSizes("ADAM-2", infer.tensor(kStep), Sizes(step.size() == 1 ? 1 : sizes.size(), 1));
  for (const auto* field : {&kBeta1, &kBeta2}) {
    infer.Require(op[*field] >= 0 && op[*field] <= 1, "ADAM-3", At(*field),
                  "{} is out of range [0, 1]", op[*field]);
  }
  for (const auto* field : {&kLearningRate, &kEpsilon}) {
    infer.Require(std::isfinite(op[*field]), "ADAM-3", At(*field), "{} is not finite", op[*field]);
  }
}

uint32_t StepOf(InputViews inputs) {
  return *inputs[4].elements<uint32_t>();
}

void Run(const OperatorDesc& op, InputViews inputs, OutputViews outputs) {
  StepAdam({static_cast<double>(op[kLearningRate]), static_cast<double>(op[kBeta1]),
            static_cast<double>(op[kBeta2]), static_cast<double>(op[kEpsilon])},
           StepOf(inputs),
           {inputs[0], inputs[1], inputs[2], inputs[3], outputs[0], outputs[1], outputs[2]});
}

// A moment depends on its previous value and the gradient; the parameters depend on all inputs.
constexpr TensorShape kTensors[] = {
    {.tensor = &kParameters, .dims = "{S..}", .feeds = 0b001},
    {.tensor = &kFirstMoment, .dims = "{S..}", .feeds = 0b011},
    {.tensor = &kSecondMoment, .dims = "{S..}", .feeds = 0b101},
    {&kGradient, "{S..}"},
    {.tensor = &kStep, .dims = "{1} | {1..}", .feeds = 0b001},
    {&kNewParameters, "{S..}"},
    {&kNewFirstMoment, "{S..}"},
    {&kNewSecondMoment, "{S..}"},
};
constexpr Signature kShapes = {"ADAM-1", "ADAM-1", kTensors};

// Builds the formula of one element of an output.
class AdamFormula {
 public:
  AdamFormula(const OperatorDesc& op, const Region& element, Formula& formula)
      : op_(op), element_(element), formula_(formula) {}

  FormulaNode FirstMoment() {
    return formula_.Named("first moment", Blend(kBeta1, Input(1), Input(3)));
  }

  FormulaNode SecondMoment() {
    const FormulaNode square = formula_.Apply(FormulaOperation::kSquare, {Input(3)});
    return formula_.Named("second moment", Blend(kBeta2, Input(2), square));
  }

  FormulaNode Parameter() {
    const FormulaNode alpha = formula_.Named(
        "alpha", formula_.Quotient(RootOf(OneLessPower(kBeta2)), OneLessPower(kBeta1)));
    const FormulaNode product = formula_.Product({Number(kLearningRate), alpha, FirstMoment()});
    const FormulaNode divisor =
        formula_.Named("divisor", formula_.Sum({RootOf(SecondMoment()), Number(kEpsilon)}));
    return formula_.Difference(Input(0),
                               formula_.Named("change", formula_.Quotient(product, divisor)));
  }

 private:
  FormulaNode Input(size_t i) { return formula_.Element(*SourcesOf(kShapes, op_)[i](element_)); }
  FormulaNode Number(const FieldOf<float>& field) {
    return formula_.Number(static_cast<double>(op_[field]));
  }
  FormulaNode RootOf(FormulaNode x) { return formula_.Apply(FormulaOperation::kSquareRoot, {x}); }
  FormulaNode OneLess(FormulaNode x) { return formula_.Difference(formula_.Number(1.0), x); }

  // Returns beta * x + (1 - beta) * y.
  FormulaNode Blend(const FieldOf<float>& beta, FormulaNode x, FormulaNode y) {
    return formula_.Sum(
        {formula_.Product({Number(beta), x}), formula_.Product({OneLess(Number(beta)), y})});
  }

  // Returns 1 - beta^step, the part of its mean that a moment has reached that began as 0.
  FormulaNode OneLessPower(const FieldOf<float>& beta) {
    return OneLess(formula_.Apply(FormulaOperation::kPower, {Number(beta), Input(4)}));
  }

  const OperatorDesc& op_;
  const Region& element_;
  Formula& formula_;
};

FormulaNode Meaning(const OperatorDesc& op, const Region& element, Formula& formula) {
  AdamFormula own(op, element, formula);
  if (element.tensor == 1) return own.FirstMoment();
  return element.tensor == 2 ? own.SecondMoment() : own.Parameter();
}

void Warn(const OperatorDesc&, InputViews inputs, Diagnostics& diagnostics) {
  if (StepOf(inputs) != 0) return;
  diagnostics.Warning("ADAM-4", std::string(kStep.name),
                      "the training step is 0, so all parameters become NaN; the first step is 1");
}

constexpr OperatorInfo kOperators[] = {
    OperatorRow(
        "ADAM_OPTIMIZER", {kFields, "ADAM-1", Infer, &kShapes},
        Computed{.run = Run, .sources = SourcesBy<kShapes>, .warn = Warn, .formula = Meaning},
        {.in_place = true}),
};

}  // namespace

extern const std::span<const OperatorInfo> kOperatorRows = kOperators;

}  // namespace dmlop::adam
