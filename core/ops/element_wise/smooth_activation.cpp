// Activations with exponentials in their formulas.
#include "core/ops/inference.h"
#include "core/ops/rows.h"

namespace dmlop {
namespace {

using F = ElementWiseFunction;

constexpr auto kAlpha = field::Float("Alpha");
constexpr auto kBeta = field::Float("Beta");
constexpr auto kGamma = field::Float("Gamma");
constexpr auto kSteepness = field::Float("Steepness");
constexpr auto kSigmoidInputScale = field::Float("SigmoidInputScale");
constexpr const Field* kFields[] = {&kInputTensor, &kOutputTensor};
constexpr const Field* kAlphaFields[] = {&kInputTensor, &kOutputTensor, &kAlpha};
constexpr const Field* kAlphaBetaFields[] = {&kInputTensor, &kOutputTensor, &kAlpha, &kBeta};
constexpr const Field* kAlphaGammaFields[] = {&kInputTensor, &kOutputTensor, &kAlpha, &kGamma};
constexpr const Field* kSoftplusFields[] = {&kInputTensor, &kOutputTensor, &kSteepness};
constexpr const Field* kSwishFields[] = {&kInputTensor, &kOutputTensor, &kSigmoidInputScale};

constexpr SupportRow kRows[] = {
    {Level(1, 0), 4, 4, {types::kFloats}},
    {Level(2, 0), 4, 5, {types::kFloats}},
    {Level(3, 0), 1, 8, {types::kFloats}},
};
constexpr SupportRow kCeluRows[] = {{Level(3, 0), 1, 8, {types::kFloats}}};
constexpr SupportRow kGeluRows[] = {{Level(5, 1), 1, 8, {types::kFloats}}};
constexpr SupportRow kSwishRows[] = {{Level(6, 2), 1, 8, {types::kFloats}}};
constexpr SupportTable kSupport[] = {{kRows}};
constexpr SupportTable kCeluSupport[] = {{kCeluRows}};
constexpr SupportTable kGeluSupport[] = {{kGeluRows}};
constexpr SupportTable kSwishSupport[] = {{kSwishRows}};

constexpr Rule kSameRule = {"ELW-1",
                            "input and output agree in DataType, DimensionCount and Sizes"};
constexpr Rule kRules[] = {kSameRule};
constexpr Rule kSoftplusRules[] = {kSameRule, {"ACT-2", "before 6_4 Steepness is at least 1"}};

void Infer(const OperatorDesc& op, Inference& infer) {
  InferSameSizes("ELW-1", op, kInputTensor, infer);
}

void InferSoftplus(const OperatorDesc& op, Inference& infer) {
  Infer(op, infer);
  infer.Require(op[kSteepness] >= 1 || infer.level() >= Level(6, 4), "ACT-2", At(kSteepness),
                "{} is not at least 1; that needs 6_4", op[kSteepness]);
}

// The fields in the order in which the function has its numbers.
template <const FieldOf<float>&... kNumbers>
void SetNumbers(const OperatorDesc& op, ElementParameters& parameters) {
  parameters.numbers = {op[kNumbers]...};
}

constexpr OperatorInfo Activation(std::string_view name, std::string_view summary,
                                  std::span<const Field* const> fields, ElementWise family) {
  return {.name = name,
          .summary = summary,
          .fields = fields,
          .support = kSupport,
          .type_rule = "ELW-1",
          .rules = kRules,
          .infer = Infer,
          .family = family,
          .in_place = true,
          .fusable = true};
}

constexpr OperatorInfo Since(std::span<const SupportTable> support, OperatorInfo info) {
  info.support = support;
  return info;
}

// What the WebNN conformance suite grants.
template <uint64_t kFloat32, uint64_t kFloat16 = kFloat32>
constexpr OperatorInfo Tolerating(OperatorInfo info) {
  info.hardware_tolerance = [](const OperatorDesc& op) {
    return *op[kInputTensor].data_type == DataType::kFloat16 ? kFloat16 : kFloat32;
  };
  return info;
}

constexpr OperatorInfo Softplus() {
  OperatorInfo info =
      Tolerating<18>(Activation("ACTIVATION_SOFTPLUS", "ln(1 + e^(Steepness * x)) / Steepness",
                                kSoftplusFields, {F::kSoftplus, SetNumbers<kSteepness>}));
  info.rules = kSoftplusRules;
  info.infer = InferSoftplus;
  return info;
}

constexpr OperatorInfo Swish() {
  OperatorInfo info =
      Since(kSwishSupport, Activation("ACTIVATION_SWISH", "x / (1 + e^(-SigmoidInputScale * x))",
                                      kSwishFields, {F::kSwish, SetNumbers<kSigmoidInputScale>}));
  info.fusable = false;
  return info;
}

constexpr OperatorInfo kOperators[] = {
    Since(kCeluSupport,
          Activation("ACTIVATION_CELU", "max(0, x) + min(0, Alpha * (e^(x / Alpha) - 1))",
                     kAlphaFields, {F::kCelu, SetNumbers<kAlpha>})),
    Tolerating<18>(Activation("ACTIVATION_ELU", "x, and Alpha * (e^x - 1) below 0", kAlphaFields,
                              {F::kElu, SetNumbers<kAlpha>})),
    Since(kGeluSupport,
          Activation("ACTIVATION_GELU", "x * (1 + erf(x / sqrt(2))) / 2", kFields, {F::kGelu})),
    Activation("ACTIVATION_PARAMETRIC_SOFTPLUS", "Alpha * ln(1 + e^(Beta * x))", kAlphaBetaFields,
               {F::kParametricSoftplus, SetNumbers<kAlpha, kBeta>}),
    Activation("ACTIVATION_SCALED_ELU", "Gamma * x, and Gamma * Alpha * (e^x - 1) up to 0",
               kAlphaGammaFields, {F::kScaledElu, SetNumbers<kAlpha, kGamma>}),
    Activation("ACTIVATION_SCALED_TANH", "Alpha * tanh(Beta * x)", kAlphaBetaFields,
               {F::kScaledTanh, SetNumbers<kAlpha, kBeta>}),
    Tolerating<34, 3>(Activation("ACTIVATION_SIGMOID", "1 / (1 + e^-x)", kFields, {F::kSigmoid})),
    Softplus(),
    Swish(),
    Activation("ACTIVATION_TANH", "tanh x", kFields, {F::kTanh}),
};

}  // namespace

std::span<const OperatorInfo> SmoothActivationOperators() {
  return kOperators;
}

}  // namespace dmlop
