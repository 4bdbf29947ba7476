// SPDX-License-Identifier: Apache-2.0
// Products and convolutions in the forms of com.microsoft.
#include "core/onnx/onnx_families.h"
#include "core/onnx/onnx_steps.h"
#include "core/onnx/onnx_windows.h"

namespace dmlop::onnx_fused {
namespace {

constexpr std::string_view kContrib = "com.microsoft";

// A matrix in a batch, as sizes with strides.
struct Matrices {
  OnnxSizes sizes, strides;
};

// With `exchanges`, rows come first and the batch behind them, before the columns.
Matrices MatricesOf(const OnnxCall& call, const OnnxValue& value, bool exchanges) {
  Matrices matrices{value.sizes, StridesOf(value.sizes)};
  if (value.rank() < 2) call.Refuse("ONX-3", "{} is no matrix", ToString(value.sizes));
  if (!exchanges) return matrices;
  for (OnnxSizes* list : {&matrices.sizes, &matrices.strides}) {
    const int64_t rows = list->front();
    list->erase(list->begin());
    list->insert(list->end() - 1, rows);
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
  const Matrices left = MatricesOf(call, a, call.Int("transBatchA", 0) != 0);
  const Matrices right = MatricesOf(call, b, call.Int("transBatchB", 0) != 0);
  const bool trans_a = call.Int("transA", 0) != 0, trans_b = call.Int("transB", 0) != 0;
  const OnnxSizes batch = BroadcastSizes(call, {left.sizes.begin(), left.sizes.end() - 2},
                                         {right.sizes.begin(), right.sizes.end() - 2});
  OnnxSizes sizes = batch;
  sizes.push_back(*(left.sizes.end() - (trans_a ? 1 : 2)));
  sizes.push_back(*(right.sizes.end() - (trans_b ? 2 : 1)));
  const OnnxOperand out = is_output ? call.Out(0, a.type, sizes) : call.Temporary(a.type, sizes);
  OnnxOperand of_a = OverBatch(a, left, batch), of_b = OverBatch(b, right, batch), laid_out = out;
  JoinBatches(call, {&of_a.desc, &of_b.desc, &laid_out.desc});
  call.Emit("GEMM", {{"ATensor", of_a},
                     {"BTensor", of_b},
                     {"OutputTensor", laid_out},
                     {"TransA", trans_a ? "TRANSPOSE" : "NONE"},
                     {"TransB", trans_b ? "TRANSPOSE" : "NONE"},
                     {"Alpha", call.Float("alpha", 1)},
                     {"Beta", 1}});
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

// Images with the channels behind the places, laid out as DirectML has them.
OnnxOperand ChannelsFirst(OnnxValue& value) {
  const OnnxSizes& s = value.sizes;
  return Strided(value, {s[0], s[3], s[1], s[2]}, {s[1] * s[2] * s[3], 1, s[2] * s[3], s[3]});
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
  OnnxSettings settings = {{"InputTensor", ChannelsFirst(x)},
                           {"FilterTensor", Packed(filter)},
                           {"OutputTensor", ChannelsFirst(*out.value)},
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

std::span<const OnnxRow> Rows() {
  return kRows;
}

}  // namespace dmlop::onnx_fused
