// SPDX-License-Identifier: Apache-2.0
// Functions of elements that are more than one descriptor, or take numbers from inputs.
#include <cstring>
#include <limits>
#include <numbers>

#include "core/onnx/onnx_steps.h"
#include "core/tensor/nibbles.h"
#include "core/tensor/visit_data_type.h"

namespace dmlop::onnx_arithmetic {
namespace {

// --- chains of inputs ----------------------------------------------------------------------------

OnnxSizes CommonSizes(const OnnxCall& call) {
  OnnxSizes sizes;
  for (size_t i = 0; i < call.input_count(); ++i) {
    sizes = BroadcastSizes(call, sizes, call.In(i).sizes);
  }
  return sizes;
}

void Copy(OnnxCall& call) {
  OnnxValue& x = call.In(0);
  EmitElements(call, "ELEMENT_WISE_IDENTITY", x.type);
}

// Applies the operator to two inputs, then to their result and each further input, each step
// rounded.
void Chain(OnnxCall& call) {
  const size_t count = call.input_count();
  if (count == 1) return Copy(call);
  const OnnxSizes sizes = CommonSizes(call);
  const OnnxType type = call.In(0).type;
  OnnxValue* result = &call.In(0);
  for (size_t i = 1; i < count; ++i) {
    const bool is_last = i + 1 == count;
    const OnnxOperand out = is_last ? call.Out(0, type, sizes) : call.Temporary(type, sizes);
    OnnxOperand a = BroadcastTo(*result, sizes), b = BroadcastTo(call.In(i), sizes);
    if (i > 1) std::swap(a, b);
    result = EmitBinary(call, call.row().operators, a, b, out).value;
  }
}

// The exact mean of three and more: they are joined along a new axis.
void EmitMeanOfMany(OnnxCall& call) {
  const OnnxSizes sizes = CommonSizes(call);
  const OnnxType type = call.In(0).type;
  OnnxSizes one = sizes;
  one.insert(one.begin(), 1);
  OnnxSizes all = one;
  all[0] = static_cast<int64_t>(call.input_count());
  std::vector<OnnxOperand> parts;
  for (size_t i = 0; i < call.input_count(); ++i) parts.push_back(BroadcastTo(call.In(i), one));
  const OnnxOperand joined = call.Temporary(type, all);
  call.Emit("JOIN", {{"InputTensors", parts}, {"OutputTensor", joined}, {"Axis", 0}});
  EmitReduce(call, "AVERAGE", joined, {0}, call.Out(0, type, sizes, one));
  call.Note("ORT's DirectML provider rounds each sum, and the factor 1/n");
}

void Mean(OnnxCall& call) {
  if (call.input_count() == 1) return Copy(call);
  if (call.input_count() > 2) return EmitMeanOfMany(call);
  EmitPair(call, "ELEMENT_WISE_MEAN", call.In(0).type);
}

// --- bounds --------------------------------------------------------------------------------------

// The least or the greatest finite number of a type.
Scalar ExtremeOf(DataType type, bool greatest) {
  Scalar scalar{type, {}};
  VisitDataType(AllTypes(), type, [&]<typename T>() {
    const auto store = [&](T value) { std::memcpy(scalar.bytes.data(), &value, sizeof value); };
    if constexpr (std::is_same_v<T, Half>) {
      store(Half{static_cast<uint16_t>(greatest ? 0x7BFF : 0xFBFF)});
    } else {
      store(greatest ? std::numeric_limits<T>::max() : std::numeric_limits<T>::lowest());
    }
  });
  return scalar;
}

bool IsGreater(DataType type, const Scalar& a, const Scalar& b) {
  const KnownElements left{type, 1, a.bytes.data()}, right{type, 1, b.bytes.data()};
  if (IsFloat(type)) return left.Number(0) > right.Number(0);
  if (IsSigned(type)) return left.Integer(0) > right.Integer(0);
  return static_cast<uint64_t>(left.Integer(0)) > static_cast<uint64_t>(right.Integer(0));
}

// Bounds that are only known when the node runs.
void EmitMaxMin(OnnxCall& call) {
  OnnxValue& x = call.In(0);
  OnnxOperand result = Packed(x);
  for (const size_t input : {size_t{1}, size_t{2}}) {
    if (!call.Has(input)) continue;
    const bool is_last = input == 2 || !call.Has(2);
    result = EmitBinary(call, input == 1 ? "ELEMENT_WISE_MAX" : "ELEMENT_WISE_MIN", result,
                        BroadcastTo(call.In(input), x.sizes),
                        is_last ? call.Out(0, x.type, x.sizes) : call.Temporary(x.type, x.sizes));
  }
}

void Clip(OnnxCall& call) {
  OnnxValue& x = call.In(0);
  const DataType type = x.type.type;
  if (call.version() < 11) {
    constexpr float kMost = std::numeric_limits<float>::max();
    EmitElements(call, "ELEMENT_WISE_CLIP", x.type,
                 {{"Min", call.Float("min", -kMost)}, {"Max", call.Float("max", kMost)}});
    return;
  }
  const auto is_known = [&](size_t input) { return !call.Has(input) || call.Known(input); };
  if (!is_known(1) || !is_known(2)) return EmitMaxMin(call);
  const auto bound = [&](size_t input) {
    if (!call.Has(input)) return ExtremeOf(type, input == 2);
    return Scalar{type, call.Value(input).Bytes(0)};
  };
  Scalar least = bound(1);
  const Scalar most = bound(2);
  if (type == DataType::kInt64 && !call.Has(1)) {
    call.Note("ORT's DirectML provider clips at -INT64_MAX here");
  }
  if (IsGreater(type, least, most)) least = most;  // in ONNX, the maximum wins
  EmitElements(call, "ELEMENT_WISE_CLIP1", x.type,
               {{"MinMaxDataType", type}, {"Min", least}, {"Max", most}});
}

void IsInf(OnnxCall& call) {
  OnnxValue& x = call.In(0);
  const bool positive = call.Int("detect_positive", 1) != 0;
  const bool negative = call.Int("detect_negative", 1) != 0;
  const OnnxOperand output = call.Out(0, kOnnxBool, x.sizes);
  if (!positive && !negative) {
    call.Note("ORT's DirectML provider finds all infinities here");
    return EmitFill(call, output, {DataType::kUint8, {}});
  }
  EmitUnary(call, "ELEMENT_WISE_IS_INFINITY", Packed(x), output,
            {{"InfinityMode", !negative   ? "POSITIVE"
                              : !positive ? "NEGATIVE"
                                          : "EITHER"}});
}

// --- functions of two elements -------------------------------------------------------------------

void Mod(OnnxCall& call) {
  const bool truncates = call.Int("fmod", 0) != 0;
  EmitPair(call, truncates ? "ELEMENT_WISE_MODULUS_TRUNCATE" : "ELEMENT_WISE_MODULUS_FLOOR",
           call.In(0).type);
}

void BitShift(OnnxCall& call) {
  if (!call.HasAttribute("direction")) call.Refuse("ONX-3", "there is no direction");
  const bool is_left = call.Text("direction", "") == "LEFT";
  if (!is_left) call.RequireText("direction", "RIGHT");
  EmitPair(call, is_left ? "ELEMENT_WISE_BIT_SHIFT_LEFT" : "ELEMENT_WISE_BIT_SHIFT_RIGHT",
           call.In(0).type);
}

void Pow(OnnxCall& call) {
  OnnxValue& x = call.In(0);
  OnnxValue& exponent = call.In(1);
  if (BitWidth(x.type.type) == 64) call.Refuse("ONX-6", "powers of {}", x.type.name);
  const OnnxSizes sizes = BroadcastSizes(call, x.sizes, exponent.sizes);
  const OnnxOperand output = call.Out(0, x.type, sizes);
  const auto known = CountOf(exponent.sizes) == 1 ? call.Known(1) : std::nullopt;
  if (known) {
    EmitUnary(call, "ELEMENT_WISE_CONSTANT_POW", BroadcastTo(x, sizes), output,
              {{"Exponent", static_cast<float>(known->Number(0))}});
    return;
  }
  OnnxValue& powers =
      BitWidth(exponent.type.type) == 64 ? CastTo(call, exponent, kOnnxFloat) : exponent;
  EmitUnary(call, "ELEMENT_WISE_POW", BroadcastTo(x, sizes), output,
            {{"ExponentTensor", BroadcastTo(powers, sizes)}});
}

// --- GELU and its kin ----------------------------------------------------------------------------

// A chain of functions of elements, each written to a new tensor of the same sizes.
class Elements {
 public:
  Elements(OnnxCall& call, OnnxValue& x) : call_(call), x_(x) {}

  OnnxValue& Unary(std::string_view op, OnnxValue& x, const OnnxSettings& more = {}) {
    return *EmitUnary(call_, op, Packed(x), New(), more).value;
  }
  OnnxValue& Binary(std::string_view op, OnnxValue& a, OnnxValue& b) {
    return *EmitBinary(call_, op, Packed(a), BroadcastTo(b, x_.sizes), New()).value;
  }
  OnnxValue& With(std::string_view op, OnnxValue& a, double number) {
    return Binary(op, a, NumberOf(call_, x_.type, number));
  }
  // The same, into the node's output.
  void Finish(std::string_view op, OnnxValue& a, OnnxValue& b) {
    EmitBinary(call_, op, Packed(a), BroadcastTo(b, x_.sizes), call_.Out(0, x_.type, x_.sizes));
  }

 private:
  OnnxOperand New() { return call_.Temporary(x_.type, x_.sizes); }

  OnnxCall& call_;
  OnnxValue& x_;
};

// 0.5 x (1 + tanh(sqrt(2 / pi) (x + 0.044715 x^3))), step by step.
void EmitTanhGelu(OnnxCall& call, OnnxValue& x) {
  Elements e(call, x);
  OnnxValue& cube = e.Unary("ELEMENT_WISE_CONSTANT_POW", x, {{"Exponent", 3}});
  OnnxValue& inner =
      e.Binary("ELEMENT_WISE_ADD", e.With("ELEMENT_WISE_MULTIPLY", cube, 0.044715), x);
  OnnxValue& scaled =
      e.With("ELEMENT_WISE_MULTIPLY", inner, std::numbers::inv_sqrtpi * std::numbers::sqrt2);
  OnnxValue& gate = e.With("ELEMENT_WISE_ADD", e.Unary("ACTIVATION_TANH", scaled), 1);
  OnnxValue& product = e.Binary("ELEMENT_WISE_MULTIPLY", gate, x);
  e.Finish("ELEMENT_WISE_MULTIPLY", product, NumberOf(call, x.type, 0.5));
}

void Gelu(OnnxCall& call) {
  OnnxValue& x = call.In(0);
  if (call.Text("approximate", "none") == "tanh") return EmitTanhGelu(call, x);
  call.RequireText("approximate", "none");
  EmitElements(call, "ACTIVATION_GELU", x.type);
}

void FastGelu(OnnxCall& call) {
  OnnxValue& x = call.In(0);
  call.Note("ORT's DirectML provider computes the erf form here");
  EmitTanhGelu(call, call.Has(1) ? Elements(call, x).Binary("ELEMENT_WISE_ADD", x, call.In(1)) : x);
}

void BiasGelu(OnnxCall& call) {
  OnnxValue& x = call.In(0);
  call.Emit("ELEMENT_WISE_ADD1",
            {{"ATensor", Packed(x)},
             {"BTensor", BroadcastTo(call.In(1), x.sizes)},
             {"OutputTensor", call.Out(0, x.type, x.sizes)},
             {"FusedActivation", std::vector{OnnxActivation("ACTIVATION_GELU", {})}}});
}

void QuickGelu(OnnxCall& call) {
  OnnxValue& x = call.In(0);
  Elements e(call, x);
  const float alpha = call.Float("alpha", 1.702F);
  OnnxValue& scaled =
      alpha == 1 ? x : e.Unary("ELEMENT_WISE_IDENTITY", x, {{"ScaleBias", ScaleBias{alpha, 0}}});
  e.Finish("ELEMENT_WISE_MULTIPLY", x, e.Unary("ACTIVATION_SIGMOID", scaled));
}

void BiasAdd(OnnxCall& call) {
  OnnxValue& x = call.In(0);
  Elements e(call, x);
  e.Finish("ELEMENT_WISE_ADD", e.Binary("ELEMENT_WISE_ADD", x, call.In(1)), call.In(2));
}

void BiasSplitGelu(OnnxCall& call) {
  OnnxValue& x = call.In(0);
  if (x.rank() == 0 || x.sizes.back() % 2 != 0) {
    call.Refuse("ONX-4", "{} has no two halves", ToString(x.sizes));
  }
  OnnxValue& sum = Elements(call, x).Binary("ELEMENT_WISE_ADD", x, call.In(1));
  OnnxSizes half = x.sizes;
  half.back() /= 2;
  const OnnxOperand left = call.Temporary(x.type, half), right = call.Temporary(x.type, half);
  call.Emit("SPLIT", {{"InputTensor", Packed(sum)},
                      {"OutputTensors", std::vector{left, right}},
                      {"Axis", x.rank() - 1}});
  Elements e(call, *left.value);
  e.Finish("ELEMENT_WISE_MULTIPLY", *left.value, e.Unary("ACTIVATION_GELU", *right.value));
}

constexpr std::string_view kTanhGelu =
    "ELEMENT_WISE_CONSTANT_POW ELEMENT_WISE_MULTIPLY ELEMENT_WISE_ADD ACTIVATION_TANH";

// --- reductions, running sums and the greatest elements ------------------------------------------

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
    {"BitShift", "11", "ELEMENT_WISE_BIT_SHIFT_LEFT ELEMENT_WISE_BIT_SHIFT_RIGHT", BitShift},
    {"Clip", "7 11 12 13", "ELEMENT_WISE_CLIP1 ELEMENT_WISE_CLIP", Clip,
     "ELEMENT_WISE_CLIP before version 11"},
    {"Gelu", "20", "ACTIVATION_GELU", Gelu, "approximate 'tanh': step by step"},
    {"IsInf", "10 20", "ELEMENT_WISE_IS_INFINITY", IsInf},
    {"Max", "7 8 12 13", "ELEMENT_WISE_MAX", Chain},
    {"Mean", "7 8 13", "ELEMENT_WISE_MEAN", Mean, "JOIN, REDUCE of more than two"},
    {"Min", "7 8 12 13", "ELEMENT_WISE_MIN", Chain},
    {"Mod", "10 13", "ELEMENT_WISE_MODULUS_FLOOR ELEMENT_WISE_MODULUS_TRUNCATE", Mod},
    {"Pow", "7 12 13 15", "ELEMENT_WISE_POW ELEMENT_WISE_CONSTANT_POW", Pow,
     "CONSTANT_POW of one known exponent"},
    {"Sum", "7 8 13", "ELEMENT_WISE_ADD", Chain},
    {"BiasAdd", "1", "ELEMENT_WISE_ADD", BiasAdd, "", kContrib},
    {"BiasGelu", "1", "ELEMENT_WISE_ADD1", BiasGelu, "FusedActivation ACTIVATION_GELU", kContrib},
    {"BiasSplitGelu", "1", "ELEMENT_WISE_ADD SPLIT ACTIVATION_GELU ELEMENT_WISE_MULTIPLY",
     BiasSplitGelu, "", kContrib},
    {"FastGelu", "1", kTanhGelu, FastGelu, "step by step", kContrib},
    {"Gelu", "1", "ACTIVATION_GELU", Gelu, "", kContrib},
    {"QuickGelu", "1", "ELEMENT_WISE_IDENTITY ACTIVATION_SIGMOID ELEMENT_WISE_MULTIPLY", QuickGelu,
     "", kContrib},
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

}  // namespace dmlop::onnx_arithmetic
