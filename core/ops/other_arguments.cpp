// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "core/base/text.h"
#include "core/ops/other_names.h"

namespace dmlop {
namespace {

struct Row {
  std::string_view operators;  // separated by blanks; empty: all without a row
  std::string_view field;
  std::string_view onnx, webnn, pytorch;
  std::string_view note = {};
};

constexpr std::string_view kConvolutions =
    "CONVOLUTION CONVOLUTION_INTEGER QUANTIZED_LINEAR_CONVOLUTION";
constexpr std::string_view kMaxima = "MAX_POOLING MAX_POOLING1 MAX_POOLING2";
constexpr std::string_view kPoolings =
    "AVERAGE_POOLING AVERAGE_POOLING1 LP_POOLING LP_POOLING1 MAX_POOLING MAX_POOLING1 MAX_POOLING2 "
    "QUANTIZED_LINEAR_AVERAGE_POOLING";
constexpr std::string_view kResamplings = "RESAMPLE RESAMPLE1 RESAMPLE2 RESAMPLE3";
constexpr std::string_view kMeanVariances =
    "MEAN_VARIANCE_NORMALIZATION MEAN_VARIANCE_NORMALIZATION1 MEAN_VARIANCE_NORMALIZATION2";
constexpr std::string_view kBatches = "BATCH_NORMALIZATION BATCH_NORMALIZATION_TRAINING";
constexpr std::string_view kSlices =
    "ACTIVATION_SOFTMAX1 ACTIVATION_LOG_SOFTMAX1 ACTIVATION_HARDMAX1 ARGMAX ARGMIN";
constexpr std::string_view kGathers = "GATHER GATHER_ELEMENTS GATHER_ND GATHER_ND1";
constexpr std::string_view kScatters = "SCATTER SCATTER_ND";
constexpr std::string_view kSums = "CUMULATIVE_SUMMATION CUMULATIVE_PRODUCT";
constexpr std::string_view kPaddings = "PADDING PADDING1";
constexpr std::string_view kClips = "ELEMENT_WISE_CLIP ELEMENT_WISE_CLIP1";
constexpr std::string_view kAligns = "ROI_ALIGN ROI_ALIGN1";
constexpr std::string_view kAttentions = "MULTIHEAD_ATTENTION MULTIHEAD_ATTENTION1";
constexpr std::string_view kIntegerProducts =
    "MATRIX_MULTIPLY_INTEGER MATRIX_MULTIPLY_INTEGER_TO_FLOAT QUANTIZED_LINEAR_MATRIX_MULTIPLY";

constexpr Row kRows[] = {
    {"ACTIVATION_GELU", "InputTensor", "X", "input", "input",
     "approximate='tanh' is another function"},
    {"ACTIVATION_HARD_SIGMOID ACTIVATION_HARD_SWISH", "Alpha", "alpha", "alpha", "",
     "PyTorch has 1/6, and ONNX and WebNN, too, in HardSwish"},
    {"ACTIVATION_HARD_SIGMOID ACTIVATION_HARD_SWISH", "Beta", "beta", "beta", "",
     "PyTorch has 0.5, and ONNX and WebNN, too, in HardSwish"},
    {"ACTIVATION_LEAKY_RELU", "Alpha", "alpha", "alpha", "negative_slope"},
    {"ACTIVATION_PARAMETERIZED_RELU", "SlopeTensor", "slope", "slope", "weight",
     "strides of 0 repeat the slope of a channel"},
    {"ACTIVATION_SCALED_ELU", "Alpha", "alpha", "", "", "PyTorch has 1.6732632"},
    {"ACTIVATION_SCALED_ELU", "Gamma", "gamma", "", "", "PyTorch has 1.0507010"},
    {"ACTIVATION_SHRINK", "Bias", "bias", "", "lambd", "0 for hardshrink"},
    {"ACTIVATION_SHRINK", "Threshold", "lambd", "", "lambd"},
    {"ACTIVATION_SOFTPLUS", "Steepness", "", "", "beta", "ONNX and WebNN have 1"},
    {"ACTIVATION_SWISH", "SigmoidInputScale", "alpha", "", "", "silu has 1"},
    {"ACTIVATION_THRESHOLDED_RELU", "Alpha", "alpha", "", "threshold", "with a value of 0"},
    {"ADAM_OPTIMIZER", "InputParametersTensor", "X", "", "params"},
    {"ADAM_OPTIMIZER", "GradientTensor", "G", "", "grad"},
    {"ADAM_OPTIMIZER", "InputFirstMomentTensor", "V", "", "state['exp_avg']"},
    {"ADAM_OPTIMIZER", "InputSecondMomentTensor", "H", "", "state['exp_avg_sq']"},
    {"ADAM_OPTIMIZER", "TrainingStepTensor", "T", "", "state['step']", "it counts from 1"},
    {"ADAM_OPTIMIZER", "LearningRate", "R", "", "lr"},
    {"ADAM_OPTIMIZER", "Beta1", "alpha", "", "betas[0]"},
    {"ADAM_OPTIMIZER", "Beta2", "beta", "", "betas[1]"},
    {"ADAM_OPTIMIZER", "Epsilon", "epsilon", "", "eps",
     "PyTorch adds it to the root of the corrected moment, which is another place"},
    {"ARGMAX ARGMIN", "AxisDirection", "select_last_index", "", "", "1 is DECREASING"},
    {"ARGMAX ARGMIN", "OutputTensor", "reduced", "outputDataType", "out",
     "INT64 in ONNX and PyTorch; reduced dimensions keep the size 1, as with keepdims"},
    {kBatches, "ScaleTensor", "scale", "scale", "weight", "{1, C, 1, ...} for {C}"},
    {kBatches, "BiasTensor", "B", "bias", "bias", "{1, C, 1, ...} for {C}"},
    {"BATCH_NORMALIZATION", "MeanTensor", "input_mean", "mean", "running_mean"},
    {"BATCH_NORMALIZATION", "VarianceTensor", "input_var", "variance", "running_var"},
    {"BATCH_NORMALIZATION_TRAINING", "OutputMeanTensor", "running_mean", "", "running_mean",
     "the mean of this batch; momentum is applied outside"},
    {"BATCH_NORMALIZATION_TRAINING", "OutputVarianceTensor", "running_var", "", "running_var",
     "that of a population; PyTorch's running_var takes N / (N - 1) times as much, and momentum is "
     "applied outside"},
    {"CAST", "OutputTensor", "to", "type", "dtype",
     "its DataType; a cast to bool is a comparison with 0"},
    {"CONVOLUTION_INTEGER", "InputZeroPointTensor", "x_zero_point", "", ""},
    {"CONVOLUTION_INTEGER", "FilterZeroPointTensor", "w_zero_point", "", ""},
    {"QUANTIZED_LINEAR_CONVOLUTION QUANTIZED_LINEAR_AVERAGE_POOLING", "InputScaleTensor", "x_scale",
     "", ""},
    {"QUANTIZED_LINEAR_CONVOLUTION QUANTIZED_LINEAR_AVERAGE_POOLING", "InputZeroPointTensor",
     "x_zero_point", "", ""},
    {"QUANTIZED_LINEAR_CONVOLUTION", "FilterScaleTensor", "w_scale", "", ""},
    {"QUANTIZED_LINEAR_CONVOLUTION", "FilterZeroPointTensor", "w_zero_point", "", ""},
    {"ELEMENT_WISE_QUANTIZED_LINEAR_ADD", "OutputScaleTensor", "C_scale", "", ""},
    {"ELEMENT_WISE_QUANTIZED_LINEAR_ADD", "OutputZeroPointTensor", "C_zero_point", "", ""},
    {"", "OutputScaleTensor", "y_scale", "", ""},
    {"", "OutputZeroPointTensor", "y_zero_point", "", ""},
    {kConvolutions, "InputTensor", "X", "input", "input"},
    {kConvolutions, "FilterTensor", "W", "filter", "weight"},
    {kConvolutions, "BiasTensor", "B", "bias", "bias", "{1, C, 1, ...} for {C}"},
    {"CONVOLUTION", "Mode", "", "", "", "CROSS_CORRELATION in all of them"},
    {"CONVOLUTION", "Direction", "", "", "",
     "BACKWARD for ConvTranspose, convTranspose2d and conv_transpose2d"},
    {"CONVOLUTION", "OutputPadding", "output_padding", "outputPadding", "output_padding"},
    {kConvolutions, "GroupCount", "group", "groups", "groups"},
    {kPaddings, "PaddingMode", "mode", "mode", "mode",
     "EDGE is 'edge', PyTorch's 'replicate'; REFLECTION is 'reflect' or 'reflection'; WRAP is "
     "'wrap' or 'circular'"},
    {kPaddings, "PaddingValue", "constant_value", "value", "value"},
    {kPaddings, "StartPadding", "the first half of pads", "beginningPadding", "pad",
     "PyTorch's pad begins with both ends of the last dimension; negative ones are a SLICE1"},
    {kPaddings, "EndPadding", "the second half of pads", "endingPadding", "pad"},
    {"FOLD", "OutputTensor", "image_shape", "", "output_size"},
    {"FOLD UNFOLD", "WindowSizes", "block_shape", "", "kernel_size"},
    {"", "Strides", "strides", "strides", "stride",
     "1 where it is left out, but the kernel_size in poolings of PyTorch"},
    {"", "Dilations", "dilations", "dilations", "dilation"},
    {"", "StartPadding", "the first half of pads", "padding[0], padding[2]", "padding",
     "PyTorch's padding is that of both ends; auto_pad is resolved to numbers"},
    {"", "EndPadding", "the second half of pads", "padding[1], padding[3]", "padding"},
    {kPoolings, "WindowSize", "kernel_shape", "windowDimensions", "kernel_size",
     "the whole plane for Global and adaptive poolings to one element"},
    {"", "IncludePadding", "count_include_pad", "", "count_include_pad",
     "true by default in PyTorch only; WebNN has false"},
    {kMaxima, "OutputTensor", "Y", "outputShapeRounding", "ceil_mode",
     "with ceil_mode, sizes that leave a remainder are one greater; give Sizes then"},
    {kMaxima, "OutputIndicesTensor", "Indices", "", "return_indices",
     "PyTorch counts within each plane, and this and ONNX through the whole tensor"},
    {kPoolings, "OutputTensor", "Y", "outputShapeRounding", "ceil_mode",
     "with ceil_mode, sizes that leave a remainder are one greater; give Sizes then"},
    {"LP_POOLING LP_POOLING1", "P", "p", "", "norm_type", "l2Pool2d has 2"},
    {"LP_NORMALIZATION", "P", "p", "", "p"},
    {"LP_NORMALIZATION", "Epsilon", "", "", "eps", "the least divisor in PyTorch, too"},
    {"LOCAL_RESPONSE_NORMALIZATION", "LocalSize", "size", "", "size"},
    {"LOCAL_RESPONSE_NORMALIZATION", "Bias", "bias", "", "k"},
    {"LOCAL_RESPONSE_NORMALIZATION", "CrossChannel", "", "", "", "true in ONNX and PyTorch"},
    {kSums, "AxisDirection", "reverse", "reversed", "", "1 or true is DECREASING"},
    {kSums, "HasExclusiveSum", "exclusive", "exclusive", ""},
    {kSums, "HasExclusiveProduct", "exclusive", "", ""},
    {"DEPTH_TO_SPACE DEPTH_TO_SPACE1", "BlockSize", "blocksize", "", "upscale_factor"},
    {"SPACE_TO_DEPTH SPACE_TO_DEPTH1", "BlockSize", "blocksize", "", "downscale_factor"},
    {"DEPTH_TO_SPACE1 SPACE_TO_DEPTH1", "Order", "mode", "", "",
     "DEPTH_COLUMN_ROW is DCR; pixel_shuffle and pixel_unshuffle are COLUMN_ROW_DEPTH, as CRD"},
    {"DIAGONAL_MATRIX", "Offset", "k", "", ""},
    {"DIAGONAL_MATRIX1", "DiagonalFillBegin", "k", "diagonal", "diagonal",
     "with a Value of 0: -2147483648 keeps what triu keeps, and diagonal + 1 what tril keeps"},
    {"DIAGONAL_MATRIX1", "DiagonalFillEnd", "k", "diagonal", "diagonal",
     "with a Value of 0: diagonal keeps what triu keeps, and 2147483647 what tril keeps"},
    {kClips, "Min", "min", "minValue", "min", "NaN becomes Max here, and stays NaN elsewhere"},
    {kClips, "Max", "max", "maxValue", "max", "where Min is the larger one, PyTorch gives Max"},
    {"ELEMENT_WISE_IDENTITY", "InputTensor", "X", "input", "input",
     "Transpose and permute are permuted Sizes and Strides; Expand is a stride of 0"},
    {"ELEMENT_WISE_IF", "ConditionTensor", "condition", "condition", "condition"},
    {"ELEMENT_WISE_IF", "ATensor", "X", "trueValue", "input"},
    {"ELEMENT_WISE_IF", "BTensor", "Y", "falseValue", "other"},
    {"ELEMENT_WISE_IS_INFINITY", "InfinityMode", "detect_negative, detect_positive", "", "",
     "EITHER in WebNN and PyTorch"},
    {"ELEMENT_WISE_MODULUS_FLOOR ELEMENT_WISE_MODULUS_TRUNCATE", "ATensor", "A", "", "input",
     "ONNX's fmod 1 is TRUNCATE, and 0 is FLOOR"},
    {"ELEMENT_WISE_POW ELEMENT_WISE_CONSTANT_POW", "InputTensor", "X", "a", "input"},
    {"ELEMENT_WISE_POW", "ExponentTensor", "Y", "b", "exponent"},
    {"ELEMENT_WISE_CONSTANT_POW", "Exponent", "Y", "b", "exponent"},
    {"ELEMENT_WISE_ROUND", "RoundingMode", "", "", "", "HALVES_TO_NEAREST_EVEN in all of them"},
    {"ELEMENT_WISE_QUANTIZE_LINEAR", "ScaleTensor", "y_scale", "scale", "scale",
     "a scale for each place along axis is repeated by strides of 0"},
    {"ELEMENT_WISE_QUANTIZE_LINEAR", "ZeroPointTensor", "y_zero_point", "zeroPoint", "zero_point"},
    {"ELEMENT_WISE_DEQUANTIZE_LINEAR", "ScaleTensor", "x_scale", "scale", "scale",
     "a scale for each place along axis is repeated by strides of 0"},
    {"ELEMENT_WISE_DEQUANTIZE_LINEAR", "ZeroPointTensor", "x_zero_point", "zeroPoint",
     "zero_point"},
    {"QUANTIZE", "QuantizationTensors", "y_scale, y_zero_point", "scale, zeroPoint",
     "scale, zero_point", "without a zero point, ONNX has 0 for unsigned types, too"},
    {"DEQUANTIZE", "QuantizationTensors", "x_scale, x_zero_point", "scale, zeroPoint",
     "scale, zero_point", "without a zero point, ONNX has 0 for unsigned types, too"},
    {"FILL_VALUE_CONSTANT", "Value", "value", "value", "fill_value"},
    {"FILL_VALUE_CONSTANT", "OutputTensor", "input", "shape", "size"},
    {"FILL_VALUE_SEQUENCE", "ValueStart", "start", "", "start"},
    {"FILL_VALUE_SEQUENCE", "ValueDelta", "delta", "", "step",
     "(end - start) / (steps - 1) for linspace"},
    {"FILL_VALUE_SEQUENCE", "OutputTensor", "limit", "", "end", "it says how many there are"},
    {kGathers, "InputTensor", "data", "input", "input"},
    {kGathers, "IndicesTensor", "indices", "indices", "index",
     "leading 1s bring it to the rank of the input"},
    {"GATHER", "IndexDimensions", "", "", "", "the rank of the indices there"},
    {"GATHER_ND1", "BatchDimensionCount", "batch_dims", "", "", "0 in WebNN"},
    {kScatters, "InputTensor", "data", "input", "input"},
    {kScatters, "IndicesTensor", "indices", "indices", "index"},
    {"SCATTER", "UpdatesTensor", "updates", "updates", "src", "reduction is 'none'"},
    {"SCATTER_ND", "UpdatesTensor", "updates", "updates", "values", "reduction is 'none'"},
    {"GEMM", "ATensor", "A", "a", "input", "mat1 of PyTorch's addmm"},
    {"GEMM", "BTensor", "B", "b", "other", "mat2 of PyTorch's mm and addmm, weight of its linear"},
    {"GEMM", "CTensor", "C", "c", "input",
     "in PyTorch of addmm, and the bias of linear; it is repeated by strides of 0"},
    {"GEMM", "TransA", "transA", "aTranspose", ""},
    {"GEMM", "TransB", "transB", "bTranspose", "", "TRANSPOSE for PyTorch's linear"},
    {kIntegerProducts, "AScaleTensor", "a_scale", "", ""},
    {kIntegerProducts, "BScaleTensor", "b_scale", "", ""},
    {kIntegerProducts, "AZeroPointTensor", "a_zero_point", "", ""},
    {kIntegerProducts, "BZeroPointTensor", "b_zero_point", "", ""},
    {kIntegerProducts, "BiasTensor", "bias", "", ""},
    {"ELEMENT_WISE_QUANTIZED_LINEAR_ADD", "AScaleTensor", "A_scale", "", ""},
    {"ELEMENT_WISE_QUANTIZED_LINEAR_ADD", "BScaleTensor", "B_scale", "", ""},
    {"ELEMENT_WISE_QUANTIZED_LINEAR_ADD", "AZeroPointTensor", "A_zero_point", "", ""},
    {"ELEMENT_WISE_QUANTIZED_LINEAR_ADD", "BZeroPointTensor", "B_zero_point", "", ""},
    {"", "InputTensors", "inputs", "inputs", "tensors",
     "stack joins along a dimension of size 1 that is new"},
    {"SPLIT", "OutputTensors", "split", "splits", "split_size_or_sections",
     "their sizes along the axis"},
    {"MAX_UNPOOLING", "IndicesTensor", "I", "", "indices",
     "PyTorch counts within each plane, and this through the whole tensor"},
    {kMeanVariances, "ScaleTensor", "scale", "scale", "weight",
     "brought to the rank of the input by 1s"},
    {kMeanVariances, "BiasTensor", "B", "bias", "bias", "brought to the rank of the input by 1s"},
    {"MEAN_VARIANCE_NORMALIZATION1 MEAN_VARIANCE_NORMALIZATION2", "Axes", "axis", "axes",
     "normalized_shape",
     "the last dimensions: from axis on, or as many as normalized_shape has; all but the first two "
     "for instance normalization"},
    {kMeanVariances, "Epsilon", "epsilon", "epsilon", "eps",
     "ONNX's MeanVarianceNormalization adds 1e-9 to the root instead"},
    {"MEAN_VARIANCE_NORMALIZATION2", "UseMean", "", "", "",
     "false for RMSNormalization and rms_norm"},
    {kAttentions, "QueryTensor", "query", "", "query"},
    {kAttentions, "KeyTensor", "key", "", "key"},
    {kAttentions, "ValueTensor", "value", "", "value"},
    {kAttentions, "BiasTensor", "bias", "", "in_proj_bias"},
    {kAttentions, "RelativePositionBiasTensor", "attention_bias", "", "attn_mask"},
    {kAttentions, "MaskTensor", "key_padding_mask", "", "attn_mask",
     "of a BOOLEAN mask, 0 is masked, as in scaled_dot_product_attention"},
    {kAttentions, "MaskFilterValue", "mask_filter_value", "", ""},
    {kAttentions, "PastKeyTensor", "past_key", "", ""},
    {kAttentions, "PastValueTensor", "past_value", "", ""},
    {"MULTIHEAD_ATTENTION1", "PastSequenceLengthsTensor", "seqlens_k", "", "is_causal",
     "it makes attention causal"},
    {kAttentions, "OutputPresentKeyTensor", "present_key", "", ""},
    {kAttentions, "OutputPresentValueTensor", "present_value", "", ""},
    {kAttentions, "Scale", "scale", "", "scale", "1 / sqrt(head size) where they leave it out"},
    {"MULTIHEAD_ATTENTION", "HeadCount", "num_heads", "", "num_heads"},
    {"MULTIHEAD_ATTENTION1", "QueryHeadCount", "num_heads", "", ""},
    {"MULTIHEAD_ATTENTION1", "KeyValueHeadCount", "kv_num_heads", "", ""},
    {"ONE_HOT", "ValuesTensor", "values", "", "", "PyTorch has 0 and 1"},
    {"ONE_HOT", "OutputTensor", "depth", "", "num_classes", "its size along the axis"},
    {"REDUCE", "Function", "", "", "",
     "that of the name: AVERAGE is mean, MULTIPLY prod or Product, MAX amax, L2 norm"},
    {"REDUCE", "OutputTensor", "reduced", "keepDimensions", "keepdim",
     "reduced dimensions keep the size 1, as with keepdims"},
    {kSlices, "Axes", "axis", "axis", "dim"},
    {kResamplings, "OutputTensor", "sizes", "sizes", "size"},
    {kResamplings, "InterpolationMode", "mode", "mode", "mode",
     "LINEAR is 'linear', 'bilinear' and 'trilinear'; there is no 'cubic', 'bicubic' or 'area'"},
    {kResamplings, "RoundingDirection", "nearest_mode", "", "",
     "DECREASING is floor and PyTorch's 'nearest', INCREASING is ceil; round_prefer_floor is "
     "INCREASING with 0.5 more in InputPixelOffsets, round_prefer_ceil DECREASING with 0.5 less"},
    {kResamplings, "Scales", "scales", "scales", "scale_factor",
     "with an entry for each dimension, 1 for batch and channels; of sizes, output / input, and "
     "with align_corners (output - 1) / (input - 1)"},
    {kResamplings, "InputPixelOffsets", "coordinate_transformation_mode", "", "align_corners",
     "0.5 for half_pixel and align_corners=False; 0 for asymmetric, align_corners=True, 'nearest' "
     "and 'nearest-exact'"},
    {kResamplings, "OutputPixelOffsets", "coordinate_transformation_mode", "", "align_corners",
     "-0.5 for half_pixel, align_corners=False and 'nearest-exact'; 0 for asymmetric, "
     "align_corners=True and 'nearest'"},
    {kResamplings, "Antialiased", "antialias", "", "antialias",
     "values differ: they filter wherever the size is reduced, here only below a scale of 0.5, and "
     "they share the weights beyond an edge out among those inside"},
    {"UPSAMPLE_2D", "ScaleSize", "scales", "scales", "scale_factor", "whole numbers"},
    {"REVERSE_SUBSEQUENCES", "SequenceLengthsTensor", "sequence_lens", "", "",
     "repeated by strides of 0 along all dimensions but batch_axis"},
    {"REVERSE_SUBSEQUENCES", "Axis", "time_axis", "", "dims"},
    {kAligns, "ROITensor", "rois", "", "boxes"},
    {kAligns, "BatchIndicesTensor", "batch_indices", "", "boxes", "the first column of boxes"},
    {kAligns, "ReductionFunction", "mode", "", "",
     "AVERAGE in torchvision; ONNX's max is that of weighted corners, here that of samples"},
    {"", "SpatialScaleX", "spatial_scale", "", "spatial_scale"},
    {"", "SpatialScaleY", "spatial_scale", "", "spatial_scale"},
    {"", "SpatialScale", "spatial_scale", "", "spatial_scale"},
    {"", "MinimumSamplesPerOutput", "sampling_ratio", "", "sampling_ratio", "1 for 0 and -1"},
    {"", "MaximumSamplesPerOutput", "sampling_ratio", "", "sampling_ratio",
     "4294967295 for 0 and -1"},
    {"", "InputPixelOffset", "coordinate_transformation_mode", "", "aligned",
     "0.5 for half_pixel and aligned=True, else 0"},
    {"ROI_POOLING", "ROITensor", "rois", "", "boxes"},
    {"ROI_POOLING", "PooledSize", "pooled_shape", "", "output_size"},
    {"SLICE", "Offsets", "starts", "starts", "start"},
    {"SLICE", "Sizes", "(ends - starts) / steps", "sizes", "length"},
    {"SLICE", "Strides", "steps", "strides", ""},
    {"SLICE1", "InputWindowOffsets", "starts", "starts", "start", "of a negative step, ends + 1"},
    {"SLICE1", "InputWindowSizes", "ends - starts", "sizes", "length",
     "of a negative step, starts - ends"},
    {"SLICE1", "InputWindowStrides", "steps", "strides", "",
     "reverse and flip are -1 and the whole dimension as window"},
    {"TILE", "Repeats", "repeats", "repetitions", "dims"},
    {"TOP_K TOP_K1", "K", "K", "", "k"},
    {"TOP_K1", "AxisDirection", "largest", "", "largest",
     "1 or True is DECREASING; results are sorted always"},
    {"RNN LSTM GRU", "InputTensor", "X", "input", "input", "with a leading 1"},
    {"RNN LSTM GRU", "WeightTensor", "W", "weight", "weight_ih_l0",
     "gates of LSTM are i, o, f, c here and i, f, g, o in PyTorch, those of GRU z, r, h and r, z, "
     "n"},
    {"RNN LSTM GRU", "RecurrenceTensor", "R", "recurrentWeight", "weight_hh_l0"},
    {"RNN LSTM GRU", "BiasTensor", "B", "bias, recurrentBias", "bias_ih_l0, bias_hh_l0"},
    {"RNN LSTM GRU", "HiddenInitTensor", "initial_h", "initialHiddenState", "h_0"},
    {"RNN LSTM GRU", "SequenceLengthsTensor", "sequence_lens", "", "lengths of a PackedSequence"},
    {"LSTM", "CellMemInitTensor", "initial_c", "initialCellState", "c_0"},
    {"LSTM", "PeepholeTensor", "P", "peepholeWeight", ""},
    {"RNN LSTM GRU", "OutputSequenceTensor", "Y", "returnSequence", "output"},
    {"RNN LSTM GRU", "OutputSingleTensor", "Y_h", "hidden state", "h_n"},
    {"LSTM", "OutputCellSingleTensor", "Y_c", "cell state", "c_n"},
    {"RNN LSTM GRU", "ActivationDescs", "activations", "activations", "nonlinearity"},
    {"RNN LSTM GRU", "Direction", "direction", "direction", "bidirectional"},
    {"LSTM", "ClipThreshold", "clip", "", ""},
    {"LSTM", "CoupleInputForget", "input_forget", "", ""},
    {"GRU", "LinearBeforeReset", "linear_before_reset", "resetAfter", "", "true in PyTorch"},
    {"", "InputTensor", "the first input", "input", "input"},
    {"", "ATensor", "A", "a", "input"},
    {"", "BTensor", "B", "b", "other"},
    {"", "Axis", "axis", "axis", "dim"},
    {"", "Axes", "axes", "axes", "dim"},
    {"", "Epsilon", "epsilon", "epsilon", "eps"},
    {"", "Alpha", "alpha", "alpha", "alpha"},
    {"", "Beta", "beta", "beta", "beta"},
};

}  // namespace

Argument ArgumentOf(const OperatorInfo& info, const Field& field) {
  const auto* row = std::find_if(std::begin(kRows), std::end(kRows), [&](const Row& candidate) {
    return candidate.field == field.name &&
           (candidate.operators.empty() || HasWord(candidate.operators, info.name));
  });
  if (row == std::end(kRows)) return {};
  const OtherNames names = OtherNamesOf(info);
  const auto in = [](const std::vector<std::string_view>& library, std::string_view argument) {
    return library.empty() ? std::string_view() : argument;
  };
  Argument argument{in(names.onnx, row->onnx), in(names.webnn, row->webnn),
                    in(names.pytorch, row->pytorch), row->note};
  if (names.onnx.empty() && names.webnn.empty() && names.pytorch.empty()) argument.note = {};
  return argument;
}

}  // namespace dmlop
