// SPDX-License-Identifier: Apache-2.0
// Meanings of fields that several operators define, each with its own limits and types.
#pragma once

#include <string_view>

namespace dmlop::meaning {

inline constexpr std::string_view kAScaleTensor =
    "The value of one unit of ATensor, one number for all or one for each row.";
inline constexpr std::string_view kATensor = "The operand a.";
inline constexpr std::string_view kAZeroPointTensor =
    "The integer that stands for 0 in ATensor, one for all or one for each row; without it, 0.";
inline constexpr std::string_view kAxes =
    "The dimensions to work along, counted from 0; the elements along all of them make one slice.";
inline constexpr std::string_view kAxisCount = "The length of Axes.";
inline constexpr std::string_view kBScaleTensor =
    "The value of one unit of BTensor, one number for all or one for each column.";
inline constexpr std::string_view kBTensor = "The operand b.";
inline constexpr std::string_view kBZeroPointTensor =
    "The integer that stands for 0 in BTensor, one for all or one for each column; without it, 0.";
inline constexpr std::string_view kDilations =
    "The step from one element of a window to the next in each spatial dimension; 1 leaves no "
    "gaps.";
inline constexpr std::string_view kEndPadding =
    "How many places without elements windows may reach behind the last element, in each spatial "
    "dimension.";
inline constexpr std::string_view kGroupCount =
    "The number of groups of channels; the outputs of each are computed from its own inputs alone.";
inline constexpr std::string_view kInputGradientTensor =
    "The gradient of what the forward operator returns.";
inline constexpr std::string_view kInputScaleTensor = "The value of one unit of the input.";
inline constexpr std::string_view kInputTensor = "The elements to compute with.";
inline constexpr std::string_view kInputZeroPointTensor =
    "The integer that stands for 0 in the input; without it, 0.";
inline constexpr std::string_view kInterpolationMode =
    "NEAREST_NEIGHBOR takes one element, LINEAR the weighted mean of its neighbours.";
inline constexpr std::string_view kMax = "The upper bound, which is also the result of NaN.";
inline constexpr std::string_view kMeanTensor =
    "The mean, with the size of the input or 1 in each dimension.";
inline constexpr std::string_view kMin =
    "The lower bound; where it is above Max, it is the result.";
inline constexpr std::string_view kOutputGradientTensor =
    "The gradient of what the forward operator takes.";
inline constexpr std::string_view kOutputScaleTensor = "The value of one unit of the output.";
inline constexpr std::string_view kOutputTensor = "The result.";
inline constexpr std::string_view kOutputZeroPointTensor =
    "The integer that stands for 0 in the output; without it, 0.";
inline constexpr std::string_view kPaddingValue =
    "The number around the input with PaddingMode CONSTANT; other modes leave it unused.";
inline constexpr std::string_view kScaleTensor =
    "The factor of the normalized elements, with the size of the input or 1 in each dimension.";
inline constexpr std::string_view kStartPadding =
    "How many places without elements windows may reach before the first element, in each spatial "
    "dimension.";
inline constexpr std::string_view kStrides =
    "The step from one window to the next in each spatial dimension.";
inline constexpr std::string_view kValue = "The number to fill with.";
inline constexpr std::string_view kValueDataType =
    "The data type of the values, which is that of the output.";
inline constexpr std::string_view kVarianceTensor =
    "The variance, with the size of the input or 1 in each dimension.";

}  // namespace dmlop::meaning

// --- lists of names ------------------------------------------------------------------------------

// Names of operators that share fields, separated by blanks, for tables by field.

namespace dmlop {

inline constexpr std::string_view kConvolutions =
    "CONVOLUTION CONVOLUTION_INTEGER QUANTIZED_LINEAR_CONVOLUTION";
inline constexpr std::string_view kIntegerProducts =
    "MATRIX_MULTIPLY_INTEGER MATRIX_MULTIPLY_INTEGER_TO_FLOAT QUANTIZED_LINEAR_MATRIX_MULTIPLY";
inline constexpr std::string_view kMaxima = "MAX_POOLING MAX_POOLING1 MAX_POOLING2";

}  // namespace dmlop
