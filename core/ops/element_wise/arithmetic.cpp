// SPDX-License-Identifier: Apache-2.0
// Element-wise operators of arithmetic: one input, two, several types, constants, and bounds.
#include "core/ops/element_wise/row_makers.h"

namespace dmlop::arithmetic {
namespace {

using namespace element_wise;

// --- ELEMENT_WISE_IDENTITY -----------------------------------------------------------------------

void InferIdentity(const OperatorDesc& op, Inference& infer) {
  InferSameSizes("ID-1", op, kInputTensor, infer);
  RequireScalable("ID-6", op, infer);
}

// Hardware may multiply and add with one rounding or with two (ID-8).
Tolerance IdentityTolerance(const OperatorDesc& op) {
  return op.Has(kScaleBias) ? Ulp<2>(op) : Tolerance{};
}

// --- functions of numbers ------------------------------------------------------------------------

constexpr std::string_view kRoundingModes[] = {"HALVES_TO_NEAREST_EVEN", "TOWARD_ZERO",
                                               "TOWARD_INFINITY"};
constexpr auto kRoundingMode = field::Enum("RoundingMode", {"DML_ROUNDING_MODE_", kRoundingModes});
constexpr auto kRoundFields = Fields(kInputTensor, kOutputTensor, kRoundingMode);

void SetRounding(const OperatorDesc& op, ElementWiseCall& call) {
  constexpr F kFunctions[] = {F::kRoundHalvesToEven, F::kRoundTowardZero, F::kRoundHalvesAway};
  call.function = kFunctions[op[kRoundingMode]];
}

// --- two inputs, A and B -------------------------------------------------------------------------

// Arithmetic with two inputs, A and B.

constexpr auto kAdd1Fields = Fields(kATensor, kBTensor, kOutputTensor, kFusedActivation);

// --- ELEMENT_WISE_IF -----------------------------------------------------------------------------

constexpr auto kConditionTensor = field::Input("ConditionTensor", TypeVariable::kU);
constexpr auto kIfFields = Fields(kConditionTensor, kATensor, kBTensor, kOutputTensor);

std::vector<ConstTensorView> IfOperands(const OperatorDesc&, InputViews inputs, ElementWiseCall&) {
  return {inputs[1], inputs[2], inputs[0]};
}

// --- CAST ----------------------------------------------------------------------------------------

constexpr auto kCastFields = Fields(kInputTensor, kOtherOutput);

Tolerance CastTolerance(const OperatorDesc& op) {
  return {.ulp = IsFloat(*op[kOtherOutput].data_type) ? 1u : 0u};
}

// --- VALUE_SCALE_2D ------------------------------------------------------------------------------

constexpr auto kScale = field::Float("Scale");
constexpr auto kChannelCount = field::Count("ChannelCount");
constexpr auto kBias = field::Floats("Bias");
constexpr auto kScaleFields = Fields(kInputTensor, kOutputTensor, kScale, kChannelCount, kBias);

void InferScale(const OperatorDesc& op, Inference& infer) {
  Infer(op, infer);
  const size_t count = op[kBias].size();
  infer.Require(count == 1 || count == 3, "VS2D-2", At(kBias),
                "{} biases; expected 1 or 3, one for each channel", count);
  const Sizes& sizes = op.sizes(kInputTensor);
  if (sizes.size() != 4) return;  // no level allows that
  infer.Require(Agree(sizes[1], count), "VS2D-2", SizeAt(infer.tensor(kInputTensor), 1),
                "{} channels do not match {} biases", sizes[1], count);
}

std::vector<ConstTensorView> ScaleOperands(const OperatorDesc& op, InputViews inputs,
                                           ElementWiseCall& call) {
  call.parameters.numbers[0] = static_cast<double>(op[kScale]);
  const auto* biases = reinterpret_cast<const std::byte*>(op[kBias].data());
  return {inputs[0], {biases, DataType::kFloat32, {inputs[0].layout.sizes, {0, 1, 0, 0}}}};
}

// --- FILL_VALUE_SEQUENCE -------------------------------------------------------------------------

constexpr auto kValueStart = field::ScalarOf("ValueStart");
constexpr auto kValueDelta = field::Wrapping(field::ScalarOf("ValueDelta"));
constexpr auto kSequenceFields = Fields(kOutputTensor, kValueDataType, kValueStart, kValueDelta);

// The output's sizes follow from nothing else.
void InferSequence(const OperatorDesc&, Inference&) {}

void SetSequence(const OperatorDesc& op, ElementWiseCall& call) {
  call.parameters =
      TypedBounds(*op[kOutputTensor].data_type, op[kValueStart].bytes, op[kValueDelta].bytes);
}

// --- bounds, and gradients of bounded functions --------------------------------------------------

// Bounds, and gradients of bounded functions.

constexpr auto kMin = field::Float("Min");
constexpr auto kMax = field::Float("Max");
constexpr auto kMinMaxDataType = field::TypeOf("MinMaxDataType");
constexpr auto kTypedMin = field::ScalarOf("Min");
constexpr auto kTypedMax = field::ScalarOf("Max");

void SetMin(const OperatorDesc& op, ElementWiseCall& call) {
  call.parameters = FloatBounds(*op[kInputTensor].data_type, op[kMin], op[kMin]);
}

void SetBounds(const OperatorDesc& op, ElementWiseCall& call) {
  call.parameters = FloatBounds(*op[kInputTensor].data_type, op[kMin], op[kMax]);
}

void SetTypedBounds(const OperatorDesc& op, ElementWiseCall& call) {
  call.parameters =
      TypedBounds(*op[kInputTensor].data_type, op[kTypedMin].bytes, op[kTypedMax].bytes);
}

// --- functions of an element ---------------------------------------------------------------------

constexpr auto kThresholdFields = Fields(kInputTensor, kOutputTensor, kScaleBias, kMin);
constexpr auto kClipFields = Fields(kInputTensor, kOutputTensor, kScaleBias, kMin, kMax);
constexpr auto kClip1Fields =
    Fields(kInputTensor, kOutputTensor, kScaleBias, kMinMaxDataType, kTypedMin, kTypedMax);

constexpr OperatorInfo Clip(std::string_view name, std::span<const Field* const> fields,
                            ElementWise family) {
  return WithFields(fields, Unary(name, family));
}

// Only products of matrices and convolutions can fuse these.
constexpr OperatorInfo FusableClip(OperatorInfo info) {
  info.fusable = {static_cast<uint8_t>(HostBit(ActivationHost::kMatrices) |
                                       HostBit(ActivationHost::kConvolution)),
                  Level(6, 0)};
  return info;
}

// --- gradients -----------------------------------------------------------------------------------

constexpr auto kClipGradFields = Fields(kInputTensor, kInputGradient, kOutputGradient, kMin, kMax);
constexpr auto kClipGrad1Fields =
    Fields(kInputTensor, kInputGradient, kOutputGradient, kMinMaxDataType, kTypedMin, kTypedMax);

constexpr OperatorInfo kOperators[] = {
    OperatorRow("ELEMENT_WISE_IDENTITY", {kScaledFields, "ID-1", InferIdentity},
                ElementWise{F::kCast}, {.in_place = true, .hardware_tolerance = IdentityTolerance}),
    Scaled("ELEMENT_WISE_ABS", {F::kAbs}),
    Scaled("ELEMENT_WISE_CEIL", {F::kCeil}),
    Scaled("ELEMENT_WISE_FLOOR", {F::kFloor}),
    Unary("ELEMENT_WISE_NEGATE", {F::kNegate}),
    Tolerating<2>(Scaled("ELEMENT_WISE_RECIP", {F::kRecip})),
    WithFields(kRoundFields, Unary("ELEMENT_WISE_ROUND", {.prepare = SetRounding})),
    Unary("ELEMENT_WISE_SIGN", {F::kSign}),
    Tolerating<1>(Scaled("ELEMENT_WISE_SQRT", {F::kSqrt})),
    Tolerating<1>(Binary("ELEMENT_WISE_ADD", {F::kAdd})),
    WithFields(kAdd1Fields, Tolerating<1>(Binary("ELEMENT_WISE_ADD1", {F::kAdd}))),
    Binary("ELEMENT_WISE_DIFFERENCE_SQUARE", {F::kDifferenceSquare}),
    Tolerating<2>(Binary("ELEMENT_WISE_DIVIDE", {F::kDivide})),
    Tolerating<1>(Binary("ELEMENT_WISE_MAX", {F::kMax})),
    Binary("ELEMENT_WISE_MEAN", {F::kMean}),
    Binary("ELEMENT_WISE_MIN", {F::kMin}),
    Binary("ELEMENT_WISE_MODULUS_FLOOR", {F::kModulusFloor}),
    Binary("ELEMENT_WISE_MODULUS_TRUNCATE", {F::kModulusTruncate}),
    Tolerating<1>(Binary("ELEMENT_WISE_MULTIPLY", {F::kMultiply})),
    Tolerating<1>(Binary("ELEMENT_WISE_SUBTRACT", {F::kSubtract})),
    OperatorRow("ELEMENT_WISE_IF", {kIfFields, "ELW-1", Infer},
                ElementWise{.function = F::kIf, .operands = IfOperands}, {.reads_by_index = true}),
    OperatorRow("CAST", {kCastFields, "ELW-1", Infer}, ElementWise{F::kCast},
                {.hardware_tolerance = CastTolerance}),
    OperatorRow("VALUE_SCALE_2D", {kScaleFields, "ELW-1", InferScale},
                ElementWise{.function = F::kMultiplyAdd, .operands = ScaleOperands}),
    OperatorRow("FILL_VALUE_SEQUENCE", {kSequenceFields, "ELW-4", InferSequence},
                ElementWise{F::kSequence, SetSequence}),
    FusableClip(Clip("ELEMENT_WISE_CLIP", kClipFields, {F::kClip, SetBounds})),
    Clip("ELEMENT_WISE_CLIP1", kClip1Fields, {F::kClip, SetTypedBounds}),
    Clip("ELEMENT_WISE_CLIP_GRAD", kClipGradFields, {F::kClipGrad, SetBounds}),
    Clip("ELEMENT_WISE_CLIP_GRAD1", kClipGrad1Fields, {F::kClipGrad, SetTypedBounds}),
    Clip("ELEMENT_WISE_THRESHOLD", kThresholdFields, {F::kThreshold, SetMin}),
};

}  // namespace

extern const std::span<const OperatorInfo> kOperatorRows = kOperators;

}  // namespace dmlop::arithmetic
