#include "core/ops/other_names.h"

#include <fmt/format.h>

#include <algorithm>
#include <string>

#include "core/base/ascii.h"
#include "core/base/spelling.h"
#include "core/base/words.h"

namespace dmlop {
namespace {

struct Row {
  std::string_view name;
  std::string_view onnx, webnn, pytorch;  // separated by blanks
};

// Sources: the operators of the ONNX Runtime's DirectML provider and of Chromium's WebNN backend,
// and for PyTorch the function of the same formula.
constexpr Row kRows[] = {
    {"ACTIVATION_CELU", "Celu", "", "celu"},
    {"ACTIVATION_ELU", "Elu", "elu", "elu"},
    {"ACTIVATION_GELU", "Gelu", "gelu", "gelu"},
    {"ACTIVATION_HARDMAX", "Hardmax", "", ""},
    {"ACTIVATION_HARDMAX1", "Hardmax", "", ""},
    {"ACTIVATION_HARD_SIGMOID", "HardSigmoid", "hardSigmoid", "hardsigmoid"},
    {"ACTIVATION_HARD_SWISH", "HardSwish", "hardSwish", "hardswish"},
    {"ACTIVATION_IDENTITY", "Identity", "identity", ""},
    {"ACTIVATION_LEAKY_RELU", "LeakyRelu", "leakyRelu", "leaky_relu"},
    {"ACTIVATION_LINEAR", "", "linear", ""},
    {"ACTIVATION_LOG_SOFTMAX", "LogSoftmax", "", "log_softmax"},
    {"ACTIVATION_LOG_SOFTMAX1", "LogSoftmax", "", "log_softmax"},
    {"ACTIVATION_PARAMETERIZED_RELU", "PRelu", "prelu", "prelu"},
    {"ACTIVATION_PARAMETRIC_SOFTPLUS", "ParametricSoftplus", "", ""},
    {"ACTIVATION_RELU", "Relu", "relu", "relu"},
    {"ACTIVATION_RELU_GRAD", "", "", "threshold_backward"},
    {"ACTIVATION_SCALED_ELU", "Selu", "", "selu"},
    {"ACTIVATION_SCALED_TANH", "ScaledTanh", "", ""},
    {"ACTIVATION_SHRINK", "Shrink", "", "softshrink hardshrink"},
    {"ACTIVATION_SIGMOID", "Sigmoid", "sigmoid", "sigmoid"},
    {"ACTIVATION_SOFTMAX", "Softmax", "softmax", "softmax"},
    {"ACTIVATION_SOFTMAX1", "Softmax", "softmax", "softmax"},
    {"ACTIVATION_SOFTPLUS", "Softplus", "softplus", "softplus"},
    {"ACTIVATION_SOFTSIGN", "Softsign", "softsign", "softsign"},
    {"ACTIVATION_SWISH", "Swish", "", "silu"},
    {"ACTIVATION_TANH", "Tanh", "tanh", "tanh"},
    {"ACTIVATION_THRESHOLDED_RELU", "ThresholdedRelu", "", "threshold"},
    {"ADAM_OPTIMIZER", "Adam", "", "Adam"},
    {"ARGMAX", "ArgMax", "argMax", "argmax"},
    {"ARGMIN", "ArgMin", "argMin", "argmin"},
    {"AVERAGE_POOLING", "AveragePool GlobalAveragePool", "averagePool2d",
     "avg_pool2d avg_pool3d adaptive_avg_pool2d"},
    {"AVERAGE_POOLING1", "AveragePool GlobalAveragePool", "averagePool2d",
     "avg_pool2d avg_pool3d adaptive_avg_pool2d"},
    {"AVERAGE_POOLING_GRAD", "", "", "avg_pool2d_backward"},
    {"BATCH_NORMALIZATION", "BatchNormalization", "batchNormalization", "batch_norm"},
    {"BATCH_NORMALIZATION_GRAD", "", "", "native_batch_norm_backward"},
    {"BATCH_NORMALIZATION_TRAINING", "BatchNormalization", "", "batch_norm"},
    {"BATCH_NORMALIZATION_TRAINING_GRAD", "", "", "native_batch_norm_backward"},
    {"CAST", "Cast CastLike", "cast", "to"},
    {"CONVOLUTION", "Conv ConvTranspose", "conv2d convTranspose2d",
     "conv1d conv2d conv3d conv_transpose2d"},
    {"CONVOLUTION_INTEGER", "ConvInteger", "", ""},
    {"CUMULATIVE_PRODUCT", "CumProd", "", "cumprod"},
    {"CUMULATIVE_SUMMATION", "CumSum", "cumulativeSum", "cumsum"},
    {"DEPTH_TO_SPACE", "DepthToSpace", "", ""},
    {"DEPTH_TO_SPACE1", "DepthToSpace", "", "pixel_shuffle"},
    {"DEQUANTIZE", "DequantizeLinear", "dequantizeLinear", "dequantize"},
    {"DIAGONAL_MATRIX", "EyeLike", "", "eye"},
    {"DIAGONAL_MATRIX1", "EyeLike Trilu", "triangular", "eye tril triu"},
    {"DYNAMIC_QUANTIZE_LINEAR", "DynamicQuantizeLinear", "", ""},
    {"ELEMENT_WISE_ABS", "Abs", "abs", "abs"},
    {"ELEMENT_WISE_ACOS", "Acos", "", "acos"},
    {"ELEMENT_WISE_ACOSH", "Acosh", "", "acosh"},
    {"ELEMENT_WISE_ADD", "Add Sum", "add", "add"},
    {"ELEMENT_WISE_ADD1", "Add", "add", "add"},
    {"ELEMENT_WISE_ASIN", "Asin", "", "asin"},
    {"ELEMENT_WISE_ASINH", "Asinh", "", "asinh"},
    {"ELEMENT_WISE_ATAN", "Atan", "", "atan"},
    {"ELEMENT_WISE_ATANH", "Atanh", "", "atanh"},
    {"ELEMENT_WISE_ATAN_YX", "", "", "atan2"},
    {"ELEMENT_WISE_BIT_AND", "BitwiseAnd", "", "bitwise_and"},
    {"ELEMENT_WISE_BIT_COUNT", "", "", ""},
    {"ELEMENT_WISE_BIT_NOT", "BitwiseNot", "", "bitwise_not"},
    {"ELEMENT_WISE_BIT_OR", "BitwiseOr", "", "bitwise_or"},
    {"ELEMENT_WISE_BIT_SHIFT_LEFT", "BitShift", "", "bitwise_left_shift"},
    {"ELEMENT_WISE_BIT_SHIFT_RIGHT", "BitShift", "", "bitwise_right_shift"},
    {"ELEMENT_WISE_BIT_XOR", "BitwiseXor", "", "bitwise_xor"},
    {"ELEMENT_WISE_CEIL", "Ceil", "ceil", "ceil"},
    {"ELEMENT_WISE_CLIP", "Clip", "clamp", "clamp clip"},
    {"ELEMENT_WISE_CLIP1", "Clip", "clamp", "clamp clip"},
    {"ELEMENT_WISE_CLIP_GRAD", "", "", "clamp_backward"},
    {"ELEMENT_WISE_CLIP_GRAD1", "", "", "clamp_backward"},
    {"ELEMENT_WISE_CONSTANT_POW", "Pow", "pow", "pow"},
    {"ELEMENT_WISE_COS", "Cos", "cos", "cos"},
    {"ELEMENT_WISE_COSH", "Cosh", "", "cosh"},
    {"ELEMENT_WISE_DEQUANTIZE_LINEAR", "DequantizeLinear", "dequantizeLinear", "dequantize"},
    {"ELEMENT_WISE_DIFFERENCE_SQUARE", "", "", ""},
    {"ELEMENT_WISE_DIVIDE", "Div", "div", "div"},
    {"ELEMENT_WISE_ERF", "Erf", "erf", "erf"},
    {"ELEMENT_WISE_EXP", "Exp", "exp", "exp"},
    {"ELEMENT_WISE_FLOOR", "Floor", "floor", "floor"},
    {"ELEMENT_WISE_IDENTITY", "Identity Transpose Expand", "identity transpose expand",
     "clone permute contiguous"},
    {"ELEMENT_WISE_IF", "Where", "where", "where"},
    {"ELEMENT_WISE_IS_INFINITY", "IsInf", "isInfinite", "isinf"},
    {"ELEMENT_WISE_IS_NAN", "IsNaN", "isNaN", "isnan"},
    {"ELEMENT_WISE_LOG", "Log", "log", "log"},
    {"ELEMENT_WISE_LOGICAL_AND", "And", "logicalAnd", "logical_and"},
    {"ELEMENT_WISE_LOGICAL_EQUALS", "Equal", "equal", "eq"},
    {"ELEMENT_WISE_LOGICAL_GREATER_THAN", "Greater", "greater", "gt"},
    {"ELEMENT_WISE_LOGICAL_GREATER_THAN_OR_EQUAL", "GreaterOrEqual", "greaterOrEqual", "ge"},
    {"ELEMENT_WISE_LOGICAL_LESS_THAN", "Less", "lesser", "lt"},
    {"ELEMENT_WISE_LOGICAL_LESS_THAN_OR_EQUAL", "LessOrEqual", "lesserOrEqual", "le"},
    {"ELEMENT_WISE_LOGICAL_NOT", "Not", "logicalNot", "logical_not"},
    {"ELEMENT_WISE_LOGICAL_OR", "Or", "logicalOr", "logical_or"},
    {"ELEMENT_WISE_LOGICAL_XOR", "Xor", "logicalXor", "logical_xor"},
    {"ELEMENT_WISE_MAX", "Max", "max", "maximum"},
    {"ELEMENT_WISE_MEAN", "Mean", "", ""},
    {"ELEMENT_WISE_MIN", "Min", "min", "minimum"},
    {"ELEMENT_WISE_MODULUS_FLOOR", "Mod", "", "remainder"},
    {"ELEMENT_WISE_MODULUS_TRUNCATE", "Mod", "", "fmod"},
    {"ELEMENT_WISE_MULTIPLY", "Mul", "mul", "mul"},
    {"ELEMENT_WISE_NEGATE", "Neg", "neg", "neg"},
    {"ELEMENT_WISE_POW", "Pow", "pow", "pow"},
    {"ELEMENT_WISE_QUANTIZED_LINEAR_ADD", "QLinearAdd", "", ""},
    {"ELEMENT_WISE_QUANTIZE_LINEAR", "QuantizeLinear", "quantizeLinear", "quantize_per_tensor"},
    {"ELEMENT_WISE_RECIP", "Reciprocal", "reciprocal", "reciprocal"},
    {"ELEMENT_WISE_ROUND", "Round", "roundEven", "round"},
    {"ELEMENT_WISE_SIGN", "Sign", "sign", "sign"},
    {"ELEMENT_WISE_SIN", "Sin", "sin", "sin"},
    {"ELEMENT_WISE_SINH", "Sinh", "", "sinh"},
    {"ELEMENT_WISE_SQRT", "Sqrt", "sqrt", "sqrt"},
    {"ELEMENT_WISE_SUBTRACT", "Sub", "sub", "sub"},
    {"ELEMENT_WISE_TAN", "Tan", "tan", "tan"},
    {"ELEMENT_WISE_TANH", "Tanh", "tanh", "tanh"},
    {"ELEMENT_WISE_THRESHOLD", "Clip", "", ""},
    {"FILL_VALUE_CONSTANT", "ConstantOfShape", "constant", "full zeros ones"},
    {"FILL_VALUE_SEQUENCE", "Range", "", "arange linspace"},
    {"FOLD", "Col2Im", "", "fold"},
    {"GATHER", "Gather", "gather", "index_select"},
    {"GATHER_ELEMENTS", "GatherElements", "gatherElements", "gather"},
    {"GATHER_ND", "GatherND", "gatherND", ""},
    {"GATHER_ND1", "GatherND", "gatherND", ""},
    {"GEMM", "Gemm MatMul", "gemm matmul", "mm bmm matmul addmm linear"},
    {"GRU", "GRU", "gru gruCell", "GRU"},
    {"JOIN", "Concat", "concat", "cat stack"},
    {"LOCAL_RESPONSE_NORMALIZATION", "LRN", "", "local_response_norm"},
    {"LOCAL_RESPONSE_NORMALIZATION_GRAD", "", "", ""},
    {"LP_NORMALIZATION", "LpNormalization", "", "normalize"},
    {"LP_POOLING", "LpPool GlobalLpPool", "l2Pool2d", "lp_pool2d"},
    {"LP_POOLING1", "LpPool GlobalLpPool", "l2Pool2d", "lp_pool2d"},
    {"LSTM", "LSTM", "lstm lstmCell", "LSTM"},
    {"MATRIX_MULTIPLY_INTEGER", "MatMulInteger", "", ""},
    {"MATRIX_MULTIPLY_INTEGER_TO_FLOAT", "MatMulIntegerToFloat", "", ""},
    {"MAX_POOLING", "MaxPool GlobalMaxPool", "maxPool2d", "max_pool2d max_pool3d"},
    {"MAX_POOLING1", "MaxPool GlobalMaxPool", "maxPool2d", "max_pool2d max_pool3d"},
    {"MAX_POOLING2", "MaxPool GlobalMaxPool", "maxPool2d", "max_pool2d max_pool3d"},
    {"MAX_POOLING_GRAD", "", "", "max_pool2d_with_indices_backward"},
    {"MAX_UNPOOLING", "MaxUnpool", "", "max_unpool2d"},
    {"MEAN_VARIANCE_NORMALIZATION", "InstanceNormalization", "instanceNormalization",
     "instance_norm"},
    {"MEAN_VARIANCE_NORMALIZATION1",
     "MeanVarianceNormalization InstanceNormalization LayerNormalization",
     "instanceNormalization layerNormalization", "instance_norm layer_norm group_norm"},
    {"MEAN_VARIANCE_NORMALIZATION2", "LayerNormalization RMSNormalization", "layerNormalization",
     "layer_norm rms_norm"},
    {"MULTIHEAD_ATTENTION", "MultiHeadAttention Attention", "",
     "scaled_dot_product_attention MultiheadAttention"},
    {"MULTIHEAD_ATTENTION1", "GroupQueryAttention", "", "scaled_dot_product_attention"},
    {"NONZERO_COORDINATES", "NonZero", "", "nonzero"},
    {"ONE_HOT", "OneHot", "", "one_hot"},
    {"PADDING", "Pad", "pad", "pad"},
    {"PADDING1", "Pad", "pad", "pad"},
    {"QUANTIZE", "QuantizeLinear", "quantizeLinear", "quantize_per_tensor"},
    {"QUANTIZED_LINEAR_AVERAGE_POOLING", "QLinearAveragePool", "", ""},
    {"QUANTIZED_LINEAR_CONVOLUTION", "QLinearConv", "", ""},
    {"QUANTIZED_LINEAR_MATRIX_MULTIPLY", "QLinearMatMul", "", ""},
    {"RANDOM_GENERATOR", "RandomUniform", "", "rand"},
    {"REDUCE",
     "ReduceSum ReduceMean ReduceMax ReduceMin ReduceProd ReduceL1 ReduceL2 ReduceLogSum "
     "ReduceLogSumExp ReduceSumSquare",
     "reduceSum reduceMean reduceMax reduceMin reduceProduct reduceL1 reduceL2 reduceLogSum "
     "reduceLogSumExp reduceSumSquare",
     "sum mean amax amin prod logsumexp norm"},
    {"RESAMPLE", "Resize Upsample", "resample2d", "interpolate"},
    {"RESAMPLE1", "Resize Upsample", "resample2d", "interpolate"},
    {"RESAMPLE2", "Resize Upsample", "resample2d", "interpolate"},
    {"RESAMPLE3", "Resize Upsample", "resample2d", "interpolate"},
    {"RESAMPLE_GRAD", "", "", "upsample_bilinear2d_backward"},
    {"RESAMPLE_GRAD1", "", "", "upsample_bilinear2d_backward"},
    {"REVERSE_SUBSEQUENCES", "ReverseSequence", "", "flip"},
    {"RNN", "RNN", "", "RNN"},
    {"ROI_ALIGN", "RoiAlign", "", "roi_align"},
    {"ROI_ALIGN1", "RoiAlign", "", "roi_align"},
    {"ROI_ALIGN_GRAD", "", "", ""},
    {"ROI_POOLING", "MaxRoiPool", "", "roi_pool"},
    {"SCATTER", "ScatterElements Scatter", "scatterElements", "scatter"},
    {"SCATTER_ND", "ScatterND", "scatterND", "index_put"},
    {"SLICE", "Slice Crop", "slice", "narrow"},
    {"SLICE1", "Slice", "slice reverse", "narrow flip"},
    {"SLICE_GRAD", "", "", "slice_backward"},
    {"SPACE_TO_DEPTH", "SpaceToDepth", "", "pixel_unshuffle"},
    {"SPACE_TO_DEPTH1", "SpaceToDepth", "", "pixel_unshuffle"},
    {"SPLIT", "Split", "split", "split chunk"},
    {"TILE", "Tile", "tile", "tile repeat"},
    {"TOP_K", "TopK", "", "topk"},
    {"TOP_K1", "TopK", "", "topk sort"},
    {"UNFOLD", "Im2Col", "", "unfold im2col"},
    {"UPSAMPLE_2D", "Upsample Resize", "resample2d", "interpolate"},
    {"VALUE_SCALE_2D", "ImageScaler", "", ""},
};

const Row* RowOf(const OperatorInfo& info) {
  const auto* found = std::find_if(std::begin(kRows), std::end(kRows),
                                   [&](const Row& row) { return row.name == info.name; });
  return found == std::end(kRows) ? nullptr : found;
}

// "reduce_sum", "ReduceSum" and "reduceSum" are one name.
std::string Bare(std::string_view name) {
  std::string bare;
  for (const char c : name) {
    if (c != '_') bare += LowerCase(c);
  }
  return bare;
}

bool HasName(const OtherNames& names, std::string_view bare) {
  for (const auto& words : {names.onnx, names.webnn, names.pytorch}) {
    for (const std::string_view word : words) {
      if (Bare(word) == bare) return true;
    }
  }
  return false;
}

}  // namespace

OtherNames OtherNamesOf(const OperatorInfo& info) {
  const Row* row = RowOf(info);
  if (row == nullptr) return {};
  return {WordsOf(row->onnx), WordsOf(row->webnn), WordsOf(row->pytorch)};
}

std::vector<const OperatorInfo*> OperatorsLike(std::string_view name) {
  std::vector<const OperatorInfo*> like;
  const std::string bare = Bare(name);
  for (const OperatorInfo* info : Operators()) {
    if (HasName(OtherNamesOf(*info), bare)) like.push_back(info);
  }
  return like;
}

std::string DidYouMeanOperator(std::string_view name) {
  if (name.starts_with(kOperatorPrefix)) name.remove_prefix(kOperatorPrefix.size());
  const std::vector<const OperatorInfo*> like = OperatorsLike(name);
  if (like.empty()) return DidYouMean(name, OperatorNames());
  // Some functions are activations, too.
  const auto element_wise = std::find_if(like.begin(), like.end(), [](const OperatorInfo* info) {
    return info->name.starts_with("ELEMENT_WISE_");
  });
  const OperatorInfo* best = element_wise == like.end() ? like.front() : *element_wise;
  return fmt::format(" (did you mean '{}'?)", best->name);
}

}  // namespace dmlop
