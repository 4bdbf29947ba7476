// SPDX-License-Identifier: Apache-2.0
#include "core/judge/chosen_arithmetic.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <vector>

#include "core/explain/exact_arithmetic.h"
#include "core/judge/element_formula.h"
#include "core/judge/stored_element.h"
#include "core/tensor/visit_data_type.h"

namespace dmlop {
namespace {

using Operation = FormulaOperation;

// A value, and the type of an integer that is an element of an input.
struct TypedValue : FormulaValue {
  DataType type = DataType::kUnknown;

  TypedValue() = default;
  TypedValue(FormulaValue value) : FormulaValue(std::move(value)) {}
};
using TypedValues = std::span<const TypedValue>;

std::vector<FormulaValue> Untyped(TypedValues values) {
  return {values.begin(), values.end()};
}

bool IsExtreme(Operation operation) {
  return operation >= Operation::kMaximum && operation <= Operation::kLastMinimum;
}

// Another operation on the same operands.
Operation Exchanged(ArithmeticKind kind, Operation operation) {
  constexpr std::array<Operation, 2> kPairs[] = {
      {Operation::kFirstMaximum, Operation::kLastMaximum},
      {Operation::kFirstMinimum, Operation::kLastMinimum}};
  if (kind == ArithmeticKind::kSaturated && operation == Operation::kWrap) return Operation::kClamp;
  if (kind == ArithmeticKind::kWrapped && operation == Operation::kClamp) return Operation::kWrap;
  if (kind != ArithmeticKind::kLastOfEquals) return operation;
  for (const auto& [first, last] : kPairs) {
    if (operation == first || operation == last) return operation == first ? last : first;
  }
  return operation;
}

// a - b in the type that both have.
FormulaValue WrappedDifference(const TypedValue& a, const TypedValue& b) {
  const TypedValue both[] = {a, b};
  const FormulaValue difference = ExactArithmetic::Apply(Operation::kDifference, Untyped(both));
  if (a.type == DataType::kUnknown || a.type != b.type) return difference;
  const Dyadic count = Dyadic(1).TimesPowerOfTwo(BitWidth(a.type));
  const Dyadic least = IsSigned(a.type) ? -count.TimesPowerOfTwo(-1) : Dyadic();
  const FormulaValue range[] = {difference, Exactly(least), Exactly(least + count - Dyadic(1))};
  return ExactArithmetic::Apply(Operation::kWrap, range);
}

// The first NaN, or its place.
std::optional<FormulaValue> PassedNan(Operation operation, TypedValues operands) {
  const auto nan = std::ranges::find_if(operands, [](const TypedValue& x) { return IsNan(x); });
  if (!IsExtreme(operation) || nan == operands.end()) return std::nullopt;
  if (GivesPlace(operation)) return Exactly(Dyadic(nan - operands.begin()));
  return *nan;
}

template <ArithmeticKind kKind, bool kOfDifferences = false>
struct ChosenArithmetic {
  using Value = TypedValue;

  static Value Element(const ConstTensorView& view, int64_t offset) {
    Value value = ExactArithmetic::Element(view, offset);
    if (!IsFloat(view.type)) value.type = view.type;
    return value;
  }
  static Value Number(double value, const std::optional<Dyadic>& exact) {
    return ExactArithmetic::Number(value, exact);
  }
  static Value Apply(Operation operation, TypedValues operands) {
    if constexpr (kKind == ArithmeticKind::kNanPasses) {
      if (const auto nan = PassedNan(operation, operands)) return *nan;
    }
    if constexpr (kOfDifferences) {
      if (operation == Operation::kDifference) return WrappedDifference(operands[0], operands[1]);
      return ExactArithmetic::Apply(operation, Untyped(operands));
    }
    std::vector<FormulaValue> values = Untyped(operands);
    if (kKind == ArithmeticKind::kStartsAtZero && operation == Operation::kMaximum) {
      values.push_back(Special(0));
    }
    return ExactArithmetic::Apply(Exchanged(kKind, operation), values);
  }
  static Value Function(ElementWiseFunction function, std::span<const double> parameters,
                        TypedValues operands) {
    return ExactArithmetic::Function(function, parameters, Untyped(operands));
  }
};

template <ArithmeticKind kKind, bool kOfDifferences = false>
std::vector<FormulaValue> ValuesOf(const Formula& formula, std::span<const FormulaNode> ends) {
  FormulaEvaluation<ChosenArithmetic<kKind, kOfDifferences>> values(formula);
  std::vector<FormulaValue> at_ends;
  for (const FormulaNode end : ends) at_ends.push_back(values.At(end));
  return at_ends;
}

std::vector<FormulaValue> ChosenValues(const ArithmeticVariation& variation, const Formula& formula,
                                       std::span<const FormulaNode> ends) {
  switch (variation.kind) {
    case ArithmeticKind::kNanPasses:
      return ValuesOf<ArithmeticKind::kNanPasses>(formula, ends);
    case ArithmeticKind::kStartsAtZero:
      return ValuesOf<ArithmeticKind::kStartsAtZero>(formula, ends);
    case ArithmeticKind::kLastOfEquals:
      return ValuesOf<ArithmeticKind::kLastOfEquals>(formula, ends);
    case ArithmeticKind::kSaturated:
      return ValuesOf<ArithmeticKind::kSaturated>(formula, ends);
    default:
      return variation.of_differences ? ValuesOf<ArithmeticKind::kWrapped, true>(formula, ends)
                                      : ValuesOf<ArithmeticKind::kWrapped>(formula, ends);
  }
}

// The row-major number of the last of the greatest elements, where the first output is the greatest
// of them; none if it is not.
std::optional<FormulaValue> LastPlace(const OperatorDesc& op, InputViews inputs, Region element) {
  element.tensor = 0;
  Formula formula(inputs);
  const auto maximum = FormulaOf(op, element, formula);
  if (!maximum || formula.operation(*maximum) != Operation::kMaximum) return std::nullopt;
  const auto elements = formula.operands(*maximum);
  const auto value = [&](FormulaNode node) { return formula.ValueOf(node); };
  const auto reversed = std::vector<FormulaNode>(elements.rbegin(), elements.rend());
  const auto greatest = std::ranges::max_element(
      reversed, [&](FormulaNode a, FormulaNode b) { return value(a) < value(b); });
  if (greatest == reversed.end()) return std::nullopt;
  const Dims& sizes = inputs[formula.tensor(*greatest)].layout.sizes;
  return Exactly(Dyadic(OffsetOf(PackedLayout(sizes), formula.index(*greatest))));
}

}  // namespace

bool Chooses(ArithmeticKind kind) {
  switch (kind) {
    case ArithmeticKind::kNanPasses:
    case ArithmeticKind::kStartsAtZero:
    case ArithmeticKind::kLastOfEquals:
    case ArithmeticKind::kSaturated:
    case ArithmeticKind::kWrapped:
      return true;
    default:
      return false;
  }
}

std::vector<ElementBytes> ChosenElements(const ArithmeticVariation& variation,
                                         const Formula& formula, std::span<const FormulaNode> ends,
                                         DataType type) {
  std::vector<ElementBytes> elements;
  for (const FormulaValue& value : ChosenValues(variation, formula, ends)) {
    elements.push_back(Stored(type, value.number));
  }
  return elements;
}

std::optional<ElementBytes> LastPlaceOfMaximum(const OperatorDesc& op, InputViews inputs,
                                               const Region& element) {
  const DataType type = *TensorSlots(op, TensorRole::kOutput)[element.tensor].desc->data_type;
  const auto place = LastPlace(op, inputs, element);
  return place ? std::optional(Stored(type, place->number)) : std::nullopt;
}

}  // namespace dmlop
