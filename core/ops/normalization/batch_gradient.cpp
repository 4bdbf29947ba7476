// SPDX-License-Identifier: Apache-2.0
// DML_BATCH_NORMALIZATION_GRAD_OPERATOR_DESC and
// DML_BATCH_NORMALIZATION_TRAINING_GRAD_OPERATOR_DESC.
#include <algorithm>
#include <cmath>

#include "core/engine/normalization/normalize.h"
#include "core/engine/reduce/reduce_run.h"
#include "core/ops/normalization/shared.h"

namespace dmlop::batch_gradient {
namespace {

using namespace normalization;

constexpr auto kGradient = field::Input("InputGradientTensor");
constexpr auto kMeanTensor = field::Input("MeanTensor");
constexpr auto kVarianceTensor = field::Input("VarianceTensor");
constexpr auto kScaleTensor = field::Input("ScaleTensor");
constexpr auto kOutputGradient = field::Output("OutputGradientTensor");
constexpr auto kScaleGradient = field::Output("OutputScaleGradientTensor");
constexpr auto kBiasGradient = field::Output("OutputBiasGradientTensor");
constexpr auto kOptionalEpsilon = field::Optional(kEpsilon);
constexpr const Field* kFields[] = {&kInputTensor,    &kGradient,     &kMeanTensor,
                                    &kVarianceTensor, &kScaleTensor,  &kOutputGradient,
                                    &kScaleGradient,  &kBiasGradient, &kOptionalEpsilon};
constexpr const Field* kTrainingFields[] = {&kInputTensor,    &kGradient,     &kMeanTensor,
                                            &kVarianceTensor, &kScaleTensor,  &kOutputGradient,
                                            &kScaleGradient,  &kBiasGradient, &kEpsilon};
constexpr SupportRow kRows[] = {{Level(3, 1), 1, 8, {types::kFloats}}};
constexpr SupportRow kTrainingRows[] = {{Level(4, 1), 1, 8, {types::kFloats}}};

// Returns 0 if it is left out.
float EpsilonOf(const OperatorDesc& op) {
  const float* epsilon = op.find_if_known(kOptionalEpsilon);
  if (epsilon == nullptr) epsilon = op.find_if_known(kEpsilon);
  return epsilon == nullptr ? 0 : *epsilon;
}

std::vector<uint32_t> AxesOf(const OperatorDesc& op) {
  return RepeatedDimensions(op.sizes(kMeanTensor));
}

enum Input : size_t { kX, kDy, kMean, kVariance, kScale };
enum Output : size_t { kDx, kDscale, kDbias };

// In the inference form, dX depends only on its own element of dY.
template <bool kTraining>
constexpr TensorShape kTensors[] = {
    {.tensor = &kInputTensor,
     .dims = "{S'..}",
     .feeds = kTraining ? 1 << kDx | 1 << kDscale : 1 << kDscale},
    {&kGradient, kTraining ? "{S'..}" : "{S..}"},
    {.tensor = &kMeanTensor, .dims = "{P:S..}", .feeds = 1 << kDscale},
    {.tensor = &kVarianceTensor, .dims = "{P:S..}", .feeds = 1 << kDx | 1 << kDscale},
    {.tensor = &kScaleTensor, .dims = "{P:S..}", .feeds = 1 << kDx},
    {&kOutputGradient, "{S..}"},
    {&kScaleGradient, "{P:S..}"},
    {&kBiasGradient, "{P:S..}"},
};
template <bool kTraining>
constexpr Signature kShapes = {"BNG-1", "BNG-1", kTensors<kTraining>, "BNG-2", AxesOf};

template <bool kTraining>
void Infer(const OperatorDesc& op, Inference& infer) {
  InferShapes(kShapes<kTraining>, op, infer);
  infer.Require(std::isfinite(EpsilonOf(op)), "BN-4", At(kEpsilon), "{} is not finite",
                EpsilonOf(op));
}

NormalizationGradient GradientOf(const OperatorDesc& op, InputViews inputs) {
  return {inputs[0], inputs[1], inputs[2],
          inputs[3], inputs[4], static_cast<double>(EpsilonOf(op))};
}

// Both operators compute the gradients of scale and bias in the same way.
void RunParameters(const OperatorDesc& op, InputViews inputs, OutputViews outputs) {
  GradientOfScale(GradientOf(op, inputs), AxesOf(op), outputs[1]);
  Reduce({ReduceFunction::kSum, AxesOf(op)}, inputs[1], outputs[2]);
}

void Run(const OperatorDesc& op, InputViews inputs, OutputViews outputs) {
  const GivenMoments given{{}, inputs[3], inputs[4], {}, static_cast<double>(EpsilonOf(op))};
  NormalizeByGiven(given, inputs[1], outputs[0]);
  RunParameters(op, inputs, outputs);
}

void RunTraining(const OperatorDesc& op, InputViews inputs, OutputViews outputs) {
  GradientByMoments(GradientOf(op, inputs), AxesOf(op), outputs[0]);
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
FormulaNode Meaning(const OperatorDesc& op, const Region& element, Formula& formula) {
  GradientMeaning meaning(op, element, formula);
  if (element.tensor == kDscale) return meaning.OfScale();
  if (element.tensor == kDbias) return meaning.OfBias();
  return kTraining ? meaning.OfTrainingInput() : meaning.OfInput();
}

constexpr OperatorInfo kOperators[] = {
    OperatorRow("BATCH_NORMALIZATION_GRAD", {kFields, kSupportBy<kRows>, "BNG-1", Infer<false>},
                Computed{.run = Run,
                         .sources = SourcesBy<kShapes<false>>,
                         .unsplittable_dims = AxesOf,
                         .formula = Meaning<false>}),
    OperatorRow("BATCH_NORMALIZATION_TRAINING_GRAD",
                {kTrainingFields, kSupportBy<kTrainingRows>, "BNG-1", Infer<true>},
                Computed{.run = RunTraining,
                         .sources = SourcesBy<kShapes<true>>,
                         .unsplittable_dims = AxesOf,
                         .formula = Meaning<true>}),
};

}  // namespace

extern const std::span<const OperatorInfo> kOperatorRows = kOperators;

}  // namespace dmlop::batch_gradient
