// SPDX-License-Identifier: Apache-2.0
// Reductions, running sums and the greatest elements.
#include <algorithm>

#include "core/onnx/onnx_steps.h"

namespace dmlop::onnx_reduction {
namespace {

// The sizes without the axes, unless these are kept.
OnnxSizes Kept(const OnnxSizes& sizes, const OnnxSizes& axes, bool keeps) {
  OnnxSizes kept;
  for (size_t d = 0; d < sizes.size(); ++d) {
    const bool is_reduced = std::ranges::count(axes, static_cast<int64_t>(d)) > 0;
    if (!is_reduced) kept.push_back(sizes[d]);
    if (is_reduced && keeps) kept.push_back(1);
  }
  return kept;
}

// Axes from an attribute or an input; all if there are none, unless that is to reduce nothing.
OnnxSizes AxesOf(const OnnxCall& call, size_t rank) {
  const bool from_input = call.version() >= (call.name() == "ReduceSum" ? 13 : 18);
  OnnxSizes given;
  if (!from_input) given = call.Ints("axes").value_or(OnnxSizes());
  if (from_input && call.Has(1)) given = call.Integers(1);
  if (given.empty() && call.Int("noop_with_empty_axes", 0) == 0) {
    return CountedFrom(0, static_cast<int64_t>(rank) - 1);
  }
  OnnxSizes axes;
  for (const int64_t axis : given) axes.push_back(static_cast<int64_t>(call.Axis(axis, rank)));
  return axes;
}

void RequireElements(const OnnxCall& call, const OnnxValue& x, const OnnxSizes& sizes) {
  if (x.empty() && CountOf(sizes) > 0) {
    call.Refuse("ONX-3", "no DirectML operator reduces the empty {}", ToString(x.sizes));
  }
}

void Reduce(OnnxCall& call) {
  OnnxValue& x = call.In(0);
  const OnnxSizes axes = AxesOf(call, x.rank());
  const OnnxSizes sizes = Kept(x.sizes, axes, call.Int("keepdims", 1) != 0);
  RequireElements(call, x, sizes);
  // The remark of the row is the function.
  EmitReduce(call, call.row().remark, Packed(x), axes,
             call.Out(0, x.type, sizes, ReducedSizes(x.sizes, axes)));
}

void ArgMax(OnnxCall& call) {
  OnnxValue& x = call.In(0);
  const OnnxSizes axes = {static_cast<int64_t>(call.Axis(call.Int("axis", 0), x.rank()))};
  const OnnxSizes sizes = Kept(x.sizes, axes, call.Int("keepdims", 1) != 0);
  RequireElements(call, x, sizes);
  const bool takes_last = call.Int("select_last_index", 0) != 0;
  EmitUnary(call, call.row().operators, Packed(x),
            call.Out(0, kOnnxInt64, sizes, ReducedSizes(x.sizes, axes)),
            {{"Axes", axes}, {"AxisDirection", takes_last ? "DECREASING" : "INCREASING"}});
}

// An axis that is an input of one number.
size_t AxisOfInput(const OnnxCall& call, size_t input, size_t rank) {
  if (!call.Has(input)) return call.Axis(0, rank);
  const OnnxSizes axes = call.Integers(input);
  if (axes.size() != 1) call.Refuse("ONX-3", "{} axes", axes.size());
  return call.Axis(axes[0], rank);
}

void Cumulative(OnnxCall& call) {
  OnnxValue& x = call.In(0);
  const bool is_sum = call.name() == "CumSum";
  EmitElements(
      call, call.row().operators, x.type,
      {{"Axis", AxisOfInput(call, 1, x.rank())},
       {"AxisDirection", call.Int("reverse", 0) != 0 ? "DECREASING" : "INCREASING"},
       {is_sum ? "HasExclusiveSum" : "HasExclusiveProduct", call.Int("exclusive", 0) != 0}});
}

void TopK(OnnxCall& call) {
  OnnxValue& x = call.In(0);
  const size_t axis = call.Axis(call.Int("axis", -1), x.rank());
  const OnnxSizes k = call.version() < 10 ? OnnxSizes{call.Int("k", 0)} : call.Integers(1);
  if (k.size() != 1 || k[0] < 0) call.Refuse("ONX-4", "K is {}", ToString(k));
  OnnxSizes sizes = x.sizes;
  sizes[axis] = k[0];
  const OnnxOperand values = call.Out(0, x.type, sizes);
  const OnnxOperand indices =
      call.Wants(1) ? call.Out(1, kOnnxInt64, sizes) : call.Temporary(kOnnxInt64, sizes);
  call.Emit("TOP_K1",
            {{"InputTensor", Packed(x)},
             {"OutputValueTensor", values},
             {"OutputIndexTensor", AsType(indices, DataType::kUint64)},
             {"Axis", axis},
             {"K", k[0]},
             {"AxisDirection", call.Int("largest", 1) != 0 ? "DECREASING" : "INCREASING"}});
}

const OnnxRow kRows[] = {
    {"ArgMax", "7 11 12 13", "ARGMAX", ArgMax},
    {"ArgMin", "7 11 12 13", "ARGMIN", ArgMax},
    {"CumProd", "26", "CUMULATIVE_PRODUCT", Cumulative},
    {"CumSum", "11 14", "CUMULATIVE_SUMMATION", Cumulative},
    {"ReduceL1", "7 11 13 18", "REDUCE", Reduce, "L1"},
    {"ReduceL2", "7 11 13 18", "REDUCE", Reduce, "L2"},
    {"ReduceLogSum", "7 11 13 18", "REDUCE", Reduce, "LOG_SUM"},
    {"ReduceLogSumExp", "7 11 13 18", "REDUCE", Reduce, "LOG_SUM_EXP"},
    {"ReduceMax", "7 11 12 13 18 20", "REDUCE", Reduce, "MAX"},
    {"ReduceMean", "7 11 13 18", "REDUCE", Reduce, "AVERAGE"},
    {"ReduceMin", "7 11 12 13 18 20", "REDUCE", Reduce, "MIN"},
    {"ReduceProd", "7 11 13 18", "REDUCE", Reduce, "MULTIPLY"},
    {"ReduceSum", "7 11 13", "REDUCE", Reduce, "SUM"},
    {"ReduceSumSquare", "7 11 13 18", "REDUCE", Reduce, "SUM_SQUARE"},
    {"TopK", "7 10 11 24", "TOP_K1", TopK, "sorted always"},
};

}  // namespace

extern const std::span<const OnnxRow> kOnnxRows = kRows;

}  // namespace dmlop::onnx_reduction
