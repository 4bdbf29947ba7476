// DML_BATCH_NORMALIZATION_GRAD_OPERATOR_DESC and
// DML_BATCH_NORMALIZATION_TRAINING_GRAD_OPERATOR_DESC.
#include <cmath>

#include "core/engine/normalization/gradient.h"
#include "core/engine/normalization/normalize.h"
#include "core/engine/reduce/reduce_run.h"
#include "core/ops/normalization/shared.h"

namespace dmlop::batch_gradient {
namespace {

using namespace normalization;

constexpr auto kGradient = field::Input("InputGradientTensor").Means(meaning::kInputGradientTensor);
constexpr auto kMeanTensor = field::Input("MeanTensor").Means(meaning::kMeanTensor);
constexpr auto kVarianceTensor = field::Input("VarianceTensor").Means(meaning::kVarianceTensor);
constexpr auto kScaleTensor = field::Input("ScaleTensor").Means(meaning::kScaleTensor);
constexpr auto kOutputGradient =
    field::Output("OutputGradientTensor").Means(meaning::kOutputGradientTensor);
constexpr auto kScaleGradient =
    field::Output("OutputScaleGradientTensor").Means("The gradient of the scale.");
constexpr auto kBiasGradient =
    field::Output("OutputBiasGradientTensor").Means("The gradient of the bias.");
constexpr auto kOptionalEpsilon = field::Optional(kEpsilon);
constexpr const Field* kFields[] = {&kInputTensor,    &kGradient,     &kMeanTensor,
                                    &kVarianceTensor, &kScaleTensor,  &kOutputGradient,
                                    &kScaleGradient,  &kBiasGradient, &kOptionalEpsilon};
constexpr const Field* kTrainingFields[] = {&kInputTensor,    &kGradient,     &kMeanTensor,
                                            &kVarianceTensor, &kScaleTensor,  &kOutputGradient,
                                            &kScaleGradient,  &kBiasGradient, &kEpsilon};
constexpr SupportRow kRows[] = {{Level(3, 1), 1, 8, {types::kFloats}}};
constexpr SupportRow kTrainingRows[] = {{Level(4, 1), 1, 8, {types::kFloats}}};
constexpr SupportTable kSupport[] = {{kRows}};
constexpr SupportTable kTrainingSupport[] = {{kTrainingRows}};
constexpr Rule kRules[] = {
    {"BNG-1",
     "all tensors agree in DataType and DimensionCount; InputGradientTensor and "
     "OutputGradientTensor have the input's Sizes, VarianceTensor, ScaleTensor and the other "
     "outputs those of MeanTensor"},
    {"BNG-2", "sizes of MeanTensor are 1 or the input's"},
    {"BN-4", "Epsilon is finite"},
};

// 0 where it is left out.
float EpsilonOf(const OperatorDesc& op) {
  const float* epsilon = op.find_if_known(kOptionalEpsilon);
  if (epsilon == nullptr) epsilon = op.find_if_known(kEpsilon);
  return epsilon == nullptr ? 0 : *epsilon;
}

void Infer(const OperatorDesc& op, Inference& infer) {
  RequireParameter("BNG-1", "BNG-2", kMeanTensor, infer);
  infer.RequireSizes("BNG-1", infer.tensor(kGradient), op.sizes(kInputTensor));
  infer.RequireSizes("BNG-1", infer.tensor(kVarianceTensor), op.sizes(kMeanTensor));
  infer.RequireSizes("BNG-1", infer.tensor(kScaleTensor), op.sizes(kMeanTensor));
  infer.Require(std::isfinite(EpsilonOf(op)), "BN-4", At(kEpsilon), "{} is not finite",
                EpsilonOf(op));
  infer.Output("BNG-1", kOutputGradient, op.sizes(kInputTensor));
  infer.Output("BNG-1", kScaleGradient, op.sizes(kMeanTensor));
  infer.Output("BNG-1", kBiasGradient, op.sizes(kMeanTensor));
}

std::vector<uint32_t> AxesOf(const OperatorDesc& op) {
  return RepeatedDimensions(op.sizes(kMeanTensor));
}

NormalizationGradient GradientOf(const OperatorDesc& op, InputViews inputs) {
  return {inputs[0], inputs[1], inputs[2],
          inputs[3], inputs[4], static_cast<double>(EpsilonOf(op))};
}

// Both operators give the same of scale and bias.
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

enum Input : size_t { kX, kDy, kMean, kVariance, kScale };
enum Output : size_t { kDx, kDscale, kDbias };

// Dx of the inference form depends on its own gradient only.
template <bool kTraining>
std::vector<SourceMap> Sources(const OperatorDesc& op) {
  const std::vector<uint32_t> axes = AxesOf(op);
  const SourceMap whole_dy = SliceOfInput(op, kDy, axes);
  const SourceMap own_dy = kTraining ? whole_dy : SliceOfInput(op, kDy, {});
  const SourceMap dy = [=](const Region& output) {
    return output.tensor == kDx ? own_dy(output) : whole_dy(output);
  };
  const SourceMap x = SliceOfInput(op, kX, axes);
  return {kTraining ? OfOutputs({kDx, kDscale}, x) : OfOutputs({kDscale}, x), dy,
          OfOutputs({kDscale}, SliceOfInput(op, kMean, {})),
          OfOutputs({kDx, kDscale}, SliceOfInput(op, kVariance, {})),
          OfOutputs({kDx}, SliceOfInput(op, kScale, {}))};
}

constexpr OperatorInfo kOperators[] = {
    {.name = "BATCH_NORMALIZATION_GRAD",
     .summary = "the gradients of BATCH_NORMALIZATION for input, scale and bias",
     .fields = kFields,
     .support = kSupport,
     .type_rule = "BNG-1",
     .rules = kRules,
     .infer = Infer,
     .family = Custom{Run, Sources<false>, AxesOf}},
    {.name = "BATCH_NORMALIZATION_TRAINING_GRAD",
     .summary = "the gradients of BATCH_NORMALIZATION_TRAINING for input, scale and bias",
     .fields = kTrainingFields,
     .support = kTrainingSupport,
     .type_rule = "BNG-1",
     .rules = kRules,
     .infer = Infer,
     .family = Custom{RunTraining, Sources<true>, AxesOf}},
};

}  // namespace

std::span<const OperatorInfo> Operators() {
  return kOperators;
}

}  // namespace dmlop::batch_gradient
