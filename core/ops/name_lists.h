// SPDX-License-Identifier: Apache-2.0
// Names of operators that share fields, separated by blanks, for tables by field.
#pragma once

#include <string_view>

namespace dmlop {

inline constexpr std::string_view kConvolutions =
    "CONVOLUTION CONVOLUTION_INTEGER QUANTIZED_LINEAR_CONVOLUTION";
inline constexpr std::string_view kIntegerProducts =
    "MATRIX_MULTIPLY_INTEGER MATRIX_MULTIPLY_INTEGER_TO_FLOAT QUANTIZED_LINEAR_MATRIX_MULTIPLY";
inline constexpr std::string_view kMaxima = "MAX_POOLING MAX_POOLING1 MAX_POOLING2";

}  // namespace dmlop
