// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "core/base/text.h"
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
  EmitGemm(call, product.a, false, product.b, false,
           call.Out(0, call.In(0).type, product.sizes, product.laid_out));
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

// --- fused products ------------------------------------------------------------------------------

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
  EmitGemm(call, of_a, left.is_transposed, of_b, right.is_transposed, laid_out,
           call.Float("alpha", 1));
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

// --- Einsum: sums of products over labels of dimensions ------------------------------------------

// The labels of the inputs and of the output; each label is a letter.
struct Equation {
  std::vector<std::string> inputs;
  std::string output;
};

bool IsLabel(char c) {
  return ('a' <= c && c <= 'z') || ('A' <= c && c <= 'Z');
}

bool Has(const std::string& labels, char label) {
  return labels.find(label) != std::string::npos;
}

// Without an output, labels that occur once are its own, in the order of their codes.
std::string ImpliedOutput(const std::vector<std::string>& inputs) {
  std::map<char, int> counts;
  for (const std::string& labels : inputs) {
    for (const char label : labels) ++counts[label];
  }
  std::string output;
  for (const auto& [label, count] : counts) {
    if (count == 1) output += label;
  }
  return output;
}

Equation Parse(const OnnxCall& call) {
  Equation equation{{""}, ""};
  bool is_output = false;
  const std::string_view text = call.Text("equation", "");
  for (size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (c == ' ') continue;
    if (c == ',' && !is_output) {
      equation.inputs.emplace_back();
    } else if (text.substr(i).starts_with("->") && !is_output) {
      is_output = true;
      ++i;
    } else if (IsLabel(c)) {
      (is_output ? equation.output : equation.inputs.back()) += c;
    } else {
      call.Refuse("ONX-3", "the equation '{}'", text);
    }
  }
  if (!is_output) equation.output = ImpliedOutput(equation.inputs);
  return equation;
}

using Sizes = std::map<char, int64_t>;

Sizes SizesOfInput(const OnnxCall& call, size_t input, const std::string& labels) {
  const OnnxSizes& own = call.In(input).sizes;
  if (labels.size() != own.size()) {
    call.Refuse("ONX-4", "the labels '{}' for {}", labels, ToString(own));
  }
  Sizes sizes;
  for (size_t d = 0; d < own.size(); ++d) {
    if (sizes.emplace(labels[d], own[d]).first->second != own[d]) {
      call.Refuse("ONX-4", "'{}' is {} and {}", labels[d], sizes[labels[d]], own[d]);
    }
  }
  return sizes;
}

// Inputs of size 1 along a label are repeated along it if there are several inputs.
Sizes SizesOf(const OnnxCall& call, const Equation& equation) {
  if (equation.inputs.size() != call.input_count() || equation.inputs.size() > 2) {
    call.Refuse("ONX-3", "{} with an equation of {}", Counted(call.input_count(), "input"),
                equation.inputs.size());
  }
  Sizes sizes;
  for (size_t i = 0; i < equation.inputs.size(); ++i) {
    for (const auto& [label, own] : SizesOfInput(call, i, equation.inputs[i])) {
      int64_t& size = sizes.emplace(label, own).first->second;
      if (size == 1) size = own;  // it is repeated
      if (own != size && own != 1) call.Refuse("ONX-4", "'{}' is {} and {}", label, size, own);
    }
  }
  std::string seen;
  for (const char label : equation.output) {
    if (!sizes.contains(label) || Has(seen, label)) {
      call.Refuse("ONX-3", "the output '{}'", equation.output);
    }
    seen += label;
  }
  return sizes;
}

// The sizes of labels, 1 for a blank.
OnnxSizes Over(const std::string& labels, const Sizes& sizes) {
  OnnxSizes over;
  for (const char label : labels) over.push_back(label == ' ' ? 1 : sizes.at(label));
  return over;
}

// A value whose dimensions have labels, laid out over others: its elements are repeated along those
// that it has not, and a label that it has twice runs along its diagonal.
OnnxOperand LaidOut(OnnxValue& value, const std::string& own, const std::string& over,
                    const Sizes& sizes) {
  const OnnxSizes packed = StridesOf(value.sizes);
  OnnxSizes strides;
  for (const char label : over) {
    int64_t& stride = strides.emplace_back(0);
    for (size_t d = 0; d < own.size(); ++d) {
      if (own[d] == label && value.sizes[d] == sizes.at(label)) stride += packed[d];
    }
  }
  return Strided(value, Over(over, sizes), strides);
}

// The labels that are summed, in the order of the inputs.
std::string Summed(const Equation& equation) {
  std::string summed;
  for (const std::string& labels : equation.inputs) {
    for (const char label : labels) {
      if (!Has(equation.output, label) && !Has(summed, label)) summed += label;
    }
  }
  return summed;
}

// Sums along what comes behind the output's own labels.
void EmitSum(OnnxCall& call, OnnxOperand from, const Equation& equation, const Sizes& sizes) {
  const auto kept = static_cast<int64_t>(equation.output.size());
  const OnnxSizes all(from.desc.sizes->begin(), from.desc.sizes->end());
  const OnnxSizes axes = CountedFrom(kept, static_cast<int64_t>(all.size()) - 1);
  EmitReduce(call, "SUM", std::move(from), axes,
             call.Out(0, call.In(0).type, Over(equation.output, sizes), ReducedSizes(all, axes)));
}

void EmitOne(OnnxCall& call, const Equation& equation, const Sizes& sizes) {
  OnnxValue& x = call.In(0);
  const std::string summed = Summed(equation);
  const OnnxOperand from = LaidOut(x, equation.inputs[0], equation.output + summed, sizes);
  if (!summed.empty()) return EmitSum(call, from, equation, sizes);
  EmitUnary(call, "ELEMENT_WISE_IDENTITY", from, call.Out(0, x.type, Over(equation.output, sizes)));
}

// The first label of the output that an input has not; a blank if it has all.
char FirstOutside(const std::string& output, const std::string& input) {
  const auto found = std::ranges::find_if(output, [&](char label) { return !Has(input, label); });
  return found == output.end() ? ' ' : *found;
}

// Takes both operands as matrices {.., h, k} and {.., w, k}.
void EmitMatrices(OnnxCall& call, const Equation& equation, const Sizes& sizes, char k) {
  const std::string &a = equation.inputs[0], &b = equation.inputs[1], &c = equation.output;
  const char h = FirstOutside(c, b), w = FirstOutside(c, a);
  std::string batch = c;
  std::erase(batch, h);
  std::erase(batch, w);
  batch.insert(0, 2 - std::min<size_t>(batch.size(), 2), ' ');
  const OnnxOperand out = call.Out(0, call.In(0).type, Over(c, sizes));
  EmitGemm(call, LaidOut(call.In(0), a, batch + h + k, sizes), false,
           LaidOut(call.In(1), b, batch + w + k, sizes), true,
           LaidOut(*out.value, c, batch + h + w, sizes));
}

bool HaveSameLabels(std::string a, std::string b) {
  std::ranges::sort(a);
  std::ranges::sort(b);
  return a == b;
}

void EmitTwo(OnnxCall& call, const Equation& equation, const Sizes& sizes) {
  const std::string &a = equation.inputs[0], &b = equation.inputs[1];
  const std::string summed = Summed(equation);
  const bool is_product =
      summed.size() == 1 && equation.output.size() <= 4 && !HaveSameLabels(a, b);
  if (is_product) {
    std::string batch = equation.output;
    std::erase(batch, FirstOutside(equation.output, b));
    std::erase(batch, FirstOutside(equation.output, a));
    if (batch.size() <= 2) return EmitMatrices(call, equation, sizes, summed[0]);
  }
  const std::string all = equation.output + summed;
  const OnnxType type = call.In(0).type;
  const OnnxOperand product =
      EmitBinary(call, "ELEMENT_WISE_MULTIPLY", LaidOut(call.In(0), a, all, sizes),
                 LaidOut(call.In(1), b, all, sizes),
                 summed.empty() ? call.Out(0, type, Over(all, sizes))
                                : call.Temporary(type, Over(all, sizes)));
  if (!summed.empty()) EmitSum(call, product, equation, sizes);
}

void Einsum(OnnxCall& call) {
  const Equation equation = Parse(call);
  const Sizes sizes = SizesOf(call, equation);
  if (equation.inputs.size() == 1) return EmitOne(call, equation, sizes);
  EmitTwo(call, equation, sizes);
}

const OnnxRow kRows[] = {
    {"Conv", "7 11 22", "CONVOLUTION", Conv, "Mode CROSS_CORRELATION, Direction FORWARD"},
    {"Gemm", "7 9 11 13", "GEMM", Gemm, "C repeated by strides of 0"},
    {"MatMul", "7 9 13", "GEMM", MatMul, "matrices repeated by strides of 0"},
    {"FusedMatMul", "1", "GEMM", FusedMatMul, "", kContrib},
    {"FusedMatMulActivation", "1", "GEMM ACTIVATION_SOFTMAX1", FusedMatMulActivation,
     "activation Softmax", kContrib},
    {"NhwcConv", "1", "CONVOLUTION", NhwcConv, "channels last by strides", kContrib},
    {"Einsum", "12", "GEMM", Einsum,
     "or ELEMENT_WISE_MULTIPLY, REDUCE; of one input or two, without '...'"},
};

}  // namespace

extern const std::span<const OnnxRow> kOnnxRows = kRows;

}  // namespace dmlop::onnx_product
