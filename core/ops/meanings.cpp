// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "core/base/text.h"
#include "core/ops/meanings.h"
#include "core/ops/operator.h"

namespace dmlop {
namespace {

// The meaning of a field in some operators, if it differs from the usual one.
struct Row {
  std::string_view operators;  // separated by blanks
  std::string_view field;
  std::string_view meaning;
};

constexpr std::string_view kImages = "The images, {batch, channels, spatial sizes}.";
constexpr std::string_view kPlanes = "The images, {batch, channels, height, width}.";
constexpr std::string_view kAverages =
    "AVERAGE_POOLING AVERAGE_POOLING1 QUANTIZED_LINEAR_AVERAGE_POOLING";
constexpr std::string_view kRegions = "ROI_ALIGN ROI_ALIGN1 ROI_POOLING";
constexpr std::string_view kNetworks = "RNN LSTM GRU";
constexpr std::string_view kRows = "ACTIVATION_SOFTMAX ACTIVATION_LOG_SOFTMAX ACTIVATION_HARDMAX";
constexpr std::string_view kTuples = "GATHER_ND GATHER_ND1 SCATTER_ND";
constexpr std::string_view kClipGradients = "ELEMENT_WISE_CLIP_GRAD ELEMENT_WISE_CLIP_GRAD1";

constexpr Row kOwn[] = {
    {"ACTIVATION_ELU ACTIVATION_CELU", "Alpha", "Far below 0 the result approaches -Alpha."},
    {"ACTIVATION_HARD_SIGMOID ACTIVATION_HARD_SWISH", "Alpha", "The slope between both bounds."},
    {"ACTIVATION_LEAKY_RELU", "Alpha", "The factor of elements below 0."},
    {"ACTIVATION_LINEAR", "Alpha", "The factor of each element."},
    {"ACTIVATION_SCALED_ELU", "Alpha", "Far below 0 the result approaches -Gamma * Alpha."},
    {"ACTIVATION_SCALED_TANH ACTIVATION_PARAMETRIC_SOFTPLUS", "Alpha", "The factor of the result."},
    {"ACTIVATION_SCALED_TANH ACTIVATION_PARAMETRIC_SOFTPLUS", "Beta",
     "The factor of each element before the function."},
    {"ACTIVATION_THRESHOLDED_RELU", "Alpha", "Elements up to this threshold become 0."},
    {"ACTIVATION_PARAMETERIZED_RELU", "SlopeTensor",
     "The factor of each element that is below 0, with the sizes of the input."},
    {kRows, "InputTensor", "Rows along the last dimension; sizes but the last two are 1."},
    {"ARGMAX ARGMIN", "OutputTensor",
     "The index of the extreme of each slice, with the size 1 along the axes; several axes are "
     "counted in row-major order."},
    {"ARGMAX ARGMIN", "AxisDirection",
     "Which of equal elements is told: the first one with INCREASING, the last with DECREASING."},
    {kAverages, "InputTensor", kImages},
    {kAverages, "OutputTensor", "The average of each window."},
    {"AVERAGE_POOLING_GRAD", "IncludePadding",
     "Whether places of the padding count in the averages whose gradient this is."},
    {"BATCH_NORMALIZATION_GRAD", "Epsilon",
     "The number that is added to the variance; without it, 0."},
    {"BATCH_NORMALIZATION_TRAINING", "ScaleTensor",
     "The factor of the normalized elements; where its size is 1, that dimension belongs to the "
     "slices."},
    {"BATCH_NORMALIZATION_TRAINING", "BiasTensor",
     "The addend behind the scale, with the sizes of ScaleTensor."},
    {"CAST", "OutputTensor", "The elements in the type of this tensor."},
    {kConvolutions, "InputTensor", kImages},
    {kConvolutions, "OutputTensor", "The result, {batch, output channels, spatial sizes}."},
    {"CUMULATIVE_SUMMATION", "OutputTensor", "Each element, with all before it added."},
    {"CUMULATIVE_PRODUCT", "OutputTensor", "Each element, multiplied by all before it."},
    {"DEPTH_TO_SPACE DEPTH_TO_SPACE1", "InputTensor",
     "The deep side, {batch, channels * BlockSize * BlockSize, height, width}."},
    {"DEPTH_TO_SPACE DEPTH_TO_SPACE1", "OutputTensor",
     "The wide side, {batch, channels, height * BlockSize, width * BlockSize}."},
    {"DIAGONAL_MATRIX1", "InputTensor", "The elements elsewhere; without it, 0."},
    {"DYNAMIC_QUANTIZE_LINEAR", "OutputZeroPointTensor",
     "The integer that stands for 0 in the output, one number that follows from the input."},
    {"DYNAMIC_QUANTIZE_LINEAR", "OutputScaleTensor",
     "The value of one unit of the output, one number that follows from the input's range."},
    {"ELEMENT_WISE_ATAN_YX", "ATensor", "The ordinates y."},
    {"ELEMENT_WISE_ATAN_YX", "BTensor", "The abscissas x."},
    {"ELEMENT_WISE_BIT_SHIFT_LEFT ELEMENT_WISE_BIT_SHIFT_RIGHT", "BTensor",
     "By how many bits to shift each element."},
    {kClipGradients, "Min", "The gradient is 0 where the element is not above it."},
    {kClipGradients, "Max", "The gradient is 0 where the element is not below it."},
    {kClipGradients, "InputTensor", "The elements that the forward operator takes."},
    {"ELEMENT_WISE_DEQUANTIZE_LINEAR DEQUANTIZE", "InputTensor", "The integers."},
    {"ELEMENT_WISE_IDENTITY", "ScaleBias", "Factors that make x * Scale + Bias of each element x."},
    {"ELEMENT_WISE_IF", "ATensor", "The elements where the condition is not 0."},
    {"ELEMENT_WISE_IF", "BTensor", "The elements where the condition is 0."},
    {"ELEMENT_WISE_POW ELEMENT_WISE_CONSTANT_POW", "InputTensor", "The bases."},
    {"ELEMENT_WISE_QUANTIZED_LINEAR_ADD", "AScaleTensor",
     "The value of one unit of ATensor, one number."},
    {"ELEMENT_WISE_QUANTIZED_LINEAR_ADD", "AZeroPointTensor",
     "The integer that stands for 0 in ATensor, one number; without it, 0."},
    {"ELEMENT_WISE_QUANTIZED_LINEAR_ADD", "BScaleTensor",
     "The value of one unit of BTensor, one number."},
    {"ELEMENT_WISE_QUANTIZED_LINEAR_ADD", "BZeroPointTensor",
     "The integer that stands for 0 in BTensor, one number; without it, 0."},
    {"ELEMENT_WISE_THRESHOLD", "Min", "The lower bound, which is also the result of NaN."},
    {"FOLD", "InputTensor", "The windows in columns, {batch, channels * window, windows}."},
    {"FOLD", "OutputTensor", "The images, {batch, channels, spatial sizes}, which must be given."},
    {"GATHER", "OutputTensor",
     "The input's sizes, with those of the indices in the place of the axis."},
    {"GATHER_ELEMENTS SCATTER", "IndicesTensor",
     "A place along the axis for each element, in the input's sizes but along the axis; those of "
     "signed types may be counted from the end, and others are clamped."},
    {kTuples, "IndicesTensor",
     "Tuples of places along the last dimension, one place for each of the first dimensions of the "
     "input that count; those of signed types may be counted from the end, and others are "
     "clamped."},
    {kIntegerProducts, "ATensor", "The matrices on the left, {..., M, K}."},
    {kIntegerProducts, "BTensor", "The matrices on the right, {..., K, N}."},
    {kIntegerProducts, "OutputTensor", "The products, {..., M, N}."},
    {"GEMM", "ATensor", "The matrices on the left, {..., M, K} or, with TransA, {..., K, M}."},
    {"GEMM", "OutputTensor", "The result, {..., M, N}."},
    {"GEMM", "BTensor", "The matrices on the right, {..., K, N} or, with TransB, {..., N, K}."},
    {"GRU", "WeightTensor",
     "The weights of the input, {1, directions, 3 * hidden size, input size}, for the gates z, r "
     "and h."},
    {"LSTM", "WeightTensor",
     "The weights of the input, {1, directions, 4 * hidden size, input size}, for the gates i, o, "
     "f and c."},
    {kNetworks, "InputTensor", "The steps, {1, sequence, batch, input size}."},
    {"LP_NORMALIZATION", "Epsilon", "The least divisor; smaller norms are taken for it."},
    {"LP_POOLING LP_POOLING1", "InputTensor", kImages},
    {kMaxima, "InputTensor", kImages},
    {kMaxima, "OutputTensor",
     "The greatest element of each window; padding never is, and NaN only where nothing else is."},
    {"MAX_POOLING_GRAD", "InputTensor",
     "The images whose greatest elements get the gradients of their windows."},
    {"MAX_UNPOOLING", "IndicesTensor",
     "The place of each element, counted in row-major order through the whole output; those behind "
     "its end are left out."},
    {"MULTIHEAD_ATTENTION MULTIHEAD_ATTENTION1", "OutputTensor",
     "The weighted means of the values, {batch, queries, heads * head size of values}."},
    {"ONE_HOT", "IndicesTensor",
     "The index of each sequence along the axis, where the size is 1; those of signed types may be "
     "counted from the end, and others mark nothing."},
    {"ONE_HOT", "OutputTensor", "The marked sequences, whose sizes must be given."},
    {"QUANTIZE ELEMENT_WISE_QUANTIZE_LINEAR", "OutputTensor", "The integers."},
    {"RANDOM_GENERATOR", "OutputTensor", "The random words, whose sizes must be given."},
    {"REDUCE", "OutputTensor", "The results, with the size 1 along the axes."},
    {kRegions, "InputTensor", kPlanes},
    {"ROI_ALIGN ROI_ALIGN1", "OutputTensor",
     "The samples, {regions, channels, height, width}; its last two sizes are free."},
    {"ROI_POOLING", "OutputTensor", "The greatest elements, {regions, channels, height, width}."},
    {"SLICE_GRAD RESAMPLE_GRAD RESAMPLE_GRAD1 AVERAGE_POOLING_GRAD", "OutputGradientTensor",
     "The gradient of what the forward operator takes; its sizes must be given."},
    {"SPACE_TO_DEPTH SPACE_TO_DEPTH1", "InputTensor",
     "The wide side, {batch, channels, height * BlockSize, width * BlockSize}."},
    {"SPACE_TO_DEPTH SPACE_TO_DEPTH1", "OutputTensor",
     "The deep side, {batch, channels * BlockSize * BlockSize, height, width}."},
    {"TOP_K1", "AxisDirection", "DECREASING takes the greatest elements, INCREASING the least."},
    {"TOP_K TOP_K1", "OutputValueTensor", "The elements that are taken, sorted; NaN comes last."},
    {"UNFOLD", "InputTensor", kImages},
    {"UNFOLD", "OutputTensor", "The windows in columns, {batch, channels * window, windows}."},
    {"UPSAMPLE_2D VALUE_SCALE_2D", "InputTensor", kPlanes},
};

}  // namespace

std::string_view MeaningOf(const OperatorInfo& info, const Field& field) {
  const auto* found = std::find_if(std::begin(kOwn), std::end(kOwn), [&](const Row& row) {
    return row.field == field.name && HasWord(row.operators, info.name);
  });
  return found == std::end(kOwn) ? field.meaning : found->meaning;
}

}  // namespace dmlop
