// SPDX-License-Identifier: Apache-2.0
// Integers that stand for real numbers.
#include <algorithm>

#include "core/base/text.h"
#include "core/onnx/onnx_steps.h"

namespace dmlop::onnx_quantized {
namespace {

// --- elements ------------------------------------------------------------------------------------

// The sizes of a parameter with a number for each block, which the attributes say, too.
OnnxSizes BlockSizes(const OnnxCall& call, const OnnxValue& parameter, const OnnxValue& x) {
  const int64_t block = call.Int("block_size", 0);
  const size_t axis = call.Axis(call.Int("axis", 1), x.rank());
  OnnxSizes sizes = x.sizes;
  sizes[axis] = block < 1 ? 0 : CeilDiv(sizes[axis], block);
  if (parameter.sizes != sizes) {
    call.Refuse("ONX-4", "'{}' is {}, not {} as block_size {} on axis {} of {} has it",
                parameter.name, ToString(parameter.sizes), ToString(sizes), block, axis,
                ToString(x.sizes));
  }
  return sizes;
}

// The sizes of a parameter as a tensor of the rank of `x`: one number, one for each place along the
// axis, or one for each block of elements.
OnnxSizes ParameterSizes(const OnnxCall& call, const OnnxValue& parameter, const OnnxValue& x) {
  OnnxSizes ones(x.rank() == 0 ? 1 : x.rank(), 1);
  if (CountOf(parameter.sizes) == 1) return ones;
  if (call.Int("block_size", 0) != 0) return BlockSizes(call, parameter, x);
  ones[call.Axis(call.Int("axis", 1), x.rank())] = CountOf(parameter.sizes);
  return ones;
}

// Returns whether the newer operators do it, which know elements of 4 bits and blocks.
bool TakesNewer(const OnnxCall& call, DataType quantized) {
  return call.version() >= 21 && call.row().domain.empty() && BitWidth(quantized) <= 8;
}

struct Quantization {
  OnnxValue& x;
  OnnxOperand output;
  DataType quantized;
};

// By QUANTIZE or DEQUANTIZE. Without a zero point, an unsigned type would get the middle of its
// range.
void EmitByBlocks(OnnxCall& call, std::string_view op, const Quantization& of) {
  OnnxValue& scale = call.In(1);
  const OnnxSizes sizes = ParameterSizes(call, scale, of.x);
  std::vector<OnnxOperand> tensors = {Reshaped(scale, sizes)};
  if (call.Has(2)) {
    tensors.push_back(Reshaped(call.In(2), sizes));
  } else if (!IsSigned(of.quantized)) {
    OnnxValue& zero = NumberOf(call, OnnxTypeOf(of.quantized, false), 0);
    tensors.push_back(Strided(zero, sizes, OnnxSizes(sizes.size(), 0)));
  }
  EmitUnary(call, op, Packed(of.x), of.output,
            {{"QuantizationType", tensors.size() == 1 ? "SCALE" : "SCALE_ZERO_POINT"},
             {"QuantizationTensors", tensors}});
}

void EmitByElements(OnnxCall& call, std::string_view op, const Quantization& of) {
  if (call.Int("block_size", 0) != 0)
    call.Refuse("ONX-3", "block_size with {}", Name(of.quantized));
  const OnnxSizes sizes = of.x.rank() == 0 ? OnnxSizes{1} : of.x.sizes;
  const auto parameter = [&](OnnxValue& value) {
    return RepeatedTo(value, ParameterSizes(call, value, of.x), sizes);
  };
  OnnxSettings more = {{"ScaleTensor", parameter(call.In(1))}};
  if (call.Has(2)) more.emplace_back("ZeroPointTensor", parameter(call.In(2)));
  EmitUnary(call, op, Packed(of.x), of.output, more);
}

void QuantizeLinear(OnnxCall& call) {
  OnnxValue& x = call.In(0);
  const int64_t stated = call.Int("output_dtype", 0);
  const OnnxType type = call.Has(2)   ? call.In(2).type
                        : stated != 0 ? call.RequireType(stated)
                                      : kOnnxUint8;
  const Quantization of{x, call.Out(0, type, x.sizes), type.type};
  if (TakesNewer(call, type.type)) return EmitByBlocks(call, "QUANTIZE", of);
  EmitByElements(call, "ELEMENT_WISE_QUANTIZE_LINEAR", of);
}

void DequantizeLinear(OnnxCall& call) {
  OnnxValue& x = call.In(0);
  const OnnxType type = call.In(1).type;
  const int64_t stated = call.Int("output_dtype", 0);
  const OnnxType wanted = stated != 0 ? call.RequireType(stated) : type;
  const bool is_cast = wanted.number != type.number;
  const Quantization of{x, is_cast ? call.Temporary(type, x.sizes) : call.Out(0, type, x.sizes),
                        x.type.type};
  if (TakesNewer(call, x.type.type)) {
    EmitByBlocks(call, "DEQUANTIZE", of);
  } else {
    EmitByElements(call, "ELEMENT_WISE_DEQUANTIZE_LINEAR", of);
  }
  if (is_cast) EmitUnary(call, "CAST", of.output, call.Out(0, wanted, x.sizes));
}

// --- convolutions and pools ----------------------------------------------------------------------

void ConvInteger(OnnxCall& call) {
  const size_t rank = call.In(0).rank();
  OnnxSettings settings;
  AddParameter(call, "InputZeroPointTensor", 2, 1, rank, settings);
  AddParameter(call, "FilterZeroPointTensor", 3, 1, rank, settings);
  EmitConvolution(call, "CONVOLUTION_INTEGER", 1, kOnnxInt32, settings);
}

void QLinearConv(OnnxCall& call) {
  constexpr std::string_view kFields[] = {"InputScaleTensor",
                                          "InputZeroPointTensor",
                                          "",
                                          "FilterScaleTensor",
                                          "FilterZeroPointTensor",
                                          "OutputScaleTensor",
                                          "OutputZeroPointTensor",
                                          "BiasTensor"};
  const size_t rank = call.In(0).rank();
  OnnxSettings settings;
  for (size_t i = 0; i < std::size(kFields); ++i) {
    if (kFields[i].empty()) continue;
    if (kFields[i] == "BiasTensor") {
      if (call.Has(i + 1)) settings.emplace_back(kFields[i], Along(call.In(i + 1), 1, rank));
    } else {
      AddParameter(call, kFields[i], i + 1, 1, rank, settings);
    }
  }
  EmitConvolution(call, "QUANTIZED_LINEAR_CONVOLUTION", 3, call.In(7).type, settings);
}

void QLinearAveragePool(OnnxCall& call) {
  OnnxValue& x = call.In(0);
  const bool is_last = call.Int("channels_last", 0) != 0;
  OnnxSizes spatial = SpatialSizes(call, x);
  if (is_last) spatial.assign(x.sizes.begin() + 1, x.sizes.end() - 1);
  const bool is_global = call.name() == "QLinearGlobalAveragePool";
  OnnxWindows windows =
      WindowsOf(call, spatial, is_global ? spatial : KernelShape(call, spatial.size(), nullptr));
  OnnxSizes sizes = x.sizes;
  std::ranges::copy(windows.output, sizes.begin() + (is_last ? 1 : 2));
  windows.Fill(2);
  const auto laid_out = [&](OnnxValue& value) {
    return is_last ? ChannelsFirst(value, 4) : Reshaped(value, SpatialOnes(value.sizes, 4));
  };
  const size_t rank = std::max<size_t>(x.rank(), 4);
  OnnxSettings settings = {{"InputTensor", laid_out(x)},
                           {"OutputTensor", laid_out(*call.Out(0, x.type, sizes).value)},
                           {"Strides", windows.strides},
                           {"WindowSize", windows.sizes},
                           {"StartPadding", windows.starts},
                           {"EndPadding", windows.ends},
                           {"Dilations", windows.dilations},
                           {"IncludePadding", call.Int("count_include_pad", 0) != 0}};
  AddParameter(call, "InputScaleTensor", 1, 1, rank, settings);
  AddParameter(call, "InputZeroPointTensor", 2, 1, rank, settings);
  AddParameter(call, "OutputScaleTensor", 3, 1, rank, settings);
  AddParameter(call, "OutputZeroPointTensor", 4, 1, rank, settings);
  call.Emit("QUANTIZED_LINEAR_AVERAGE_POOLING", settings);
}

// --- other functions of integers -----------------------------------------------------------------

void QLinearAdd(OnnxCall& call) {
  OnnxValue& a = call.In(0);
  OnnxValue& b = call.In(3);
  const OnnxSizes sizes = BroadcastSizes(call, a.sizes, b.sizes);
  const size_t rank = std::max<size_t>(sizes.size(), 1);
  OnnxSettings settings = {{"ATensor", BroadcastTo(a, sizes)},
                           {"BTensor", BroadcastTo(b, sizes)},
                           {"OutputTensor", call.Out(0, a.type, sizes)}};
  constexpr std::pair<std::string_view, size_t> kFields[] = {
      {"AScaleTensor", 1},     {"AZeroPointTensor", 2},  {"BScaleTensor", 4},
      {"BZeroPointTensor", 5}, {"OutputScaleTensor", 6}, {"OutputZeroPointTensor", 7}};
  for (const auto& [field, input] : kFields) AddParameter(call, field, input, 0, rank, settings);
  call.Emit("ELEMENT_WISE_QUANTIZED_LINEAR_ADD", settings);
}

// Adds the scale and the zero point, repeated to the sizes.
OnnxSettings RepeatedParameters(OnnxCall& call, size_t scale, size_t zero, const OnnxSizes& sizes) {
  OnnxSettings settings = {{"ScaleTensor", BroadcastTo(call.In(scale), sizes)}};
  if (call.Has(zero)) settings.emplace_back("ZeroPointTensor", BroadcastTo(call.In(zero), sizes));
  return settings;
}

OnnxOperand EmitDequantized(OnnxCall& call, size_t x, size_t scale, size_t zero) {
  OnnxValue& from = call.In(x);
  return EmitUnary(call, "ELEMENT_WISE_DEQUANTIZE_LINEAR", Packed(from),
                   call.Temporary(call.In(scale).type, from.sizes),
                   RepeatedParameters(call, scale, zero, from.sizes));
}

void QLinearSigmoid(OnnxCall& call) {
  const OnnxValue& x = call.In(0);
  const OnnxOperand real = EmitDequantized(call, 0, 1, 2);
  const OnnxOperand result =
      EmitUnary(call, "ACTIVATION_SIGMOID", real, call.Temporary(real.value->type, x.sizes));
  EmitUnary(call, "ELEMENT_WISE_QUANTIZE_LINEAR", result, call.Out(0, x.type, x.sizes),
            RepeatedParameters(call, 3, 4, x.sizes));
}

void QLinearConcat(OnnxCall& call) {
  const OnnxValue& first = call.In(2);
  const size_t axis = call.Axis(call.Int("axis", 0), first.rank());
  OnnxSizes sizes = first.sizes;
  sizes[axis] = 0;
  std::vector<OnnxOperand> parts;
  for (size_t i = 2; i + 2 < call.input_count(); i += 3) {
    if (call.In(i).rank() != first.rank()) call.Refuse("ONX-4", "its inputs differ in rank");
    sizes[axis] += call.In(i).sizes[axis];
    if (!call.In(i).empty()) parts.push_back(EmitDequantized(call, i, i + 1, i + 2));
  }
  const OnnxOperand joined = call.Temporary(call.In(0).type, sizes);
  call.Emit("JOIN", {{"InputTensors", parts}, {"OutputTensor", joined}, {"Axis", axis}});
  EmitUnary(call, "ELEMENT_WISE_QUANTIZE_LINEAR", joined, call.Out(0, first.type, sizes),
            RepeatedParameters(call, 0, 1, sizes));
}

constexpr std::string_view kQuantize = "ELEMENT_WISE_QUANTIZE_LINEAR QUANTIZE";
constexpr std::string_view kDequantize = "ELEMENT_WISE_DEQUANTIZE_LINEAR DEQUANTIZE";
constexpr std::string_view kNewer = "QUANTIZE and DEQUANTIZE from version 21 on";

// --- products of integers ------------------------------------------------------------------------

// The three outputs of DYNAMIC_QUANTIZE_LINEAR.
struct Quantized {
  OnnxOperand integers, scale, zero;
};

void EmitDynamic(OnnxCall& call, OnnxValue& x, const Quantized& outputs) {
  call.Emit("DYNAMIC_QUANTIZE_LINEAR", {{"InputTensor", Packed(x)},
                                        {"OutputTensor", outputs.integers},
                                        {"OutputScaleTensor", outputs.scale},
                                        {"OutputZeroPointTensor", outputs.zero}});
}

void DynamicQuantizeLinear(OnnxCall& call) {
  OnnxValue& x = call.In(0);
  const OnnxType type = kOnnxUint8;
  const OnnxSizes ones(std::max<size_t>(x.rank(), 1), 1);
  const auto number = [&](size_t output, const OnnxType& of) {
    return call.Wants(output) ? call.Out(output, of, {}, ones) : call.Temporary(of, ones);
  };
  EmitDynamic(call, x, {call.Out(0, type, x.sizes), number(1, kOnnxFloat), number(2, type)});
}

// The inputs of a node that are the scales and zero points of A and B; those that a node has not
// are beyond its inputs.
struct Parameters {
  size_t a_scale, a_zero, b_scale, b_zero;
};
constexpr size_t kNone = 99;

OnnxSettings ProductSettings(OnnxCall& call, const OnnxProduct& product, const Parameters& inputs) {
  const size_t rank = product.rank();
  OnnxSettings settings = {{"ATensor", product.a}, {"BTensor", product.b}};
  AddParameter(call, "AScaleTensor", inputs.a_scale, rank - 2, rank, settings);
  AddParameter(call, "AZeroPointTensor", inputs.a_zero, rank - 2, rank, settings);
  AddParameter(call, "BScaleTensor", inputs.b_scale, rank - 1, rank, settings);
  AddParameter(call, "BZeroPointTensor", inputs.b_zero, rank - 1, rank, settings);
  return settings;
}

void MatMulInteger(OnnxCall& call) {
  const OnnxProduct product = ProductOf(call, call.In(0), call.In(1));
  OnnxSettings settings = ProductSettings(call, product, {kNone, 2, kNone, 3});
  const OnnxType type = kOnnxInt32;
  settings.emplace_back("OutputTensor", call.Out(0, type, product.sizes, product.laid_out));
  call.Emit("MATRIX_MULTIPLY_INTEGER", settings);
}

// Scales of FLOAT16 are cast, as the descriptor takes FLOAT32 only.
void AddScale(OnnxCall& call, std::string_view field, size_t input, size_t axis, size_t rank,
              OnnxSettings& settings) {
  OnnxValue& scale = CastTo(call, call.In(input), kOnnxFloat);
  settings.emplace_back(field, QuantizationParameter(scale, axis, rank));
}

void QLinearMatMul(OnnxCall& call) {
  const OnnxProduct product = ProductOf(call, call.In(0), call.In(3));
  OnnxSettings settings = ProductSettings(call, product, {kNone, 2, kNone, 5});
  const size_t rank = product.rank();
  AddScale(call, "AScaleTensor", 1, rank - 2, rank, settings);
  AddScale(call, "BScaleTensor", 4, rank - 1, rank, settings);
  AddScale(call, "OutputScaleTensor", 6, rank - 2, rank, settings);
  AddParameter(call, "OutputZeroPointTensor", 7, rank - 2, rank, settings);
  settings.emplace_back("OutputTensor",
                        call.Out(0, call.In(7).type, product.sizes, product.laid_out));
  call.Emit("QUANTIZED_LINEAR_MATRIX_MULTIPLY", settings);
}

void EmitProductToFloat(OnnxCall& call, const OnnxProduct& product, OnnxSettings settings,
                        const OnnxType& type, size_t bias) {
  if (call.Has(bias)) {
    settings.emplace_back("BiasTensor", BroadcastTo(call.In(bias), product.laid_out));
  }
  settings.emplace_back("OutputTensor", call.Out(0, type, product.sizes, product.laid_out));
  call.Emit("MATRIX_MULTIPLY_INTEGER_TO_FLOAT", settings);
}

void MatMulIntegerToFloat(OnnxCall& call) {
  const OnnxProduct product = ProductOf(call, call.In(0), call.In(1));
  EmitProductToFloat(call, product, ProductSettings(call, product, {2, 4, 3, 5}), call.In(2).type,
                     6);
}

void DynamicQuantizeMatMul(OnnxCall& call) {
  OnnxValue& x = call.In(0);
  const OnnxType type = kOnnxUint8;
  const OnnxSizes ones(std::max<size_t>(x.rank(), 1), 1);
  const Quantized a{call.Temporary(type, x.sizes), call.Temporary(kOnnxFloat, ones),
                    call.Temporary(type, ones)};
  EmitDynamic(call, x, a);
  const OnnxProduct product = ProductOf(call, *a.integers.value, call.In(1));
  const size_t rank = product.rank();
  OnnxSettings settings = ProductSettings(call, product, {kNone, kNone, 2, 3});
  settings.emplace_back("AScaleTensor", QuantizationParameter(*a.scale.value, 0, rank));
  settings.emplace_back("AZeroPointTensor", QuantizationParameter(*a.zero.value, 0, rank));
  EmitProductToFloat(call, product, settings, x.type, 4);
}

// Weights of 4 or 8 bits in blocks, each of which has a scale.
void MatMulNBits(OnnxCall& call) {
  OnnxValue& a = call.In(0);
  const int64_t k = call.Int("K", 0), n = call.Int("N", 0);
  const int64_t bits = call.Int("bits", 4), block = call.Int("block_size", 0);
  if (call.Has(4) || call.Has(5)) call.Refuse("ONX-3", "g_idx or bias");
  if ((bits != 4 && bits != 8) || block < 1 || k < 1 || k > kMostSize || k % block != 0) {
    call.Refuse("ONX-3", "{} in blocks of {} of {}", Counted(bits, "bit"), block, k);
  }
  if (a.rank() == 0 || a.sizes.back() != k || n < 1 || n > kMostSize ||
      CountOf(call.In(1).sizes) != n * k / (8 / bits) ||
      CountOf(call.In(2).sizes) != n * (k / block)) {
    call.Refuse("ONX-4", "its inputs are not those of a {} x {} matrix", k, n);
  }
  const DataType type = bits == 4 ? DataType::kUint4 : DataType::kUint8;
  const OnnxSizes blocks = {n, k / block};
  std::vector<OnnxOperand> tensors = {Reshaped(call.In(2), blocks)};
  if (call.Has(3)) {
    if (call.In(3).type.type != DataType::kUint8)
      call.Refuse("ONX-3", "zero points of {}", call.In(3).type.name);
    const int64_t row = (blocks[1] * bits + 7) / 8 * 8 / bits;  // padded to whole bytes
    tensors.push_back(AsType(Strided(call.In(3), blocks, {row, 1}), type));
  }
  const OnnxOperand weights =
      EmitUnary(call, "DEQUANTIZE", AsType(Reshaped(call.In(1), {n, k}), type),
                call.Temporary(call.In(2).type, {n, k}),
                {{"QuantizationType", tensors.size() == 1 ? "SCALE" : "SCALE_ZERO_POINT"},
                 {"QuantizationTensors", tensors}});
  OnnxSizes sizes = a.sizes;
  sizes.back() = n;
  const int64_t rows = CountOf({a.sizes.begin(), a.sizes.end() - 1});
  EmitGemm(call, Reshaped(a, {rows, k}), false, weights, true,
           call.Out(0, a.type, sizes, {rows, n}));
}

const OnnxRow kRows[] = {
    {"ConvInteger", "10", "CONVOLUTION_INTEGER", ConvInteger},
    {"DequantizeLinear", "10 13 19 21 23 24 25", kDequantize, DequantizeLinear, kNewer},
    {"QLinearConv", "10", "QUANTIZED_LINEAR_CONVOLUTION", QLinearConv},
    {"QuantizeLinear", "10 13 19 21 23 24 25", kQuantize, QuantizeLinear, kNewer},
    {"DequantizeLinear", "1", "ELEMENT_WISE_DEQUANTIZE_LINEAR", DequantizeLinear, "", kContrib},
    {"QLinearAdd", "1", "ELEMENT_WISE_QUANTIZED_LINEAR_ADD", QLinearAdd, "", kContrib},
    {"QLinearAveragePool", "1", "QUANTIZED_LINEAR_AVERAGE_POOLING", QLinearAveragePool, "",
     kContrib},
    {"QLinearConcat", "1", "ELEMENT_WISE_DEQUANTIZE_LINEAR JOIN ELEMENT_WISE_QUANTIZE_LINEAR",
     QLinearConcat, "", kContrib},
    {"QLinearGlobalAveragePool", "1", "QUANTIZED_LINEAR_AVERAGE_POOLING", QLinearAveragePool, "",
     kContrib},
    {"QLinearSigmoid", "1",
     "ELEMENT_WISE_DEQUANTIZE_LINEAR ACTIVATION_SIGMOID ELEMENT_WISE_QUANTIZE_LINEAR",
     QLinearSigmoid, "", kContrib},
    {"QuantizeLinear", "1", "ELEMENT_WISE_QUANTIZE_LINEAR", QuantizeLinear, "", kContrib},
    {"DynamicQuantizeLinear", "11", "DYNAMIC_QUANTIZE_LINEAR", DynamicQuantizeLinear},
    {"MatMulInteger", "10", "MATRIX_MULTIPLY_INTEGER", MatMulInteger},
    {"QLinearMatMul", "10 21", "QUANTIZED_LINEAR_MATRIX_MULTIPLY", QLinearMatMul},
    {"DynamicQuantizeMatMul", "1", "DYNAMIC_QUANTIZE_LINEAR MATRIX_MULTIPLY_INTEGER_TO_FLOAT",
     DynamicQuantizeMatMul, "", kContrib},
    {"MatMulIntegerToFloat", "1", "MATRIX_MULTIPLY_INTEGER_TO_FLOAT", MatMulIntegerToFloat, "",
     kContrib},
    {"MatMulNBits", "1", "DEQUANTIZE GEMM", MatMulNBits, "", kContrib},
};

}  // namespace

extern const std::span<const OnnxRow> kOnnxRows = kRows;

}  // namespace dmlop::onnx_quantized
