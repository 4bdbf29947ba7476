// SPDX-License-Identifier: Apache-2.0
#include "core/onnx/onnx_families.h"
#include "core/onnx/onnx_steps.h"
#include "core/onnx/onnx_windows.h"

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
             {"Beta", 1}});
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

std::span<const OnnxRow> Rows() {
  return kRows;
}

}  // namespace dmlop::onnx_product
