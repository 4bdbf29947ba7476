// SPDX-License-Identifier: Apache-2.0
// DML_BATCH_NORMALIZATION_OPERATOR_DESC and DML_BATCH_NORMALIZATION_TRAINING_OPERATOR_DESC.
#include <algorithm>

#include "core/engine/normalization/normalize.h"
#include "core/engine/reduce/reduce_run.h"
#include "core/ops/hardware_tolerance.h"
#include "core/ops/normalization/shared.h"

namespace dmlop::batch_normalization {
namespace {

using namespace normalization;

constexpr auto kMeanTensor = field::Input("MeanTensor");
constexpr auto kVarianceTensor = field::Input("VarianceTensor");
constexpr auto kScaleTensor = field::Input("ScaleTensor");
constexpr auto kBiasTensor = field::Input("BiasTensor");

// --- with given moments --------------------------------------------------------------------------

constexpr auto kSpatial = field::Bool("Spatial");
constexpr const Field* kFields[] = {&kInputTensor, &kMeanTensor, &kVarianceTensor,
                                    &kScaleTensor, &kBiasTensor, &kOutputTensor,
                                    &kSpatial,     &kEpsilon,    &kFusedActivation};
constexpr SupportRow kRows[] = {
    {Level(1, 0), 4, 4, {types::kFloats}},
    {Level(3, 1), 1, 8, {types::kFloats}},
};

// Requires the input's height and width in the last two dimensions.
void RequirePlanes(const TensorAt& parameter, const TensorAt& input, Inference& infer) {
  const size_t rank = input.sizes().size();
  if (parameter.sizes().size() != rank) return;
  for (size_t d = rank - std::min<size_t>(2, rank); d < rank; ++d) {
    infer.Require(parameter.sizes()[d] == input.sizes()[d], "BN-3", SizeAt(parameter, d),
                  "size {}; expected {} below feature level 4_0 where Spatial is false",
                  parameter.sizes()[d], input.sizes()[d]);
  }
}

constexpr TensorShape kTensors[] = {
    {&kInputTensor, "{S..}"},   {&kMeanTensor, "{M:S..}"}, {&kVarianceTensor, "{V:S..}"},
    {&kScaleTensor, "{A:S..}"}, {&kBiasTensor, "{B:S..}"}, {&kOutputTensor, "{S..}"},
};
constexpr Signature kShapes = {"BN-1", "BN-1", kTensors, "BN-2"};

void Infer(const OperatorDesc& op, Inference& infer) {
  InferShapes(kShapes, op, infer);
  if (infer.level() < Level(4, 0) && !op[kSpatial]) {
    RequirePlanes(infer.tensor(kMeanTensor), infer.tensor(kInputTensor), infer);
    RequirePlanes(infer.tensor(kVarianceTensor), infer.tensor(kInputTensor), infer);
  }
  RequireFinite("BN-4", kEpsilon, op, infer);
}

void Run(const OperatorDesc& op, InputViews inputs, OutputViews outputs) {
  const GivenMoments given{inputs[1], inputs[2], inputs[3], inputs[4],
                           static_cast<double>(op[kEpsilon])};
  NormalizeByGiven(given, inputs[0], outputs[0]);
}

// Returns Scale * (x - mean) / deviation + Bias.
FormulaNode Meaning(const OperatorDesc& op, const Region& element, Formula& formula) {
  const auto input = [&](size_t i) { return ElementAt(i, element, formula); };
  const FormulaNode centered = formula.Difference(input(0), input(1));
  const FormulaNode deviation = DeviationOf(input(2), static_cast<double>(op[kEpsilon]), formula);
  const FormulaNode scaled = formula.Quotient(formula.Product({input(3), centered}), deviation);
  return formula.Sum({scaled, input(4)});
}

// --- with moments of slices ----------------------------------------------------------------------

constexpr auto kFusedAddTensor = field::Optional(field::Input("FusedAddTensor"));
constexpr auto kOutputMean = field::Output("OutputMeanTensor");
constexpr auto kOutputVariance = field::Output("OutputVarianceTensor");
constexpr const Field* kTrainingFields[] = {&kInputTensor,    &kScaleTensor,  &kBiasTensor,
                                            &kFusedAddTensor, &kOutputTensor, &kOutputMean,
                                            &kOutputVariance, &kEpsilon,      &kFusedActivation};
constexpr SupportRow kTrainingRows[] = {{Level(4, 1), 1, 8, {types::kFloats}}};

std::vector<uint32_t> AxesOf(const OperatorDesc& op) {
  return RepeatedDimensions(op.sizes(kScaleTensor));
}

constexpr TensorShape kTrainingTensors[] = {
    {&kInputTensor, "{S'..}"},
    {.tensor = &kScaleTensor, .dims = "{P:S..}", .feeds = 1},
    {.tensor = &kBiasTensor, .dims = "{P:S..}", .feeds = 1},
    {.tensor = &kFusedAddTensor, .dims = "{S..}", .feeds = 1},
    {&kOutputTensor, "{S..}"},
    {&kOutputMean, "{P:S..}"},
    {&kOutputVariance, "{P:S..}"},
};
constexpr Signature kTrainingShapes = {"BNT-1", "BNT-1", kTrainingTensors, "BNT-1", AxesOf};

void InferTraining(const OperatorDesc& op, Inference& infer) {
  InferShapes(kTrainingShapes, op, infer);
  RequireFinite("BN-4", kEpsilon, op, infer);
}

void Train(const OperatorDesc& op, InputViews inputs, OutputViews outputs) {
  MomentNormalization how;
  how.epsilon = static_cast<double>(op[kEpsilon]);
  how.scale = inputs[1];
  how.bias = inputs[2];
  if (op.Has(kFusedAddTensor)) how.addend = inputs[3];
  Reduce({ReduceFunction::kAverage, AxesOf(op)}, inputs[0], outputs[1]);
  NormalizeByMoments(how, AxesOf(op), inputs[0], outputs[0], outputs[2]);
}

FormulaNode TrainingMeaning(const OperatorDesc& op, const Region& element, Formula& formula) {
  const auto input = [&](size_t i) { return ElementAt(i, element, formula); };
  const std::vector<FormulaNode> slice = SliceAt(0, AxesOf(op), element, formula);
  if (element.tensor == 1) {
    const FormulaNode sum = formula.Named("sum", formula.Sum(slice));
    return formula.Quotient(sum, formula.Number(static_cast<double>(slice.size())));
  }
  const FormulaNode mean = MeanOf(slice, formula);
  const FormulaNode variance = VarianceOf(slice, mean, formula);
  if (element.tensor == 2) return variance;
  const FormulaNode deviation = DeviationOf(variance, static_cast<double>(op[kEpsilon]), formula);
  const FormulaNode normalized = formula.Quotient(formula.Difference(input(0), mean), deviation);
  std::vector<FormulaNode> terms = {formula.Product({input(1), normalized}), input(2)};
  if (op.Has(kFusedAddTensor)) terms.push_back(input(3));
  return formula.Sum(terms);
}

constexpr OperatorInfo kOperators[] = {
    OperatorRow("BATCH_NORMALIZATION", {kFields, kSupportBy<kRows>, "BN-1", Infer},
                Computed{.run = Run, .sources = SourcesBy<kShapes>, .formula = Meaning},
                {.hardware_tolerance = Ulp<6>}),
    OperatorRow("BATCH_NORMALIZATION_TRAINING",
                {kTrainingFields, kSupportBy<kTrainingRows>, "BNT-1", InferTraining},
                Computed{.run = Train,
                         .sources = SourcesBy<kTrainingShapes>,
                         .unsplittable_dims = AxesOf,
                         .formula = TrainingMeaning}),
};

}  // namespace

extern const std::span<const OperatorInfo> kOperatorRows = kOperators;

}  // namespace dmlop::batch_normalization
