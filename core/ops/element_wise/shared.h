// SPDX-License-Identifier: Apache-2.0
// Shared by the rows of element-wise operators: fields, tables of types, rules, checks.
#pragma once

#include "core/ops/hardware_tolerance.h"
#include "core/ops/signature.h"

namespace dmlop::element_wise {

using F = ElementWiseFunction;
using DataTypes = DataTypeSet;

// --- fields --------------------------------------------------------------------------------------

inline constexpr const Field* kUnaryFields[] = {&kInputTensor, &kOutputTensor};
inline constexpr const Field* kScaledFields[] = {&kInputTensor, &kOutputTensor, &kScaleBias};
inline constexpr const Field* kBinaryFields[] = {&kATensor, &kBTensor, &kOutputTensor};

// An output with its own type.
inline constexpr auto kOtherOutput = field::Output("OutputTensor", TypeVariable::kU);

inline constexpr const Field* kGradientFields[] = {&kInputTensor, &kInputGradient,
                                                   &kOutputGradient};

// --- types ---------------------------------------------------------------------------------------

inline constexpr DataTypes kFloats = types::kFloats;
inline constexpr DataTypes kSignedTo32 = {DataType::kInt32, DataType::kInt16, DataType::kInt8};
inline constexpr DataTypes kSigned = kSignedTo32 | DataTypes{DataType::kInt64};
inline constexpr DataTypes kUnsignedTo32 = {DataType::kUint32, DataType::kUint16, DataType::kUint8};
inline constexpr DataTypes kUpTo64 = types::kUpTo32 | types::kInt64s;
inline constexpr DataTypes kTruth = {DataType::kUint32, DataType::kUint8};

inline constexpr SupportRow kFloatRows[] = {
    {Level(1, 0), 4, 4, {kFloats}},
    {Level(3, 0), 1, 8, {kFloats}},
};
inline constexpr SupportRow kNumberRows[] = {
    {Level(1, 0), 4, 4, {kFloats}},
    {Level(2, 1), 4, 4, {types::kUpTo32}},
    {Level(3, 0), 1, 8, {types::kUpTo32}},
    {Level(5, 0), 1, 8, {kUpTo64}},
};

// --- checks --------------------------------------------------------------------------------------

inline void RequireScalable(std::string_view code, const OperatorDesc& op, Inference& infer) {
  if (op.find_if_known(kScaleBias) == nullptr) return;
  const DataType type = *op[kInputTensor].data_type;
  infer.Require(BitWidth(type) != 64, code, At(kScaleBias), "ScaleBias is not supported for {}",
                Name(type));
}

inline void Infer(const OperatorDesc& op, Inference& infer) {
  InferEqualSizes("ELW-1", op, infer);
  RequireScalable("SB-4", op, infer);
}

// --- rows ----------------------------------------------------------------------------------------

constexpr OperatorInfo Unary(std::string_view name, std::span<const SupportTable> support,
                             const ElementWise& family) {
  return OperatorRow(name, {kUnaryFields, support, "ELW-1", Infer}, family, {.in_place = true});
}

constexpr OperatorInfo WithFields(std::span<const Field* const> fields, OperatorInfo info) {
  info.fields = fields;
  return info;
}

constexpr OperatorInfo Scaled(std::string_view name, std::span<const SupportTable> support,
                              const ElementWise& family) {
  return WithFields(kScaledFields, Unary(name, support, family));
}

constexpr OperatorInfo Binary(std::string_view name, std::span<const SupportTable> support,
                              const ElementWise& family) {
  return WithFields(kBinaryFields, Unary(name, support, family));
}

// --- quantized tensors ---------------------------------------------------------------------------

inline constexpr auto kQuantizedType = TypeVariable::kU;

// Sets the bounds of a function to the range of an integer type.
void SetRange(DataType type, ElementWiseCall& call);

// Zeros for every element of a layout, in place of zero points.
ConstTensorView Zeros(DataType type, const Layout& like);

// Likewise, but the middle of the range of an unsigned type; 0 for a signed one.
ConstTensorView Middles(DataType type, const Layout& like);

}  // namespace dmlop::element_wise
