// SPDX-License-Identifier: Apache-2.0
// Groups of operators by what they do, for users who look for one.
#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "core/ops/operator.h"

namespace dmlop {

struct OperatorGroup {
  std::string_view name;   // "reduction"
  std::string_view title;  // a short description
  std::vector<const OperatorInfo*> operators = {};
};

// Each operator is in exactly one group.
std::span<const OperatorGroup> OperatorGroups();

// Operators with the same fields, separated by blanks, for tables of what fields mean.
inline constexpr std::string_view kConvolutions =
    "CONVOLUTION CONVOLUTION_INTEGER QUANTIZED_LINEAR_CONVOLUTION";
inline constexpr std::string_view kIntegerProducts =
    "MATRIX_MULTIPLY_INTEGER MATRIX_MULTIPLY_INTEGER_TO_FLOAT QUANTIZED_LINEAR_MATRIX_MULTIPLY";
inline constexpr std::string_view kMaxima = "MAX_POOLING MAX_POOLING1 MAX_POOLING2";

}  // namespace dmlop
