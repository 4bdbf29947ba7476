// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "core/onnx/onnx_families.h"
#include "core/onnx/onnx_windows.h"

namespace dmlop::onnx_product {
namespace {

constexpr size_t kMostBatches = 2;  // dimensions in front of the matrices of GEMM

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

// Joins the dimensions of sizes and strides in front of the last two, so that few are left. None is
// repeated.
OnnxSizes JoinedBatches(const OnnxCall& call, const OnnxSizes& sizes, bool is_repeated) {
  if (sizes.size() <= kMostBatches + 2) return sizes;
  if (is_repeated) {
    call.Refuse("ONX-3", "matrices in {} are repeated over more than {} dimensions",
                ToString(sizes), kMostBatches);
  }
  const auto matrices = sizes.end() - 2;
  return {CountOf({sizes.begin(), matrices}), *matrices, *(matrices + 1)};
}

void MatMul(OnnxCall& call) {
  OnnxValue& a = call.In(0);
  OnnxValue& b = call.In(1);
  if (a.rank() == 0 || b.rank() == 0) call.Refuse("ONX-4", "a scalar is no matrix");
  OnnxSizes left = a.sizes, right = b.sizes;
  if (a.rank() == 1) left.insert(left.begin(), 1);
  if (b.rank() == 1) right.push_back(1);
  const OnnxSizes batch =
      BroadcastSizes(call, {left.begin(), left.end() - 2}, {right.begin(), right.end() - 2});
  OnnxSizes sizes = batch;
  if (a.rank() > 1) sizes.push_back(left[left.size() - 2]);
  if (b.rank() > 1) sizes.push_back(right.back());
  const auto of_batch = [&](const OnnxSizes& matrix) {
    OnnxSizes whole = batch;
    whole.insert(whole.end(), matrix.end() - 2, matrix.end());
    return whole;
  };
  const OnnxSizes whole_a = of_batch(left), whole_b = of_batch(right);
  const bool is_repeated = CountOf(whole_a) != CountOf(left) || CountOf(whole_b) != CountOf(right);
  OnnxSizes product = batch;
  product.push_back(left[left.size() - 2]);
  product.push_back(right.back());
  const auto laid_out = [&](OnnxValue& value, const OnnxSizes& own, const OnnxSizes& whole) {
    return RepeatedTo(value, own, JoinedBatches(call, whole, is_repeated));
  };
  call.Emit("GEMM", {{"ATensor", laid_out(a, left, whole_a)},
                     {"BTensor", laid_out(b, right, whole_b)},
                     {"OutputTensor",
                      call.Out(0, a.type, sizes, JoinedBatches(call, product, is_repeated))},
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
