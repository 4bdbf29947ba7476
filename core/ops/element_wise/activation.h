// SPDX-License-Identifier: Apache-2.0
// Shared by the rows of activations.
#pragma once

#include "core/ops/element_wise/shared.h"

namespace dmlop::element_wise {

inline constexpr auto kAlpha = field::Float("Alpha").Means("A factor of the formula.");
inline constexpr auto kBeta = field::Float("Beta").Means("An addend of the formula.");
inline constexpr const Field* kAlphaFields[] = {&kInputTensor, &kOutputTensor, &kAlpha};
inline constexpr const Field* kAlphaBetaFields[] = {&kInputTensor, &kOutputTensor, &kAlpha, &kBeta};

inline constexpr SupportRow kActivationRows[] = {
    {Level(1, 0), 4, 4, {kFloats}},
    {Level(2, 0), 4, 5, {kFloats}},
    {Level(3, 0), 1, 8, {kFloats}},
};
inline constexpr SupportRow kLateRows[] = {{Level(6, 2), 1, 8, {kFloats}}};
inline constexpr SupportTable kActivationSupport[] = {{kActivationRows}};
inline constexpr SupportTable kLateSupport[] = {{kLateRows}};

// Passes the fields to the function in the order of its parameters.
template <const FieldOf<float>&... kNumbers>
void SetNumbers(const OperatorDesc& op, ElementWiseCall& call) {
  call.parameters.numbers = {op[kNumbers]...};
}

constexpr OperatorInfo Activation(std::string_view name, std::string_view summary,
                                  std::span<const Field* const> fields, const ElementWise& family) {
  OperatorInfo info = WithFields(fields, Unary(name, summary, kActivationSupport, family));
  info.fusable = kFusableEverywhere;
  return info;
}

constexpr OperatorInfo Since(std::span<const SupportTable> support, OperatorInfo info) {
  info.support = support;
  return info;
}

}  // namespace dmlop::element_wise
