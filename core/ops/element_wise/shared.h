// SPDX-License-Identifier: Apache-2.0
// Shared by the rows of element-wise operators: fields, tables of types, rules, checks.
#pragma once

#include "core/ops/hardware_tolerance.h"
#include "core/ops/inference.h"

namespace dmlop::element_wise {

using F = ElementWiseFunction;
using DataTypes = DataTypeSet;

// --- fields --------------------------------------------------------------------------------------

inline constexpr const Field* kUnaryFields[] = {&kInputTensor, &kOutputTensor};
inline constexpr const Field* kScaledFields[] = {&kInputTensor, &kOutputTensor, &kScaleBias};
inline constexpr const Field* kBinaryFields[] = {&kATensor, &kBTensor, &kOutputTensor};

// An output with its own type.
inline constexpr auto kOtherOutput =
    field::Output("OutputTensor", TypeVariable::kU).Means(meaning::kOutputTensor);

inline constexpr auto kInputGradient =
    field::Input("InputGradientTensor").Means(meaning::kInputGradientTensor);
inline constexpr auto kOutputGradient =
    field::Output("OutputGradientTensor").Means(meaning::kOutputGradientTensor);
inline constexpr const Field* kGradientFields[] = {&kInputTensor, &kInputGradient,
                                                   &kOutputGradient};

// --- types ---------------------------------------------------------------------------------------

inline constexpr DataTypes kFloats = types::kFloats;
inline constexpr DataTypes kSignedTo32 = {DataType::kInt32, DataType::kInt16, DataType::kInt8};
inline constexpr DataTypes kSigned = kSignedTo32 | DataTypes{DataType::kInt64};
inline constexpr DataTypes kUnsignedTo32 = {DataType::kUint32, DataType::kUint16, DataType::kUint8};
inline constexpr DataTypes kUpTo64 = types::kUpTo32 | types::kInt64s;
inline constexpr DataTypes kTruth = {DataType::kUint32, DataType::kUint8};

// --- rules ---------------------------------------------------------------------------------------

inline constexpr Rule kSame = {"ELW-1", "all tensors agree in DataType, DimensionCount and Sizes"};
inline constexpr Rule kSameSizes = {"ELW-1", "all tensors agree in DimensionCount and Sizes"};
inline constexpr Rule kNoScale64 = {"SB-4", "no ScaleBias for 64-bit types"};
inline constexpr Rule kSameRules[] = {kSame};
inline constexpr Rule kScaledRules[] = {kSame, kNoScale64};

// --- checks --------------------------------------------------------------------------------------

inline void RequireScalable(std::string_view code, const OperatorDesc& op, Inference& infer) {
  const DataType type = *op[kInputTensor].data_type;
  infer.Require(!op.Has(kScaleBias) || BitWidth(type) != 64, code, At(kScaleBias),
                "ScaleBias is not supported for {}", Name(type));
}

inline void InferUnary(const OperatorDesc& op, Inference& infer) {
  InferSameSizes("ELW-1", op, kInputTensor, infer);
}

inline void InferScaled(const OperatorDesc& op, Inference& infer) {
  InferUnary(op, infer);
  RequireScalable("SB-4", op, infer);
}

inline void InferBinary(const OperatorDesc& op, Inference& infer) {
  infer.RequireSizes("ELW-1", infer.tensor(kBTensor), op.sizes(kATensor));
  infer.Output("ELW-1", kOutputTensor, op.sizes(kATensor));
}

inline void InferGradient(const OperatorDesc& op, Inference& infer) {
  infer.RequireSizes("ELW-1", infer.tensor(kInputGradient), op.sizes(kInputTensor));
  infer.Output("ELW-1", kOutputGradient, op.sizes(kInputTensor));
}

// --- rows ----------------------------------------------------------------------------------------

constexpr OperatorInfo Unary(std::string_view name, std::string_view summary,
                             std::span<const SupportTable> support, const ElementWise& family) {
  return {.name = name,
          .summary = summary,
          .fields = kUnaryFields,
          .support = support,
          .type_rule = "ELW-1",
          .rules = kSameRules,
          .infer = InferUnary,
          .family = family,
          .in_place = true};
}

constexpr OperatorInfo Scaled(std::string_view name, std::string_view summary,
                              std::span<const SupportTable> support, const ElementWise& family) {
  OperatorInfo info = Unary(name, summary, support, family);
  info.fields = kScaledFields;
  return info;
}

constexpr OperatorInfo Binary(std::string_view name, std::string_view summary,
                              std::span<const SupportTable> support, const ElementWise& family) {
  OperatorInfo info = Unary(name, summary, support, family);
  info.fields = kBinaryFields;
  info.infer = InferBinary;
  return info;
}

}  // namespace dmlop::element_wise
