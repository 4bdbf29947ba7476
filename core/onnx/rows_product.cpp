// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>

#include "core/onnx/onnx_steps.h"

namespace dmlop::onnx_product {
namespace {

// --- matrices ------------------------------------------------------------------------------------

void Gemm(OnnxCall& call) {
  OnnxValue& a = call.In(0);
  OnnxValue& b = call.In(1);
  if (a.rank() != 2 || b.rank() != 2) {
    call.Refuse("ONX-4", "{} and {} are no matrices", ToString(a.sizes), ToString(b.sizes));
  }
  const bool trans_a = call.Int("transA", 0) != 0;
  const bool trans_b = call.Int("transB", 0) != 0;
  const OnnxSizes sizes = {a.sizes[trans_a ? 1 : 0], b.sizes[trans_b ? 0 : 1]};
  OnnxSettings settings = {{"ATensor", Packed(a)},
                           {"BTensor", Packed(b)},
                           {"OutputTensor", call.Out(0, a.type, sizes)},
                           {"TransA", trans_a ? "TRANSPOSE" : "NONE"},
                           {"TransB", trans_b ? "TRANSPOSE" : "NONE"},
                           {"Alpha", call.Float("alpha", 1)},
                           {"Beta", call.Float("beta", 1)}};
  if (call.Has(2)) {
    if (BroadcastSizes(call, call.In(2).sizes, sizes) != sizes) {
      call.Refuse("ONX-4", "C of {} does not broadcast to {}", ToString(call.In(2).sizes),
                  ToString(sizes));
    }
    settings.insert(settings.begin() + 2, {"CTensor", BroadcastTo(call.In(2), sizes)});
  }
  call.Emit("GEMM", settings);
}

void MatMul(OnnxCall& call) {
  const OnnxProduct product = ProductOf(call, call.In(0), call.In(1));
  call.Emit("GEMM",
            {{"ATensor", product.a},
             {"BTensor", product.b},
             {"OutputTensor", call.Out(0, call.In(0).type, product.sizes, product.laid_out)},
             {"TransA", "NONE"},
             {"TransB", "NONE"},
             {"Alpha", 1},
             {"Beta", 0}});
}

// --- convolutions --------------------------------------------------------------------------------

void Conv(OnnxCall& call) {
  OnnxValue& x = call.In(0);
  OnnxSettings settings = {{"Mode", "CROSS_CORRELATION"},
                           {"Direction", "FORWARD"},
                           {"OutputPadding", OnnxSizes(SpatialSizes(call, x).size(), 0)}};
  if (call.Has(2)) settings.push_back({"BiasTensor", Along(call.In(2), 1, x.rank())});
  EmitConvolution(call, "CONVOLUTION", 1, x.type, settings);
}

const OnnxRow kRows[] = {
    {"Conv", "7 11 22", "CONVOLUTION", Conv, "Mode CROSS_CORRELATION, Direction FORWARD"},
    {"Gemm", "7 9 11 13", "GEMM", Gemm, "C repeated by strides of 0"},
    {"MatMul", "7 9 13", "GEMM", MatMul, "matrices repeated by strides of 0"},
};

}  // namespace

extern const std::span<const OnnxRow> kOnnxRows = kRows;

}  // namespace dmlop::onnx_product

namespace dmlop::onnx_fused {
namespace {

// A matrix in a batch, as sizes with strides, and how the node takes it.
struct Matrices {
  OnnxSizes sizes, strides;
  bool is_vector = false, is_transposed = false;
};

// An operand with the attributes transBatchX and transX, which mean nothing for a vector: it is one
// row, or as the second operand one column.
Matrices MatricesOf(const OnnxCall& call, const OnnxValue& value, std::string_view side) {
  Matrices matrices{value.sizes, StridesOf(value.sizes)};
  if (value.rank() == 0) call.Refuse("ONX-4", "a scalar is no matrix");
  const auto is_set = [&](std::string_view attribute) {
    return call.Int(fmt::format("{}{}", attribute, side), 0) != 0;
  };
  if (value.rank() == 1) {
    const auto at = side == "A" ? 0 : 1;
    matrices.sizes.insert(matrices.sizes.begin() + at, 1);
    matrices.strides.insert(matrices.strides.begin() + at, 0);
    matrices.is_vector = true;
    return matrices;
  }
  matrices.is_transposed = is_set("trans");
  if (!is_set("transBatch")) return matrices;
  // Rows come first, and the batch lies behind them, before the columns.
  for (OnnxSizes* list : {&matrices.sizes, &matrices.strides}) {
    std::rotate(list->begin(), list->begin() + 1, list->end() - 1);
  }
  return matrices;
}

// The matrices repeated to the sizes of the whole batch.
OnnxOperand OverBatch(OnnxValue& value, const Matrices& matrices, const OnnxSizes& batch) {
  OnnxSizes sizes = batch;
  sizes.insert(sizes.end(), matrices.sizes.end() - 2, matrices.sizes.end());
  OnnxSizes strides(sizes.size(), 0);
  const size_t filled = sizes.size() - matrices.sizes.size();
  for (size_t d = 0; d < matrices.sizes.size(); ++d) {
    if (matrices.sizes[d] == sizes[filled + d]) strides[filled + d] = matrices.strides[d];
  }
  return Strided(value, sizes, strides);
}

// The product of the first two inputs.
OnnxOperand EmitProduct(OnnxCall& call, bool is_output) {
  OnnxValue& a = call.In(0);
  OnnxValue& b = call.In(1);
  const Matrices left = MatricesOf(call, a, "A"), right = MatricesOf(call, b, "B");
  const OnnxSizes batch = BroadcastSizes(call, {left.sizes.begin(), left.sizes.end() - 2},
                                         {right.sizes.begin(), right.sizes.end() - 2});
  const int64_t rows = *(left.sizes.end() - (left.is_transposed ? 1 : 2));
  const int64_t columns = *(right.sizes.end() - (right.is_transposed ? 2 : 1));
  OnnxSizes sizes = batch, all = batch;
  all.insert(all.end(), {rows, columns});
  if (!left.is_vector) sizes.push_back(rows);
  if (!right.is_vector) sizes.push_back(columns);
  const OnnxOperand out = is_output ? call.Out(0, a.type, sizes) : call.Temporary(a.type, sizes);
  OnnxOperand of_a = OverBatch(a, left, batch), of_b = OverBatch(b, right, batch);
  OnnxOperand laid_out = Reshaped(*out.value, all);
  JoinBatches(call, {&of_a.desc, &of_b.desc, &laid_out.desc});
  call.Emit("GEMM", {{"ATensor", of_a},
                     {"BTensor", of_b},
                     {"OutputTensor", laid_out},
                     {"TransA", left.is_transposed ? "TRANSPOSE" : "NONE"},
                     {"TransB", right.is_transposed ? "TRANSPOSE" : "NONE"},
                     {"Alpha", call.Float("alpha", 1)},
                     {"Beta", 0}});
  return out;
}

void FusedMatMul(OnnxCall& call) {
  EmitProduct(call, true);
}

void FusedMatMulActivation(OnnxCall& call) {
  call.RequireText("activation", "Softmax");
  const OnnxOperand product = EmitProduct(call, false);
  const OnnxValue& value = *product.value;
  const auto axis = static_cast<int64_t>(call.Axis(call.Int("activation_axis", -1), value.rank()));
  EmitUnary(call, "ACTIVATION_SOFTMAX1", product, call.Out(0, value.type, value.sizes),
            {{"Axes", OnnxSizes{axis}}});
}

void NhwcConv(OnnxCall& call) {
  OnnxValue& x = call.In(0);
  OnnxValue& filter = call.In(1);
  if (x.rank() != 4 || filter.rank() != 4)
    call.Refuse("ONX-3", "{} is no image", ToString(x.sizes));
  const OnnxSizes taps = SpatialSizes(call, filter);
  const OnnxWindows windows =
      WindowsOf(call, {x.sizes[1], x.sizes[2]}, KernelShape(call, 2, &taps));
  const OnnxOperand out =
      call.Out(0, x.type, {x.sizes[0], windows.output[0], windows.output[1], filter.sizes[0]});
  OnnxSettings settings = {{"InputTensor", ChannelsFirst(x, 4)},
                           {"FilterTensor", Packed(filter)},
                           {"OutputTensor", ChannelsFirst(*out.value, 4)},
                           {"Mode", "CROSS_CORRELATION"},
                           {"Direction", "FORWARD"},
                           {"Strides", windows.strides},
                           {"Dilations", windows.dilations},
                           {"StartPadding", windows.starts},
                           {"EndPadding", windows.ends},
                           {"OutputPadding", OnnxSizes(2, 0)},
                           {"GroupCount", call.Int("group", 1)}};
  if (call.Has(2)) settings.emplace_back("BiasTensor", Along(call.In(2), 1, 4));
  call.Emit("CONVOLUTION", settings);
}

const OnnxRow kRows[] = {
    {"FusedMatMul", "1", "GEMM", FusedMatMul, "", kContrib},
    {"FusedMatMulActivation", "1", "GEMM ACTIVATION_SOFTMAX1", FusedMatMulActivation,
     "activation Softmax", kContrib},
    {"NhwcConv", "1", "CONVOLUTION", NhwcConv, "channels last by strides", kContrib},
};

}  // namespace

extern const std::span<const OnnxRow> kOnnxRows = kRows;

}  // namespace dmlop::onnx_fused
