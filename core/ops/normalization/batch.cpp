// SPDX-License-Identifier: Apache-2.0
// Batch normalization and its gradients.
#include <algorithm>
#include <cmath>

#include "core/engine/normalization/normalize.h"
#include "core/engine/reduce/reduce_run.h"
#include "core/ops/hardware_tolerance.h"
#include "core/ops/normalization/slices.h"

namespace dmlop::batch_normalization {
namespace {

using namespace normalization;

constexpr auto kMeanTensor = field::Input("MeanTensor");
constexpr auto kVarianceTensor = field::Input("VarianceTensor");
constexpr auto kScaleTensor = field::Input("ScaleTensor");
constexpr auto kBiasTensor = field::Input("BiasTensor");

// --- with given moments --------------------------------------------------------------------------

constexpr auto kSpatial = field::Bool("Spatial");
constexpr auto kFields = Fields(kInputTensor, kMeanTensor, kVarianceTensor, kScaleTensor,
                                kBiasTensor, kOutputTensor, kSpatial, kEpsilon, kFusedActivation);

// Requires the input's height and width in the last two dimensions.
void RequirePlanes(const TensorAt& parameter, const TensorAt& input, Inference& infer) {
  const size_t rank = input.sizes().size();
  if (parameter.sizes().size() != rank) return;
  for (size_t d = rank - std::min<size_t>(2, rank); d < rank; ++d) {
    infer.Require(Agree(parameter.sizes()[d], input.sizes()[d]), "BN-3", SizeAt(parameter, d),
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
constexpr auto kTrainingFields =
    Fields(kInputTensor, kScaleTensor, kBiasTensor, kFusedAddTensor, kOutputTensor, kOutputMean,
           kOutputVariance, kEpsilon, kFusedActivation);

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

// --- gradients -----------------------------------------------------------------------------------

// DML_BATCH_NORMALIZATION_GRAD_OPERATOR_DESC and
// DML_BATCH_NORMALIZATION_TRAINING_GRAD_OPERATOR_DESC.

constexpr auto kScaleGradient = field::Output("OutputScaleGradientTensor");
constexpr auto kBiasGradient = field::Output("OutputBiasGradientTensor");
constexpr auto kOptionalEpsilon = field::Optional(kEpsilon);
constexpr auto kGradientFields =
    Fields(kInputTensor, kInputGradient, kMeanTensor, kVarianceTensor, kScaleTensor,
           kOutputGradient, kScaleGradient, kBiasGradient, kOptionalEpsilon);
constexpr auto kTrainingGradientFields =
    Fields(kInputTensor, kInputGradient, kMeanTensor, kVarianceTensor, kScaleTensor,
           kOutputGradient, kScaleGradient, kBiasGradient, kEpsilon);

// Returns 0 if it is left out.
float EpsilonOf(const OperatorDesc& op) {
  const float* epsilon = op.find_if_known(kOptionalEpsilon);
  if (epsilon == nullptr) epsilon = op.find_if_known(kEpsilon);
  return epsilon == nullptr ? 0 : *epsilon;
}

enum Input : size_t { kX, kDy, kMean, kVariance, kScale };
enum Output : size_t { kDx, kDscale, kDbias };

// In the inference form, dX depends only on its own element of dY.
template <bool kTraining>
constexpr TensorShape kGradientTensors[] = {
    {.tensor = &kInputTensor,
     .dims = "{S'..}",
     .feeds = kTraining ? 1 << kDx | 1 << kDscale : 1 << kDscale},
    {&kInputGradient, kTraining ? "{S'..}" : "{S..}"},
    {.tensor = &kMeanTensor, .dims = "{P:S..}", .feeds = 1 << kDscale},
    {.tensor = &kVarianceTensor, .dims = "{P:S..}", .feeds = 1 << kDx | 1 << kDscale},
    {.tensor = &kScaleTensor, .dims = "{P:S..}", .feeds = 1 << kDx},
    {&kOutputGradient, "{S..}"},
    {&kScaleGradient, "{P:S..}"},
    {&kBiasGradient, "{P:S..}"},
};
template <bool kTraining>
constexpr Signature kGradientShapes = {"BNG-1", "BNG-1", kGradientTensors<kTraining>, "BNG-2",
                                       AxesOf};

template <bool kTraining>
void InferGradient(const OperatorDesc& op, Inference& infer) {
  InferShapes(kGradientShapes<kTraining>, op, infer);
  infer.Require(std::isfinite(EpsilonOf(op)), "BN-4", At(kEpsilon), "{} is not finite",
                EpsilonOf(op));
}

NormalizationGradient GradientOf(const OperatorDesc& op, InputViews inputs) {
  return {inputs[kX],        inputs[kDy],    inputs[kMean],
          inputs[kVariance], inputs[kScale], static_cast<double>(EpsilonOf(op))};
}

// Both operators compute the gradients of scale and bias in the same way.
void RunParameters(const OperatorDesc& op, InputViews inputs, OutputViews outputs) {
  GradientOfScale(GradientOf(op, inputs), AxesOf(op), outputs[kDscale]);
  Reduce({ReduceFunction::kSum, AxesOf(op)}, inputs[kDy], outputs[kDbias]);
}

void RunGradient(const OperatorDesc& op, InputViews inputs, OutputViews outputs) {
  const GivenMoments given{
      {}, inputs[kVariance], inputs[kScale], {}, static_cast<double>(EpsilonOf(op))};
  NormalizeByGiven(given, inputs[kDy], outputs[kDx]);
  RunParameters(op, inputs, outputs);
}

void RunTrainingGradient(const OperatorDesc& op, InputViews inputs, OutputViews outputs) {
  GradientByMoments(GradientOf(op, inputs), AxesOf(op), outputs[kDx]);
  RunParameters(op, inputs, outputs);
}

// With v = Variance + Epsilon, dX is dY * Scale / sqrt(v), or, if the moments depend on x, too,
// Scale / sqrt(v) * ((dY - mean(dY)) - (x - mean(x)) * mean(dY * (x - mean(x))) / v).
class GradientMeaning {
 public:
  GradientMeaning(const OperatorDesc& op, const Region& element, Formula& formula)
      : op_(op), element_(element), formula_(formula) {}

  FormulaNode OfInput() {
    return formula_.Product({Own(kDy), formula_.Quotient(Own(kScale), Deviation())});
  }

  FormulaNode OfTrainingInput() {
    const std::vector<FormulaNode> gradients = Slice(kDy);
    const FormulaNode mean = MeanOf(Slice(kX), formula_);
    const FormulaNode mean_gradient =
        formula_.Named("mean gradient", formula_.Apply(FormulaOperation::kMean, gradients));
    const FormulaNode products = formula_.Apply(FormulaOperation::kMean, Products(mean));
    const FormulaNode slope = formula_.Quotient(
        formula_.Named("mean of products", products),
        formula_.Sum({Own(kVariance), formula_.Number(static_cast<double>(EpsilonOf(op_)))}));
    const FormulaNode part =
        formula_.Product({formula_.Difference(Own(kX), mean), formula_.Named("slope", slope)});
    const FormulaNode centered = formula_.Difference(Own(kDy), mean_gradient);
    return formula_.Product(
        {formula_.Quotient(Own(kScale), Deviation()), formula_.Difference(centered, part)});
  }

  FormulaNode OfScale() {
    const FormulaNode sum = formula_.Named("sum of products", formula_.Sum(Products(Own(kMean))));
    return formula_.Quotient(sum, Deviation());
  }

  FormulaNode OfBias() { return formula_.Named("sum", formula_.Sum(Slice(kDy))); }

 private:
  FormulaNode Own(size_t input) { return ElementAt(input, element_, formula_); }
  std::vector<FormulaNode> Slice(size_t input) {
    return SliceAt(input, AxesOf(op_), element_, formula_);
  }
  FormulaNode Deviation() {
    return DeviationOf(Own(kVariance), static_cast<double>(EpsilonOf(op_)), formula_);
  }
  // Multiplies each gradient by the deviation of its element from the mean.
  std::vector<FormulaNode> Products(FormulaNode mean) {
    const std::vector<FormulaNode> elements = Slice(kX);
    const std::vector<FormulaNode> gradients = Slice(kDy);
    std::vector<FormulaNode> products;
    for (size_t i = 0; i < std::min(elements.size(), gradients.size()); ++i) {
      products.push_back(formula_.Product({gradients[i], formula_.Difference(elements[i], mean)}));
    }
    return products;
  }

  const OperatorDesc& op_;
  const Region& element_;
  Formula& formula_;
};

template <bool kTraining>
FormulaNode MeaningOfGradient(const OperatorDesc& op, const Region& element, Formula& formula) {
  GradientMeaning meaning(op, element, formula);
  if (element.tensor == kDscale) return meaning.OfScale();
  if (element.tensor == kDbias) return meaning.OfBias();
  return kTraining ? meaning.OfTrainingInput() : meaning.OfInput();
}

constexpr OperatorInfo kOperators[] = {
    OperatorRow("BATCH_NORMALIZATION", {kFields, "BN-1", Infer, &kShapes},
                Computed{.run = Run, .sources = SourcesBy<kShapes>, .formula = Meaning},
                {.hardware_tolerance = Ulp<6>}),
    OperatorRow("BATCH_NORMALIZATION_TRAINING",
                {kTrainingFields, "BNT-1", InferTraining, &kTrainingShapes},
                Computed{.run = Train,
                         .sources = SourcesBy<kTrainingShapes>,
                         .unsplittable_dims = kTrainingShapes.slices,
                         .formula = TrainingMeaning}),
    OperatorRow("BATCH_NORMALIZATION_GRAD",
                {kGradientFields, "BNG-1", InferGradient<false>, &kGradientShapes<false>},
                Computed{.run = RunGradient,
                         .sources = SourcesBy<kGradientShapes<false>>,
                         .unsplittable_dims = kGradientShapes<false>.slices,
                         .formula = MeaningOfGradient<false>}),
    OperatorRow("BATCH_NORMALIZATION_TRAINING_GRAD",
                {kTrainingGradientFields, "BNG-1", InferGradient<true>, &kGradientShapes<true>},
                Computed{.run = RunTrainingGradient,
                         .sources = SourcesBy<kGradientShapes<true>>,
                         .unsplittable_dims = kGradientShapes<true>.slices,
                         .formula = MeaningOfGradient<true>}),
};

}  // namespace

extern const std::span<const OperatorInfo> kOperatorRows = kOperators;

}  // namespace dmlop::batch_normalization
