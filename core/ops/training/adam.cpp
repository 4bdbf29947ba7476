// DML_ADAM_OPTIMIZER_OPERATOR_DESC.
#include "core/engine/training/adam.h"

#include <cmath>

#include "core/ops/formula.h"
#include "core/ops/inference.h"

namespace dmlop::adam {
namespace {

constexpr auto kParameters =
    field::Input("InputParametersTensor").Means("The parameters before the step.");
constexpr auto kFirstMoment =
    field::Input("InputFirstMomentTensor").Means("The mean of the gradients before the step.");
constexpr auto kSecondMoment =
    field::Input("InputSecondMomentTensor")
        .Means("The mean of the squares of the gradients before the step.");
constexpr auto kGradient = field::Input("GradientTensor").Means("The gradient of the parameters.");
constexpr auto kStep = field::Input("TrainingStepTensor", TypeVariable::kU, RankGroup::kSide)
                           .Means("The number of the step, one number that begins at 1.");
constexpr auto kNewParameters =
    field::Output("OutputParametersTensor").Means("The parameters after the step.");
constexpr auto kNewFirstMoment =
    field::Output("OutputFirstMomentTensor").Means("The mean of the gradients after the step.");
constexpr auto kNewSecondMoment =
    field::Output("OutputSecondMomentTensor")
        .Means("The mean of the squares of the gradients after the step.");
constexpr auto kLearningRate = field::Float("LearningRate").Means("The factor of the step.");
constexpr auto kBeta1 =
    field::Float("Beta1").Means("How much of the first moment stays, from 0 to 1.");
constexpr auto kBeta2 =
    field::Float("Beta2").Means("How much of the second moment stays, from 0 to 1.");
constexpr auto kEpsilon = field::Float("Epsilon").Means(
    "The number that is added to the root of the second moment, so that nothing is divided by 0.");
constexpr const Field* kFields[] = {
    &kParameters,     &kFirstMoment,     &kSecondMoment, &kGradient, &kStep,  &kNewParameters,
    &kNewFirstMoment, &kNewSecondMoment, &kLearningRate, &kBeta1,    &kBeta2, &kEpsilon};

constexpr DataTypeSet kUint32 = {DataType::kUint32};
constexpr SupportRow kRows[] = {
    {Level(3, 0), 4, 4, {types::kFloats, kUint32}, {{{1, 4}}}},
    {Level(4, 0), 1, 8, {types::kFloats, kUint32}},
};
constexpr SupportTable kSupport[] = {{kRows}};
constexpr Rule kRules[] = {
    {"ADAM-1", "parameters, moments, gradient and the outputs agree in DataType and Sizes"},
    {"ADAM-2",
     "TrainingStepTensor has one element of UINT32, and as many dimensions as the others or one"},
    {"ADAM-3", "Beta1 and Beta2 lie in [0, 1]; LearningRate and Epsilon are finite"},
};

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

// A moment needs its own and the gradient, parameters all.
std::vector<SourceMap> Sources(const OperatorDesc& op) {
  enum Slot : size_t { kX, kM, kV, kG, kT };
  const auto at = [](size_t input, std::initializer_list<bool> outputs) -> SourceMap {
    return [input,
            needed = std::vector<bool>(outputs)](const Region& output) -> std::optional<Region> {
      if (!needed[output.tensor]) return std::nullopt;
      return Region{input, output.begin, output.sizes};
    };
  };
  const size_t rank = op.sizes(kStep).size();
  return {at(kX, {true, false, false}), at(kM, {true, true, false}), at(kV, {true, false, true}),
          at(kG, {true, true, true}), [rank](const Region& output) -> std::optional<Region> {
            if (output.tensor != 0) return std::nullopt;
            return Region{kT, Dims::Filled(rank, 0), Dims::Filled(rank, 1)};
          }};
}

// beta * x + (1 - beta) * y.
FormulaNode Blend(FormulaNode beta, FormulaNode x, FormulaNode y, Formula& formula) {
  const FormulaNode rest = formula.Difference(formula.Number(1.0), beta);
  return formula.Sum({formula.Product({beta, x}), formula.Product({rest, y})});
}

// How far moments that began as 0 are from their means: 1 - beta^step.
FormulaNode OneLessPower(FormulaNode beta, FormulaNode step, Formula& formula) {
  const FormulaNode power = formula.Apply(FormulaOperation::kPower, {beta, step});
  return formula.Difference(formula.Number(1.0), power);
}

FormulaNode Meaning(const OperatorDesc& op, const Region& element, Formula& formula) {
  using enum FormulaOperation;
  const std::vector<SourceMap> sources = Sources(op);
  const auto input = [&](size_t i) { return formula.Element(*sources[i](element)); };
  const auto number = [&](const FieldOf<float>& field) {
    return formula.Number(static_cast<double>(op[field]));
  };
  const auto first_moment = [&] {
    const FormulaNode blend = Blend(number(kBeta1), input(1), input(3), formula);
    return formula.Named("first moment", blend);
  };
  const auto second_moment = [&] {
    const FormulaNode square = formula.Apply(kSquare, {input(3)});
    const FormulaNode blend = Blend(number(kBeta2), input(2), square, formula);
    return formula.Named("second moment", blend);
  };
  if (element.tensor == 1) return first_moment();
  if (element.tensor == 2) return second_moment();
  const FormulaNode step = input(4);
  const FormulaNode root =
      formula.Apply(kSquareRoot, {OneLessPower(number(kBeta2), step, formula)});
  const FormulaNode alpha =
      formula.Named("alpha", formula.Quotient(root, OneLessPower(number(kBeta1), step, formula)));
  const FormulaNode first = first_moment();
  const FormulaNode deviation = formula.Apply(kSquareRoot, {second_moment()});
  const FormulaNode divisor = formula.Named("divisor", formula.Sum({deviation, number(kEpsilon)}));
  const FormulaNode change = formula.Named(
      "change", formula.Quotient(formula.Product({number(kLearningRate), alpha, first}), divisor));
  return formula.Difference(input(0), change);
}

void Warn(const OperatorDesc&, InputViews inputs, Diagnostics& diagnostics) {
  if (StepOf(inputs) != 0) return;
  diagnostics.Warning("ADAM-4", std::string(kStep.name),
                      "the training step is 0, so all parameters become NaN; the first step is 1");
}

constexpr OperatorInfo kOperators[] = {
    {.name = "ADAM_OPTIMIZER",
     .summary = "parameters and moments after a step of the optimizer Adam",
     .fields = kFields,
     .support = kSupport,
     .type_rule = "ADAM-1",
     .rules = kRules,
     .infer = Infer,
     .family = Custom{.run = Run, .sources = Sources, .warn = Warn, .formula = Meaning},
     .in_place = true},
};

}  // namespace

std::span<const OperatorInfo> Operators() {
  return kOperators;
}

}  // namespace dmlop::adam
