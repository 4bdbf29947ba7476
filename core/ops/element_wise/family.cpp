// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>

#include "core/engine/copy/copy_views.h"
#include "core/engine/element_wise/loop.h"
#include "core/ops/element_wise/function_formula.h"
#include "core/ops/families.h"
#include "core/tensor/visit_data_type.h"

namespace dmlop {
namespace {

// Copies elements without a change of type, and scales them if there are factors.
void RunAsCopy(const std::optional<ScaleBias>& factors, const ConstTensorView& input,
               const TensorView& output) {
  if (!factors) return CopyView(input, output);
  const ScaleBiasFunction scale_bias = ScaleBiasFor(output.type);
  ComputeView(input, output,
              [&](int64_t count, std::byte* to, const std::byte* from, bool streams) {
                scale_bias(*factors, count, to, from, streams);
              });
}

Dims OutputSizes(const OperatorDesc& op) {
  const std::vector<uint32_t>& sizes = *TensorSlots(op, TensorRole::kOutput)[0].desc->sizes;
  return Dims(sizes.begin(), sizes.end());
}

// Computes the part of the output at `part`, or all of it. The inputs are whole.
void Compute(const ElementWise& family, const OperatorDesc& op, InputViews inputs,
             const Region* part, const TensorView& to) {
  auto [call, operands] = WorkOf(family, op, inputs);
  for (ConstTensorView& operand : operands) operand.type = StoredAs(operand.type);
  const TensorView output{to.data, StoredAs(to.type), to.layout};
  if (HaveBlocks(operands)) {
    const Dims& whole = operands[0].layout.sizes;
    const Region all{0, Dims::Filled(whole.size(), 0), whole};
    return ComputeInBlocks(call, operands, part != nullptr ? *part : all, output);
  }
  if (part != nullptr) {
    for (ConstTensorView& operand : operands) operand = Narrowed(operand, *part);
  }
  if (call.function == ElementWiseFunction::kSequence) {
    const Layout places = PackedLayout(OutputSizes(op));
    const int64_t first = part == nullptr ? 0 : OffsetOf(places, part->begin);
    return FillSequence(call.parameters, first, places.strides, output);
  }
  const bool is_copy =
      call.function == ElementWiseFunction::kCast && operands[0].type == output.type;
  if (is_copy) return RunAsCopy(call.scale_bias, operands[0], output);
  ComputeElements(call, operands, output);
}

}  // namespace

ElementWiseWork WorkOf(const ElementWise& family, const OperatorDesc& op, InputViews inputs) {
  ElementWiseWork work{{.function = family.function}, {inputs.begin(), inputs.end()}};
  if (const ScaleBias* factors = op.find_if_known(kScaleBias)) work.call.scale_bias = *factors;
  if (family.prepare != nullptr) family.prepare(op, work.call);
  if (family.operands != nullptr) work.operands = family.operands(op, inputs, work.call);
  return work;
}

void Run(const ElementWise& family, const OperatorDesc& op, InputViews inputs,
         OutputViews outputs) {
  Compute(family, op, inputs, nullptr, outputs[0]);
}

// An input with fewer elements has one for each block of the output.
std::vector<SourceMap> SourcesOf(const ElementWise&, const OperatorDesc& op) {
  const Dims whole = OutputSizes(op);
  std::vector<SourceMap> maps;
  for (const TensorSlot& slot : TensorSlots(op, TensorRole::kInput)) {
    const size_t input = maps.size();
    const Dims sizes(slot.desc->sizes->begin(), slot.desc->sizes->end());
    maps.push_back([input, sizes, whole](const Region& output) {
      Region source{input, output.begin, output.sizes};
      for (size_t d = 0; d < whole.size(); ++d) {
        const int64_t block = whole[d] / sizes[d];
        source.begin[d] = output.begin[d] / block;
        source.sizes[d] = (output.begin[d] + output.sizes[d] - 1) / block - source.begin[d] + 1;
      }
      return source;
    });
  }
  return maps;
}

void RunPart(const ElementWise& family, const OperatorDesc& op, InputViews inputs,
             const Region& part, const TensorView& output) {
  Compute(family, op, inputs, &part, output);
}

// --- formulas ------------------------------------------------------------------------------------

// The formula of an element-wise operator's element: its operands, ScaleBias, the function, and
// what becomes of integers.

namespace {

using F = ElementWiseFunction;
using Node = FormulaNode;
using Operands = element_wise::FormulaOperands;
using Value = element_wise::FunctionValue;
using element_wise::ToInteger;
using enum FormulaOperation;

Node AsInteger(const Value& value, DataType type, Formula& formula) {
  switch (value.to_integer) {
    case ToInteger::kWraps:
      return formula.Confined(kWrap, value.node, type);
    case ToInteger::kIsTruncated:
      return formula.Apply(kTruncate, {value.node});
    case ToInteger::kIsClamped:
      return formula.Confined(kClamp, formula.Apply(kTruncate, {value.node}), type);
    default:
      return value.node;
  }
}

// --- ScaleBias and conversions -------------------------------------------------------------------

// Floats as they are before they are rounded; integers in binary64.
Node ScaledBy(const ScaleBias& factors, Node x, DataType type, Formula& formula) {
  const Node scale = formula.Number(static_cast<double>(factors.scale));
  const Node bias = formula.Number(static_cast<double>(factors.bias));
  const Node product = formula.Product({x, scale});
  if (IsFloat(type)) return formula.Sum({product, bias});
  const Node sum = formula.Sum({formula.Rounded(DataType::kFloat64, product), bias});
  return formula.Named("x * Scale + Bias in binary64", formula.Rounded(DataType::kFloat64, sum));
}

// Functions take a scaled element as FLOAT32; the rounding is left out if it changes nothing.
Node Prepared(const ElementWiseCall& call, Node x, DataType type, Formula& formula) {
  const Node sum = ScaledBy(*call.scale_bias, x, type, formula);
  if (!IsFloat(type)) return AsInteger({sum, ToInteger::kIsClamped}, type, formula);
  const bool commutes =
      call.function == F::kAbs || call.function == F::kClip || call.function == F::kThreshold;
  return formula.Named("x * Scale + Bias",
                       formula.Rounded(commutes ? type : DataType::kFloat32, sum));
}

std::optional<Node> Converted(const Operands& o, DataType from) {
  const auto& factors = o.call.scale_bias;
  if (!factors && from == o.to) return std::nullopt;
  const Node x = factors ? ScaledBy(*factors, o.elements[0], from, o.formula) : o.elements[0];
  if (IsFloat(o.to)) return o.formula.Named(factors ? "x * Scale + Bias" : "exact value", x);
  const bool wraps = !IsFloat(from) && !factors;
  return AsInteger({x, wraps ? ToInteger::kWraps : ToInteger::kIsClamped}, o.to, o.formula);
}

// --- powers of integers --------------------------------------------------------------------------

// A whole exponent wraps, unless it is negative; results of others are truncated and clamped.
Node IntegerPower(const Operands& o, Node exponent, double value) {
  const Node power =
      o.formula.Named("exact value", o.formula.Apply(kPower, {o.elements[0], exponent}));
  if (value != std::trunc(value)) {
    return AsInteger({power, ToInteger::kIsClamped}, o.to, o.formula);
  }
  const Node whole =
      value < 0 ? UnlessZero(o.elements[0], o.formula.Apply(kTruncate, {power}), o) : power;
  return o.formula.Confined(kWrap, whole, o.to);
}

// --- operands ------------------------------------------------------------------------------------

// Elements of the inputs by name, others as numbers.
class OperandReader {
 public:
  OperandReader(const ElementWise& family, const OperatorDesc& op, const Region& element,
                Formula& formula)
      : sources_(SourcesOf(family, op)), element_(element), formula_(formula) {}

  Node At(size_t number, const ConstTensorView& view) const {
    const InputViews inputs = formula_.inputs();
    const auto is_view = [&](const ConstTensorView& input) {
      return input.data == view.data && input.type == view.type && input.layout == view.layout;
    };
    auto input = inputs.begin();
    // If two inputs are one array, each operand keeps its own name.
    if (number < inputs.size() && is_view(inputs[number])) input += static_cast<ptrdiff_t>(number);
    input = std::find_if(input, inputs.end(), is_view);
    if (input == inputs.end()) return formula_.Number(NumberAt(view));
    return formula_.Element(*sources_[static_cast<size_t>(input - inputs.begin())](element_));
  }

  double NumberAt(const ConstTensorView& view) const {
    double number = 0;
    VisitDataType(AllTypes(), view.type, [&]<typename T>() {
      number = AsDouble(view.elements<T>()[OffsetOf(view.layout, element_.begin)]);
    });
    return number;
  }

 private:
  std::vector<SourceMap> sources_;
  const Region& element_;
  Formula& formula_;
};

Operands OperandsAt(const ElementWise& family, const OperatorDesc& op, const ElementWiseWork& work,
                    const Region& element, Formula& formula) {
  const TensorDesc& output = *TensorSlots(op, TensorRole::kOutput)[0].desc;
  Operands o{formula, work.call, {}, *output.data_type};
  const OperandReader reader(family, op, element, formula);
  for (const ConstTensorView& view : work.operands) {
    o.elements.push_back(reader.At(o.elements.size(), view));
  }
  if (work.call.function == F::kSequence) {
    const Dims sizes(output.sizes->begin(), output.sizes->end());
    o.elements.push_back(formula.Number(Dyadic(OffsetOf(PackedLayout(sizes), element.begin))));
  }
  return o;
}

}  // namespace

std::optional<FormulaNode> FormulaOf(const ElementWiseCall& call,
                                     std::span<const FormulaNode> operands, Formula& formula) {
  const Node x = operands[0];
  const auto& factors = call.scale_bias;
  if (call.function == F::kCast) {
    return factors ? ScaledBy(*factors, x, DataType::kFloat32, formula) : x;
  }
  if (factors) return std::nullopt;
  if (IsApproximated(call.function)) {
    const auto& numbers = call.parameters.numbers;
    return formula.Function(call.function, operands, {numbers[0], numbers[1]});
  }
  const Operands o{formula, call, {operands.begin(), operands.end()}, DataType::kFloat32};
  const std::optional<Value> value = ValueOf(o);
  return value ? std::optional(value->node) : std::nullopt;
}

std::optional<FormulaNode> FormulaOf(const ElementWise& family, const OperatorDesc& op,
                                     const Region& element, Formula& formula) {
  if (family.formula != nullptr) return family.formula(op, element, formula);
  const ElementWiseWork work = WorkOf(family, op, formula.inputs());
  const F function = work.call.function;
  Operands o = OperandsAt(family, op, work, element, formula);
  if (function == F::kCast) return Converted(o, work.operands[0].type);
  if (work.call.scale_bias) {
    o.elements[0] = Prepared(work.call, o.elements[0], work.operands[0].type, formula);
  }
  if (!IsFloat(o.to) && function == F::kConstantPow) {
    return IntegerPower(o, o.formula.Number(work.call.parameters.numbers[0]),
                        work.call.parameters.numbers[0]);
  }
  if (!IsFloat(o.to) && function == F::kPow) {
    return IntegerPower(o, o.elements[1], formula.ValueOf(o.elements[1]));
  }
  std::optional<Value> value = ValueOf(o);
  if (!value) return std::nullopt;
  if (value->to_integer == ToInteger::kIsConfined) return value->node;
  value->node = formula.Named("exact value", value->node);
  return IsFloat(o.to) ? value->node : AsInteger(*value, o.to, formula);
}

}  // namespace dmlop
