// SPDX-License-Identifier: Apache-2.0
// Element-wise operators of arithmetic: one input, two, several types, constants, and bounds.
#include "core/ops/element_wise/shared.h"

// Operators with one input.
namespace dmlop::unary {
namespace {

using namespace element_wise;

// --- ELEMENT_WISE_IDENTITY -----------------------------------------------------------------------

constexpr SupportRow kIdentityRows[] = {
    {Level(1, 0), 4, 5, {kFloats}},
    {Level(2, 1), 4, 5, {types::kUpTo32}},
    {Level(3, 0), 1, 8, {types::kUpTo32}},
    {Level(4, 1), 1, 8, {types::kAll}},
};

void InferIdentity(const OperatorDesc& op, Inference& infer) {
  InferSameSizes("ID-1", op, kInputTensor, infer);
  RequireScalable("ID-6", op, infer);
}

// Hardware may multiply and add with one rounding or with two (ID-8).
Tolerance IdentityTolerance(const OperatorDesc& op) {
  return op.Has(kScaleBias) ? Ulp<2>(op) : Tolerance{};
}

// --- functions of numbers ------------------------------------------------------------------------

constexpr SupportRow kRoundRows[] = {
    {Level(2, 1), 4, 4, {kFloats}},
    {Level(3, 0), 1, 8, {kFloats}},
};
constexpr SupportRow kAbsRows[] = {
    {Level(1, 0), 4, 4, {kFloats}},
    {Level(2, 1), 4, 4, {kFloats | kSignedTo32}},
    {Level(3, 0), 1, 8, {kFloats | kSignedTo32}},
    {Level(4, 1), 1, 8, {kFloats | kSigned}},
};
constexpr SupportRow kSignRows[] = {
    {Level(2, 0), 4, 4, {kFloats}},
    {Level(2, 1), 4, 4, {types::kUpTo32}},
    {Level(3, 0), 1, 8, {types::kUpTo32}},
    {Level(4, 1), 1, 8, {kUpTo64}},
};
constexpr SupportRow kNegateRows[] = {{Level(5, 0), 1, 8, {kFloats | kSigned}}};

constexpr std::string_view kRoundingModes[] = {"HALVES_TO_NEAREST_EVEN", "TOWARD_ZERO",
                                               "TOWARD_INFINITY"};
constexpr auto kRoundingMode = field::Enum("RoundingMode", {"DML_ROUNDING_MODE_", kRoundingModes});
constexpr const Field* kRoundFields[] = {&kInputTensor, &kOutputTensor, &kRoundingMode};

void SetRounding(const OperatorDesc& op, ElementWiseCall& call) {
  constexpr F kFunctions[] = {F::kRoundHalvesToEven, F::kRoundTowardZero, F::kRoundHalvesAway};
  call.function = kFunctions[op[kRoundingMode]];
}

constexpr OperatorInfo kOperators[] = {
    OperatorRow("ELEMENT_WISE_IDENTITY",
                {kScaledFields, kSupportBy<kIdentityRows>, "ID-1", InferIdentity},
                ElementWise{F::kCast}, {.in_place = true, .hardware_tolerance = IdentityTolerance}),
    Scaled("ELEMENT_WISE_ABS", kSupportBy<kAbsRows>, {F::kAbs}),
    Scaled("ELEMENT_WISE_CEIL", kSupportBy<kFloatRows>, {F::kCeil}),
    Scaled("ELEMENT_WISE_FLOOR", kSupportBy<kFloatRows>, {F::kFloor}),
    Unary("ELEMENT_WISE_NEGATE", kSupportBy<kNegateRows>, {F::kNegate}),
    Tolerating<2>(Scaled("ELEMENT_WISE_RECIP", kSupportBy<kFloatRows>, {F::kRecip})),
    WithFields(kRoundFields,
               Unary("ELEMENT_WISE_ROUND", kSupportBy<kRoundRows>, {.prepare = SetRounding})),
    Unary("ELEMENT_WISE_SIGN", kSupportBy<kSignRows>, {F::kSign}),
    Tolerating<1>(Scaled("ELEMENT_WISE_SQRT", kSupportBy<kFloatRows>, {F::kSqrt})),
};

}  // namespace

extern const std::span<const OperatorInfo> kOperatorRows = kOperators;

}  // namespace dmlop::unary

// Arithmetic with two inputs, A and B.
namespace dmlop::binary {
namespace {

using namespace element_wise;

constexpr DataTypes kFloatsAnd32 = kFloats | types::kInt32s;

// --- sums, differences, products -----------------------------------------------------------------

constexpr SupportRow kAddRows[] = {
    {Level(1, 0), 4, 5, {kFloats}},      {Level(2, 1), 4, 5, {kFloatsAnd32}},
    {Level(3, 0), 1, 8, {kFloatsAnd32}}, {Level(4, 1), 1, 8, {kFloatsAnd32 | types::kInt64s}},
    {Level(5, 1), 1, 8, {kUpTo64}},
};
constexpr SupportRow kSubtractRows[] = {
    {Level(1, 0), 4, 4, {kFloats}},      {Level(2, 1), 4, 4, {kFloatsAnd32}},
    {Level(3, 0), 1, 8, {kFloatsAnd32}}, {Level(4, 1), 1, 8, {kFloatsAnd32 | types::kInt64s}},
    {Level(5, 1), 1, 8, {kUpTo64}},
};
constexpr SupportRow kMeanRows[] = {
    {Level(1, 0), 4, 4, {kFloats}},
    {Level(2, 1), 4, 4, {kFloatsAnd32}},
    {Level(3, 0), 1, 8, {kFloatsAnd32}},
};
constexpr SupportRow kDifferenceSquareRows[] = {{Level(3, 1), 1, 8, {kFloatsAnd32}}};

// --- ADD1 ----------------------------------------------------------------------------------------

constexpr SupportRow kAdd1Rows[] = {
    {Level(2, 0), 4, 5, {kFloats}},
    {Level(3, 0), 1, 8, {kFloats}},
};
constexpr const Field* kAdd1Fields[] = {&kATensor, &kBTensor, &kOutputTensor, &kFusedActivation};

// --- quotients and remainders --------------------------------------------------------------------

constexpr SupportRow kDivideRows[] = {
    {Level(1, 0), 4, 4, {kFloats}},      {Level(2, 1), 4, 4, {kFloatsAnd32}},
    {Level(3, 0), 1, 8, {kFloatsAnd32}}, {Level(5, 1), 1, 8, {types::kUpTo32}},
    {Level(6, 0), 1, 8, {kUpTo64}},
};
constexpr SupportRow kModulusRows[] = {
    {Level(2, 1), 4, 4, {types::kUpTo32}},
    {Level(3, 0), 1, 8, {types::kUpTo32}},
    {Level(6, 0), 1, 8, {kUpTo64}},
};

constexpr OperatorInfo kOperators[] = {
    Tolerating<1>(Binary("ELEMENT_WISE_ADD", kSupportBy<kAddRows>, {F::kAdd})),
    WithFields(kAdd1Fields,
               Tolerating<1>(Binary("ELEMENT_WISE_ADD1", kSupportBy<kAdd1Rows>, {F::kAdd}))),
    Binary("ELEMENT_WISE_DIFFERENCE_SQUARE", kSupportBy<kDifferenceSquareRows>,
           {F::kDifferenceSquare}),
    Tolerating<2>(Binary("ELEMENT_WISE_DIVIDE", kSupportBy<kDivideRows>, {F::kDivide})),
    Tolerating<1>(Binary("ELEMENT_WISE_MAX", kSupportBy<kNumberRows>, {F::kMax})),
    Binary("ELEMENT_WISE_MEAN", kSupportBy<kMeanRows>, {F::kMean}),
    Binary("ELEMENT_WISE_MIN", kSupportBy<kNumberRows>, {F::kMin}),
    Binary("ELEMENT_WISE_MODULUS_FLOOR", kSupportBy<kModulusRows>, {F::kModulusFloor}),
    Binary("ELEMENT_WISE_MODULUS_TRUNCATE", kSupportBy<kModulusRows>, {F::kModulusTruncate}),
    Tolerating<1>(Binary("ELEMENT_WISE_MULTIPLY", kSupportBy<kAddRows>, {F::kMultiply})),
    Tolerating<1>(Binary("ELEMENT_WISE_SUBTRACT", kSupportBy<kSubtractRows>, {F::kSubtract})),
};

}  // namespace

extern const std::span<const OperatorInfo> kOperatorRows = kOperators;

}  // namespace dmlop::binary

// Operators on tensors of several types: IF and CAST.
namespace dmlop::select_cast {
namespace {

using namespace element_wise;

// --- ELEMENT_WISE_IF -----------------------------------------------------------------------------

constexpr auto kConditionTensor = field::Input("ConditionTensor", TypeVariable::kU);
constexpr const Field* kIfFields[] = {&kConditionTensor, &kATensor, &kBTensor, &kOutputTensor};
constexpr DataTypes kUint8 = {DataType::kUint8};
constexpr SupportRow kIfRows[] = {
    {Level(2, 0), 4, 4, {DataTypes{DataType::kFloat16}, kUint8}},
    {Level(2, 1), 4, 4, {types::kUpTo32, kUint8}},
    {Level(3, 0), 1, 8, {types::kUpTo32, kUint8}},
    {Level(5, 0), 1, 8, {types::kAll, kUint8}},
};

std::vector<ConstTensorView> IfOperands(const OperatorDesc&, InputViews inputs, ElementWiseCall&) {
  return {inputs[1], inputs[2], inputs[0]};
}

// --- CAST ----------------------------------------------------------------------------------------

constexpr const Field* kCastFields[] = {&kInputTensor, &kOtherOutput};
constexpr DataTypes kNarrow = kFloats | types::kInt16s | types::kInt8s;
constexpr SupportRow kCastRows[] = {
    {Level(1, 0), 4, 4, {kNarrow, kNarrow}},
    {Level(3, 0), 4, 4, {kUpTo64, kUpTo64}},
    {Level(3, 1), 1, 8, {kUpTo64, kUpTo64}},
    {Level(4, 1), 1, 8, {types::kAll, types::kAll}},
};

Tolerance CastTolerance(const OperatorDesc& op) {
  return {.ulp = IsFloat(*op[kOtherOutput].data_type) ? 1u : 0u};
}

constexpr OperatorInfo kOperators[] = {
    OperatorRow("ELEMENT_WISE_IF", {kIfFields, kSupportBy<kIfRows>, "ELW-1", Infer},
                ElementWise{.function = F::kIf, .operands = IfOperands}, {.values_choose = true}),
    OperatorRow("CAST", {kCastFields, kSupportBy<kCastRows>, "ELW-1", Infer}, ElementWise{F::kCast},
                {.hardware_tolerance = CastTolerance}),
};

}  // namespace

extern const std::span<const OperatorInfo> kOperatorRows = kOperators;

}  // namespace dmlop::select_cast

// VALUE_SCALE_2D and FILL_VALUE_SEQUENCE: products with a number, and sums.
namespace dmlop::affine {
namespace {

using namespace element_wise;

// --- VALUE_SCALE_2D ------------------------------------------------------------------------------

constexpr auto kScale = field::Float("Scale");
constexpr auto kChannelCount = field::Count("ChannelCount");
constexpr auto kBias = field::Floats("Bias");
constexpr const Field* kScaleFields[] = {&kInputTensor, &kOutputTensor, &kScale, &kChannelCount,
                                         &kBias};
constexpr SupportRow kScaleRows[] = {{Level(1, 0), 4, 4, {kFloats}}};

void InferScale(const OperatorDesc& op, Inference& infer) {
  Infer(op, infer);
  const size_t count = op[kBias].size();
  infer.Require(count == 1 || count == 3, "VS2D-2", At(kBias),
                "{} biases; expected 1 or 3, one for each channel", count);
  const Sizes& sizes = op.sizes(kInputTensor);
  if (sizes.size() != 4) return;  // no level allows that
  infer.Require(sizes[1] == count, "VS2D-2", SizeAt(infer.tensor(kInputTensor), 1),
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
constexpr const Field* kSequenceFields[] = {&kOutputTensor, &kValueDataType, &kValueStart,
                                            &kValueDelta};
constexpr SupportRow kSequenceRows[] = {
    {Level(2, 1), 4, 4, {types::kUpTo32}},
    {Level(4, 0), 1, 8, {types::kUpTo32}},
    {Level(5, 0), 1, 8, {kUpTo64}},
};

// The output's sizes follow from nothing else.
void InferSequence(const OperatorDesc&, Inference&) {}

void SetSequence(const OperatorDesc& op, ElementWiseCall& call) {
  call.parameters =
      TypedBounds(*op[kOutputTensor].data_type, op[kValueStart].bytes, op[kValueDelta].bytes);
}

constexpr OperatorInfo kOperators[] = {
    OperatorRow("VALUE_SCALE_2D", {kScaleFields, kSupportBy<kScaleRows>, "ELW-1", InferScale},
                ElementWise{.function = F::kMultiplyAdd, .operands = ScaleOperands}),
    OperatorRow("FILL_VALUE_SEQUENCE",
                {kSequenceFields, kSupportBy<kSequenceRows>, "ELW-4", InferSequence},
                ElementWise{F::kSequence, SetSequence}),
};

}  // namespace

extern const std::span<const OperatorInfo> kOperatorRows = kOperators;

}  // namespace dmlop::affine

// Bounds, and gradients of bounded functions.
namespace dmlop::clip {
namespace {

using namespace element_wise;

constexpr SupportRow kThresholdRows[] = {
    {Level(1, 0), 4, 4, {kFloats}},
    {Level(2, 1), 4, 4, {types::kUpTo32}},
    {Level(3, 0), 1, 8, {types::kUpTo32}},
};
constexpr SupportRow kClip1Rows[] = {{Level(5, 0), 1, 8, {kUpTo64}}};
constexpr SupportRow kClipGradRows[] = {
    {Level(3, 1), 1, 8, {types::kUpTo32}},
    {Level(5, 0), 1, 8, {kUpTo64}},
};

// --- bounds --------------------------------------------------------------------------------------

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

constexpr const Field* kThresholdFields[] = {&kInputTensor, &kOutputTensor, &kScaleBias, &kMin};
constexpr const Field* kClipFields[] = {&kInputTensor, &kOutputTensor, &kScaleBias, &kMin, &kMax};
constexpr const Field* kClip1Fields[] = {&kInputTensor,    &kOutputTensor, &kScaleBias,
                                         &kMinMaxDataType, &kTypedMin,     &kTypedMax};

constexpr OperatorInfo Clip(std::string_view name, std::span<const Field* const> fields,
                            std::span<const SupportTable> support, ElementWise family) {
  return WithFields(fields, Unary(name, support, family));
}

// Only products of matrices and convolutions can fuse these.
constexpr OperatorInfo FusableClip(OperatorInfo info) {
  info.fusable = {static_cast<uint8_t>(HostBit(ActivationHost::kMatrices) |
                                       HostBit(ActivationHost::kConvolution)),
                  Level(6, 0)};
  return info;
}

// --- gradients -----------------------------------------------------------------------------------

constexpr const Field* kClipGradFields[] = {&kInputTensor, &kInputGradient, &kOutputGradient, &kMin,
                                            &kMax};
constexpr const Field* kClipGrad1Fields[] = {&kInputTensor,    &kInputGradient, &kOutputGradient,
                                             &kMinMaxDataType, &kTypedMin,      &kTypedMax};

constexpr OperatorInfo kOperators[] = {
    FusableClip(
        Clip("ELEMENT_WISE_CLIP", kClipFields, kSupportBy<kNumberRows>, {F::kClip, SetBounds})),
    Clip("ELEMENT_WISE_CLIP1", kClip1Fields, kSupportBy<kClip1Rows>, {F::kClip, SetTypedBounds}),
    Clip("ELEMENT_WISE_CLIP_GRAD", kClipGradFields, kSupportBy<kClipGradRows>,
         {F::kClipGrad, SetBounds}),
    Clip("ELEMENT_WISE_CLIP_GRAD1", kClipGrad1Fields, kSupportBy<kClip1Rows>,
         {F::kClipGrad, SetTypedBounds}),
    Clip("ELEMENT_WISE_THRESHOLD", kThresholdFields, kSupportBy<kThresholdRows>,
         {F::kThreshold, SetMin}),
};

}  // namespace

extern const std::span<const OperatorInfo> kOperatorRows = kOperators;

}  // namespace dmlop::clip
