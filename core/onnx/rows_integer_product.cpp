// SPDX-License-Identifier: Apache-2.0
// Products of matrices of integers, and the quantization of numbers by their range.
#include <algorithm>

#include "core/base/counted.h"
#include "core/onnx/onnx_families.h"
#include "core/onnx/onnx_steps.h"

namespace dmlop::onnx_integer_product {
namespace {

constexpr std::string_view kContrib = "com.microsoft";

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
  const OnnxType type = OnnxTypeOf(DataType::kUint8, false);
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
  const OnnxType type = OnnxTypeOf(DataType::kInt32, false);
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
  const OnnxType type = OnnxTypeOf(DataType::kUint8, false);
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
  constexpr int64_t kMost = 0x7FFFFFFF;
  if ((bits != 4 && bits != 8) || block < 1 || k < 1 || k > kMost || k % block != 0) {
    call.Refuse("ONX-3", "{} in blocks of {} of {}", Counted(bits, "bit"), block, k);
  }
  if (a.rank() == 0 || a.sizes.back() != k || n < 1 || n > kMost ||
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
  call.Emit("GEMM", {{"ATensor", Reshaped(a, {rows, k})},
                     {"BTensor", weights},
                     {"OutputTensor", call.Out(0, a.type, sizes, {rows, n})},
                     {"TransA", "NONE"},
                     {"TransB", "TRANSPOSE"},
                     {"Alpha", 1},
                     {"Beta", 1}});
}

const OnnxRow kRows[] = {
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

std::span<const OnnxRow> Rows() {
  return kRows;
}

}  // namespace dmlop::onnx_integer_product
