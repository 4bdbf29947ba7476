// SPDX-License-Identifier: Apache-2.0
// DML_MEAN_VARIANCE_NORMALIZATION_OPERATOR_DESC, DML_MEAN_VARIANCE_NORMALIZATION1_OPERATOR_DESC and
// DML_MEAN_VARIANCE_NORMALIZATION2_OPERATOR_DESC: shift and scale slices to a mean of 0 and a
// variance of 1.
#include <algorithm>
#include <numeric>

#include "core/engine/normalization/normalize.h"
#include "core/ops/hardware_tolerance.h"
#include "core/ops/normalization/slices.h"

namespace dmlop::mean_variance {
namespace {

using namespace normalization;

constexpr auto kScaleTensor = field::Optional(field::Input("ScaleTensor"));
constexpr auto kNormalizeVariance = field::Bool("NormalizeVariance");
constexpr auto kUseMean = field::Bool("UseMean");
constexpr auto kUseVariance = field::Bool("UseVariance");

constexpr auto kChannelFields =
    Fields(kInputTensor, kScaleTensor, kBiasTensor, kOutputTensor, kCrossChannel,
           kNormalizeVariance, kEpsilon, kFusedActivation);
constexpr auto kAxesFields =
    Fields(kInputTensor, kScaleTensor, kBiasTensor, kOutputTensor, kAxisCount, kAxes,
           kNormalizeVariance, kEpsilon, kFusedActivation);
constexpr auto kMomentsFields =
    Fields(kInputTensor, kScaleTensor, kBiasTensor, kOutputTensor, kAxisCount, kAxes, kUseMean,
           kUseVariance, kEpsilon, kFusedActivation);

bool FlagOf(const OperatorDesc& op, const FieldOf<bool>& field, bool otherwise) {
  const bool* flag = op.find_if_known(field);
  return flag == nullptr ? otherwise : *flag;
}

MomentNormalization HowOf(const OperatorDesc& op) {
  MomentNormalization how;
  how.use_mean = FlagOf(op, kUseMean, true);
  how.use_variance = FlagOf(op, kUseVariance, FlagOf(op, kNormalizeVariance, true));
  how.epsilon = static_cast<double>(op[kEpsilon]);
  return how;
}

std::vector<uint32_t> AxesOf(const OperatorDesc& op) {
  const std::vector<uint32_t>* axes = op.find_if_known(kAxes);
  if (axes != nullptr) return *axes;
  return op[kCrossChannel] ? std::vector<uint32_t>{1, 2, 3} : std::vector<uint32_t>{2, 3};
}

// An element depends on its whole slice only if one of the slice's moments is used.
std::vector<uint32_t> SlicesOf(const OperatorDesc& op) {
  const MomentNormalization how = HowOf(op);
  return how.use_mean || how.use_variance ? AxesOf(op) : std::vector<uint32_t>();
}

constexpr TensorShape kTensors[] = {
    {&kInputTensor, "{S'..}"},
    {&kScaleTensor, "{A:S..}"},
    {&kBiasTensor, "{B:S..}"},
    {&kOutputTensor, "{S..}"},
};
constexpr Signature kShapes = {"MVN-1", "MVN-1", kTensors, "MVN-2", SlicesOf};

void InferParameters(const OperatorDesc& op, Inference& infer) {
  InferShapes(kShapes, op, infer);
  const bool is_one_alone = op.Has(kScaleTensor) != op.Has(kBiasTensor);
  const Field& other = op.Has(kScaleTensor) ? kBiasTensor : kScaleTensor;
  infer.Require(infer.level() >= Level(5, 2) || !is_one_alone, "MVN-3", At(other),
                "{} is missing; ScaleTensor and BiasTensor stand alone from feature level 5_2 on",
                other.name);
  RequireFinite("MVN-9", kEpsilon, op, infer);
}

// Requires one parameter for each channel, as before feature level 4_0.
void RequireChannels(const TensorAt& parameter, const TensorAt& input, Inference& infer) {
  if (parameter.sizes().size() != input.sizes().size()) return;
  for (size_t d = 0; d < input.sizes().size(); ++d) {
    const uint32_t size = parameter.sizes()[d];
    const bool may_be_one = d == 0 || d == 2 || d == 3;
    infer.Require(may_be_one || size != 1 || Agree(input.sizes()[d], 1), "MVN-2",
                  SizeAt(parameter, d), "size 1; expected {} below feature level 4_0",
                  input.sizes()[d]);
  }
}

void InferAxes(const OperatorDesc& op, Inference& infer) {
  InferParameters(op, infer);
  CheckAxes("MVN-4", "MVN-4", kAxes, op, infer.tensor(kInputTensor), infer);
}

void InferAxesByLevel(const OperatorDesc& op, Inference& infer) {
  InferAxes(op, infer);
  if (infer.level() >= Level(4, 0)) return;
  for (const auto* field : {&kScaleTensor, &kBiasTensor}) {
    if (op.find(*field) == nullptr) continue;
    RequireChannels(infer.tensor(*field), infer.tensor(kInputTensor), infer);
  }
}

void Run(const OperatorDesc& op, InputViews inputs, OutputViews outputs) {
  MomentNormalization how = HowOf(op);
  size_t next = 1;
  if (op.Has(kScaleTensor)) how.scale = inputs[next++];
  if (op.Has(kBiasTensor)) how.bias = inputs[next];
  NormalizeByMoments(how, AxesOf(op), inputs[0], outputs[0], {});
}

FormulaNode Meaning(const OperatorDesc& op, const Region& element, Formula& formula) {
  const MomentNormalization how = HowOf(op);
  const std::vector<FormulaNode> slice = SliceAt(0, AxesOf(op), element, formula);
  std::optional<FormulaNode> mean;
  if (how.use_mean) mean = MeanOf(slice, formula);
  FormulaNode result = ElementAt(0, element, formula);
  if (mean) result = formula.Difference(result, *mean);
  if (how.use_variance) {
    const FormulaNode variance = VarianceOf(slice, mean, formula);
    result = formula.Quotient(result, DeviationOf(variance, how.epsilon, formula));
  }
  size_t next = 1;
  if (op.Has(kScaleTensor)) {
    result = formula.Product({ElementAt(next++, element, formula), result});
  }
  if (op.Has(kBiasTensor)) result = formula.Sum({result, ElementAt(next, element, formula)});
  return result;
}

// WebNN normalizes instances (the channels of an item) by one operator and other slices as layers.
bool IsOfInstances(const OperatorDesc& op) {
  std::vector<uint32_t> axes = AxesOf(op);
  std::sort(axes.begin(), axes.end());
  std::vector<uint32_t> spatial(std::max<size_t>(op[kInputTensor].rank(), 2) - 2);
  std::iota(spatial.begin(), spatial.end(), 2u);
  return !axes.empty() && axes == spatial;
}

Tolerance HardwareTolerance(const OperatorDesc& op) {
  return IsOfInstances(op) ? Ulp<840, 8400>(op) : Ulp<14>(op);
}

constexpr Computed kNormalized = {
    .run = Run, .sources = SourcesBy<kShapes>, .unsplittable_dims = AxesOf, .formula = Meaning};

constexpr OperatorInfo kOperators[] = {
    OperatorRow("MEAN_VARIANCE_NORMALIZATION", {kChannelFields, "MVN-1", InferParameters, &kShapes},
                kNormalized, {.hardware_tolerance = HardwareTolerance}),
    OperatorRow("MEAN_VARIANCE_NORMALIZATION1", {kAxesFields, "MVN-1", InferAxesByLevel, &kShapes},
                kNormalized, {.hardware_tolerance = HardwareTolerance}),
    OperatorRow("MEAN_VARIANCE_NORMALIZATION2", {kMomentsFields, "MVN-1", InferAxes, &kShapes},
                kNormalized, {.hardware_tolerance = HardwareTolerance}),
};

}  // namespace

extern const std::span<const OperatorInfo> kOperatorRows = kOperators;

}  // namespace dmlop::mean_variance
