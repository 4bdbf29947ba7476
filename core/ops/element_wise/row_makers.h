// SPDX-License-Identifier: Apache-2.0
// Makes the rows of element-wise operators, with their fields and checks.
#pragma once

#include "core/ops/hardware_tolerance.h"
#include "core/ops/signature.h"

namespace dmlop::element_wise {

using F = ElementWiseFunction;

// --- fields --------------------------------------------------------------------------------------

inline constexpr auto kUnaryFields = Fields(kInputTensor, kOutputTensor);
inline constexpr auto kScaledFields = Fields(kInputTensor, kOutputTensor, kScaleBias);
inline constexpr auto kBinaryFields = Fields(kATensor, kBTensor, kOutputTensor);

// An output with its own type.
inline constexpr auto kOtherOutput = field::Output("OutputTensor", TypeVariable::kU);

inline constexpr auto kGradientFields = Fields(kInputTensor, kInputGradient, kOutputGradient);

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

constexpr OperatorInfo Unary(std::string_view name, const ElementWise& family) {
  return OperatorRow(name, {kUnaryFields, "ELW-1", Infer}, family, {.in_place = true});
}

constexpr OperatorInfo WithFields(std::span<const Field* const> fields, OperatorInfo info) {
  info.fields = fields;
  return info;
}

constexpr OperatorInfo Scaled(std::string_view name, const ElementWise& family) {
  return WithFields(kScaledFields, Unary(name, family));
}

constexpr OperatorInfo Binary(std::string_view name, const ElementWise& family) {
  return WithFields(kBinaryFields, Unary(name, family));
}

}  // namespace dmlop::element_wise
