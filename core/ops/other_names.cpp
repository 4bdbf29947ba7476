// SPDX-License-Identifier: Apache-2.0
#include "core/ops/other_names.h"

#include <algorithm>
#include <map>

#include "core/base/text.h"

namespace dmlop {
namespace {

struct Row {
  std::string_view name;
  std::string_view webnn, pytorch;  // separated by blanks
  std::string_view onnx = {};       // besides those of the rows of ONNX's operators that become it
};

// Sources: the operators of Chromium's WebNN backend; PyTorch's functions of the same formula.
constexpr Row kRows[] = {
    {"ACTIVATION_CELU", "", "celu"},
    {"ACTIVATION_ELU", "elu", "elu"},
    {"ACTIVATION_GELU", "gelu", "gelu"},
    {"ACTIVATION_HARDMAX", "", ""},
    {"ACTIVATION_HARDMAX1", "", ""},
    {"ACTIVATION_HARD_SIGMOID", "hardSigmoid", "hardsigmoid"},
    {"ACTIVATION_HARD_SWISH", "hardSwish", "hardswish"},
    {"ACTIVATION_IDENTITY", "identity", "", "Identity"},
    {"ACTIVATION_LEAKY_RELU", "leakyRelu", "leaky_relu"},
    {"ACTIVATION_LINEAR", "linear", ""},
    {"ACTIVATION_LOG_SOFTMAX", "", "log_softmax"},
    {"ACTIVATION_LOG_SOFTMAX1", "", "log_softmax"},
    {"ACTIVATION_PARAMETERIZED_RELU", "prelu", "prelu"},
    {"ACTIVATION_PARAMETRIC_SOFTPLUS", "", "", "ParametricSoftplus"},
    {"ACTIVATION_RELU", "relu", "relu"},
    {"ACTIVATION_RELU_GRAD", "", "threshold_backward"},
    {"ACTIVATION_SCALED_ELU", "", "selu"},
    {"ACTIVATION_SCALED_TANH", "", "", "ScaledTanh"},
    {"ACTIVATION_SHRINK", "", "softshrink hardshrink"},
    {"ACTIVATION_SIGMOID", "sigmoid", "sigmoid"},
    {"ACTIVATION_SOFTMAX", "softmax", "softmax"},
    {"ACTIVATION_SOFTMAX1", "softmax", "softmax"},
    {"ACTIVATION_SOFTPLUS", "softplus", "softplus"},
    {"ACTIVATION_SOFTSIGN", "softsign", "softsign"},
    {"ACTIVATION_SWISH", "", "silu"},
    {"ACTIVATION_TANH", "tanh", "tanh"},
    {"ACTIVATION_THRESHOLDED_RELU", "", "threshold"},
    {"ADAM_OPTIMIZER", "", "Adam", "Adam"},
    {"ARGMAX", "argMax", "argmax"},
    {"ARGMIN", "argMin", "argmin"},
    {"AVERAGE_POOLING", "averagePool2d", "avg_pool2d avg_pool3d adaptive_avg_pool2d"},
    {"AVERAGE_POOLING1", "averagePool2d", "avg_pool2d avg_pool3d adaptive_avg_pool2d",
     "GlobalAveragePool"},
    {"AVERAGE_POOLING_GRAD", "", "avg_pool2d_backward"},
    {"BATCH_NORMALIZATION", "batchNormalization", "batch_norm"},
    {"BATCH_NORMALIZATION_GRAD", "", "native_batch_norm_backward"},
    {"BATCH_NORMALIZATION_TRAINING", "", "batch_norm", "BatchNormalization"},
    {"BATCH_NORMALIZATION_TRAINING_GRAD", "", "native_batch_norm_backward"},
    {"CAST", "cast", "to"},
    {"CONVOLUTION", "conv2d convTranspose2d", "conv1d conv2d conv3d conv_transpose2d"},
    {"CONVOLUTION_INTEGER", "", ""},
    {"CUMULATIVE_PRODUCT", "", "cumprod"},
    {"CUMULATIVE_SUMMATION", "cumulativeSum", "cumsum"},
    {"DEPTH_TO_SPACE", "", ""},
    {"DEPTH_TO_SPACE1", "", "pixel_shuffle"},
    {"DEQUANTIZE", "dequantizeLinear", "dequantize"},
    {"DIAGONAL_MATRIX", "", "eye"},
    {"DIAGONAL_MATRIX1", "triangular", "eye tril triu", "EyeLike"},
    {"DYNAMIC_QUANTIZE_LINEAR", "", ""},
    {"ELEMENT_WISE_ABS", "abs", "abs"},
    {"ELEMENT_WISE_ACOS", "", "acos"},
    {"ELEMENT_WISE_ACOSH", "", "acosh"},
    {"ELEMENT_WISE_ADD", "add", "add"},
    {"ELEMENT_WISE_ADD1", "add", "add", "Add"},
    {"ELEMENT_WISE_ASIN", "", "asin"},
    {"ELEMENT_WISE_ASINH", "", "asinh"},
    {"ELEMENT_WISE_ATAN", "", "atan"},
    {"ELEMENT_WISE_ATANH", "", "atanh"},
    {"ELEMENT_WISE_ATAN_YX", "", "atan2"},
    {"ELEMENT_WISE_BIT_AND", "", "bitwise_and"},
    {"ELEMENT_WISE_BIT_COUNT", "", ""},
    {"ELEMENT_WISE_BIT_NOT", "", "bitwise_not"},
    {"ELEMENT_WISE_BIT_OR", "", "bitwise_or"},
    {"ELEMENT_WISE_BIT_SHIFT_LEFT", "", "bitwise_left_shift"},
    {"ELEMENT_WISE_BIT_SHIFT_RIGHT", "", "bitwise_right_shift"},
    {"ELEMENT_WISE_BIT_XOR", "", "bitwise_xor"},
    {"ELEMENT_WISE_CEIL", "ceil", "ceil"},
    {"ELEMENT_WISE_CLIP", "clamp", "clamp clip"},
    {"ELEMENT_WISE_CLIP1", "clamp", "clamp clip"},
    {"ELEMENT_WISE_CLIP_GRAD", "", "clamp_backward"},
    {"ELEMENT_WISE_CLIP_GRAD1", "", "clamp_backward"},
    {"ELEMENT_WISE_CONSTANT_POW", "pow", "pow"},
    {"ELEMENT_WISE_COS", "cos", "cos"},
    {"ELEMENT_WISE_COSH", "", "cosh"},
    {"ELEMENT_WISE_DEQUANTIZE_LINEAR", "dequantizeLinear", "dequantize"},
    {"ELEMENT_WISE_DIFFERENCE_SQUARE", "", ""},
    {"ELEMENT_WISE_DIVIDE", "div", "div"},
    {"ELEMENT_WISE_ERF", "erf", "erf"},
    {"ELEMENT_WISE_EXP", "exp", "exp"},
    {"ELEMENT_WISE_FLOOR", "floor", "floor"},
    {"ELEMENT_WISE_IDENTITY", "identity transpose expand", "clone permute contiguous"},
    {"ELEMENT_WISE_IF", "where", "where"},
    {"ELEMENT_WISE_IS_INFINITY", "isInfinite", "isinf"},
    {"ELEMENT_WISE_IS_NAN", "isNaN", "isnan"},
    {"ELEMENT_WISE_LOG", "log", "log"},
    {"ELEMENT_WISE_LOGICAL_AND", "logicalAnd", "logical_and"},
    {"ELEMENT_WISE_LOGICAL_EQUALS", "equal", "eq"},
    {"ELEMENT_WISE_LOGICAL_GREATER_THAN", "greater", "gt"},
    {"ELEMENT_WISE_LOGICAL_GREATER_THAN_OR_EQUAL", "greaterOrEqual", "ge"},
    {"ELEMENT_WISE_LOGICAL_LESS_THAN", "lesser", "lt"},
    {"ELEMENT_WISE_LOGICAL_LESS_THAN_OR_EQUAL", "lesserOrEqual", "le"},
    {"ELEMENT_WISE_LOGICAL_NOT", "logicalNot", "logical_not"},
    {"ELEMENT_WISE_LOGICAL_OR", "logicalOr", "logical_or"},
    {"ELEMENT_WISE_LOGICAL_XOR", "logicalXor", "logical_xor"},
    {"ELEMENT_WISE_MAX", "max", "maximum"},
    {"ELEMENT_WISE_MEAN", "", ""},
    {"ELEMENT_WISE_MIN", "min", "minimum"},
    {"ELEMENT_WISE_MODULUS_FLOOR", "", "remainder"},
    {"ELEMENT_WISE_MODULUS_TRUNCATE", "", "fmod"},
    {"ELEMENT_WISE_MULTIPLY", "mul", "mul"},
    {"ELEMENT_WISE_NEGATE", "neg", "neg"},
    {"ELEMENT_WISE_POW", "pow", "pow"},
    {"ELEMENT_WISE_QUANTIZED_LINEAR_ADD", "", ""},
    {"ELEMENT_WISE_QUANTIZE_LINEAR", "quantizeLinear", "quantize_per_tensor"},
    {"ELEMENT_WISE_RECIP", "reciprocal", "reciprocal"},
    {"ELEMENT_WISE_ROUND", "roundEven", "round"},
    {"ELEMENT_WISE_SIGN", "sign", "sign"},
    {"ELEMENT_WISE_SIN", "sin", "sin"},
    {"ELEMENT_WISE_SINH", "", "sinh"},
    {"ELEMENT_WISE_SQRT", "sqrt", "sqrt"},
    {"ELEMENT_WISE_SUBTRACT", "sub", "sub"},
    {"ELEMENT_WISE_TAN", "tan", "tan"},
    {"ELEMENT_WISE_TANH", "tanh", "tanh", "Tanh"},
    {"ELEMENT_WISE_THRESHOLD", "", "", "Clip"},
    {"FILL_VALUE_CONSTANT", "constant", "full zeros ones"},
    {"FILL_VALUE_SEQUENCE", "", "arange linspace"},
    {"FOLD", "", "fold"},
    {"GATHER", "gather", "index_select"},
    {"GATHER_ELEMENTS", "gatherElements", "gather"},
    {"GATHER_ND", "gatherND", ""},
    {"GATHER_ND1", "gatherND", ""},
    {"GEMM", "gemm matmul", "mm bmm matmul addmm linear"},
    {"GRU", "gru gruCell", "GRU"},
    {"JOIN", "concat", "cat stack"},
    {"LOCAL_RESPONSE_NORMALIZATION", "", "local_response_norm"},
    {"LOCAL_RESPONSE_NORMALIZATION_GRAD", "", ""},
    {"LP_NORMALIZATION", "", "normalize"},
    {"LP_POOLING", "l2Pool2d", "lp_pool2d"},
    {"LP_POOLING1", "l2Pool2d", "lp_pool2d", "GlobalLpPool"},
    {"LSTM", "lstm lstmCell", "LSTM"},
    {"MATRIX_MULTIPLY_INTEGER", "", ""},
    {"MATRIX_MULTIPLY_INTEGER_TO_FLOAT", "", ""},
    {"MAX_POOLING", "maxPool2d", "max_pool2d max_pool3d"},
    {"MAX_POOLING1", "maxPool2d", "max_pool2d max_pool3d"},
    {"MAX_POOLING2", "maxPool2d", "max_pool2d max_pool3d", "GlobalMaxPool"},
    {"MAX_POOLING_GRAD", "", "max_pool2d_with_indices_backward"},
    {"MAX_UNPOOLING", "", "max_unpool2d"},
    {"MEAN_VARIANCE_NORMALIZATION", "instanceNormalization", "instance_norm",
     "InstanceNormalization"},
    {"MEAN_VARIANCE_NORMALIZATION1", "instanceNormalization layerNormalization",
     "instance_norm layer_norm group_norm", "LayerNormalization"},
    {"MEAN_VARIANCE_NORMALIZATION2", "layerNormalization", "layer_norm rms_norm"},
    {"MULTIHEAD_ATTENTION", "", "scaled_dot_product_attention MultiheadAttention", "Attention"},
    {"MULTIHEAD_ATTENTION1", "", "scaled_dot_product_attention"},
    {"NONZERO_COORDINATES", "", "nonzero", "NonZero"},
    {"ONE_HOT", "", "one_hot"},
    {"PADDING", "pad", "pad"},
    {"PADDING1", "pad", "pad"},
    {"QUANTIZE", "quantizeLinear", "quantize_per_tensor"},
    {"QUANTIZED_LINEAR_AVERAGE_POOLING", "", ""},
    {"QUANTIZED_LINEAR_CONVOLUTION", "", ""},
    {"QUANTIZED_LINEAR_MATRIX_MULTIPLY", "", ""},
    {"RANDOM_GENERATOR", "", "rand", "RandomUniform"},
    {"REDUCE",
     "reduceSum reduceMean reduceMax reduceMin reduceProduct reduceL1 reduceL2 reduceLogSum "
     "reduceLogSumExp reduceSumSquare",
     "sum mean amax amin prod logsumexp norm"},
    {"RESAMPLE", "resample2d", "interpolate"},
    {"RESAMPLE1", "resample2d", "interpolate"},
    {"RESAMPLE2", "resample2d", "interpolate"},
    {"RESAMPLE3", "resample2d", "interpolate"},
    {"RESAMPLE_GRAD", "", "upsample_bilinear2d_backward"},
    {"RESAMPLE_GRAD1", "", "upsample_bilinear2d_backward"},
    {"REVERSE_SUBSEQUENCES", "", "flip"},
    {"RNN", "", "RNN"},
    {"ROI_ALIGN", "", "roi_align"},
    {"ROI_ALIGN1", "", "roi_align"},
    {"ROI_ALIGN_GRAD", "", ""},
    {"ROI_POOLING", "", "roi_pool"},
    {"SCATTER", "scatterElements", "scatter"},
    {"SCATTER_ND", "scatterND", "index_put"},
    {"SLICE", "slice", "narrow", "Slice Crop"},
    {"SLICE1", "slice reverse", "narrow flip"},
    {"SLICE_GRAD", "", "slice_backward"},
    {"SPACE_TO_DEPTH", "", ""},
    {"SPACE_TO_DEPTH1", "", "pixel_unshuffle"},
    {"SPLIT", "split", "split chunk"},
    {"TILE", "tile", "tile repeat"},
    {"TOP_K", "", "topk"},
    {"TOP_K1", "", "topk sort"},
    {"UNFOLD", "", "unfold im2col", "Im2Col"},
    {"UPSAMPLE_2D", "resample2d", "interpolate", "Upsample Resize"},
    {"VALUE_SCALE_2D", "", "", "ImageScaler"},
};

// The operators of ONNX that become an operator alone, by the name of that.
std::map<std::string, std::vector<std::string_view>> NamesInOnnx() {
  std::map<std::string, std::vector<std::string_view>> names;
  for (const OnnxOperator& one : OnnxOperators()) {
    if (one.is_sequence) continue;
    for (const std::string_view op : WordsOf(one.operators)) {
      std::vector<std::string_view>& known = names[std::string(op)];
      if (std::ranges::find(known, one.name) == known.end()) known.push_back(one.name);
    }
  }
  return names;
}

// The operators of ONNX that become an operator, and those that the row has besides; those of
// another version are right if there is neither.
std::vector<std::string_view> NamesInOnnxOf(const Row& row) {
  static const auto kNames = NamesInOnnx();
  std::vector<std::string_view> names = WordsOf(row.onnx);
  const std::string unversioned(row.name.substr(0, row.name.find_last_not_of("0123456789") + 1));
  for (const std::string& version : {std::string(row.name), unversioned, unversioned + "1",
                                     unversioned + "2", unversioned + "3"}) {
    const auto found = kNames.find(version);
    if (found != kNames.end())
      names.insert(names.begin(), found->second.begin(), found->second.end());
    if (!names.empty()) break;
  }
  return names;
}

}  // namespace

OtherNames OtherNamesOf(const OperatorInfo& info) {
  const auto* row = std::ranges::find(kRows, info.name, &Row::name);
  if (row == std::end(kRows)) return {};
  return {NamesInOnnxOf(*row), WordsOf(row->webnn), WordsOf(row->pytorch)};
}

}  // namespace dmlop
