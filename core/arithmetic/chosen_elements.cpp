// SPDX-License-Identifier: Apache-2.0
// Elements with other operations, or of other operands, than those of an operator's formula.
#include <algorithm>
#include <array>
#include <cmath>
#include <initializer_list>
#include <memory>
#include <numeric>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "core/arithmetic/element_formula.h"
#include "core/arithmetic/varied_values.h"
#include "core/explain/formula_value.h"

namespace dmlop {
namespace {

using Kind = ArithmeticKind;
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
Operation Exchanged(const ArithmeticVariation& variation, Operation operation) {
  constexpr std::array<Operation, 2> kPairs[] = {
      {Operation::kFirstMaximum, Operation::kLastMaximum},
      {Operation::kFirstMinimum, Operation::kLastMinimum}};
  const bool is_result = variation.wrapped == WrappedPart::kResults;
  if (is_result && variation.kind == Kind::kSaturated && operation == Operation::kWrap) {
    return Operation::kClamp;
  }
  if (is_result && variation.kind == Kind::kWrapped && operation == Operation::kClamp) {
    return Operation::kWrap;
  }
  if (variation.kind != Kind::kLastOfEquals) return operation;
  for (const auto& [first, last] : kPairs) {
    if (operation == first || operation == last) return operation == first ? last : first;
  }
  return operation;
}

bool ExchangesAny(const ArithmeticVariation& variation, const ElementFormula& formula) {
  for (FormulaNode node = 0; node <= formula.last(); ++node) {
    const Operation operation = formula.formula().operation(node);
    if (Exchanged(variation, operation) != operation) return true;
  }
  return false;
}

// Returns whether a maximum or minimum would be another one with 0 among its operands.
bool EndsAtZero(Operation operation, double value) {
  const bool is_beyond = value == 0 ? std::signbit(value) : value < 0;
  if (operation == Operation::kMaximum) return is_beyond || std::isnan(value);
  return operation == Operation::kMinimum && !(value <= 0);
}

// A value in the range of integers, where it wraps or ends.
FormulaValue InRange(Operation operation, const FormulaValue& value, DataType type) {
  const Dyadic count = Dyadic(1).TimesPowerOfTwo(BitWidth(type));
  const Dyadic least = IsSigned(type) ? -count.TimesPowerOfTwo(-1) : Dyadic();
  const FormulaValue range[] = {value, Exactly(least), Exactly(least + count - Dyadic(1))};
  return ExactArithmetic::Apply(operation, range);
}

// A difference or sum in the type that all its operands have.
FormulaValue WrappedInOwnType(Operation operation, TypedValues operands) {
  const FormulaValue value = ExactArithmetic::Apply(operation, Untyped(operands));
  const DataType type = operands.empty() ? DataType::kUnknown : operands[0].type;
  const bool is_of_one_type =
      std::ranges::all_of(operands, [=](const TypedValue& x) { return x.type == type; });
  if (type == DataType::kUnknown || !is_of_one_type) return value;
  return InRange(Operation::kWrap, value, type);
}

// The first NaN, or its place. Of a choice, what is compared may be NaN.
std::optional<FormulaValue> PassedNan(Operation operation, TypedValues operands) {
  if (IsChoice(operation)) operands = operands.first(2);
  const auto nan = std::ranges::find_if(operands, [](const TypedValue& x) { return IsNan(x); });
  const bool is_passed = IsExtreme(operation) || IsChoice(operation);
  if (!is_passed || nan == operands.end()) return std::nullopt;
  if (GivesPlace(operation)) return Exactly(Dyadic(nan - operands.begin()));
  return *nan;
}

// A quotient that is to be rounded is cut off, or waits for the zero point.
FormulaValue CutOffQuotient(CutOff cut_off, std::span<const FormulaValue> quotient) {
  switch (cut_off) {
    case CutOff::kAfterZeroPoint:
      return quotient[0];
    case CutOff::kFloor:
      return ExactArithmetic::Apply(Operation::kFlooredQuotient,
                                    std::array{quotient[0], ExactArithmetic::Number(1, Dyadic(1))});
    default:
      return ExactArithmetic::Apply(Operation::kTruncate, quotient);
  }
}

class ChosenArithmetic {
 public:
  using Value = TypedValue;

  explicit ChosenArithmetic(const ArithmeticVariation& variation) : variation_(&variation) {}

  static Value Element(const ConstTensorView& view, int64_t offset) {
    Value value = ExactArithmetic::Element(view, offset);
    if (!IsFloat(view.type)) value.type = view.type;
    return value;
  }
  static Value Number(double value, const std::optional<Dyadic>& exact) {
    return ExactArithmetic::Number(value, exact);
  }
  // Functions that are made of a maximum or minimum pass NaN on with it.
  Value Function(ElementWiseFunction function, std::span<const double> parameters,
                 TypedValues operands) const {
    if (variation_->kind == Kind::kNanPasses) {
      const auto nan = std::ranges::find_if(operands, [](const TypedValue& x) { return IsNan(x); });
      if (nan != operands.end()) return *nan;
    }
    return ExactArithmetic::Function(function, parameters, Untyped(operands));
  }

  Value Apply(Operation operation, TypedValues operands) const {
    const bool is_nan_passed = variation_->kind == Kind::kNanPasses;
    if (const auto nan = is_nan_passed ? PassedNan(operation, operands) : std::nullopt) return *nan;
    const bool is_wrapped =
        variation_->wrapped == WrappedPart::kDifferences
            ? operation == Operation::kDifference
            : variation_->wrapped == WrappedPart::kSums && operation == Operation::kSum;
    if (is_wrapped) return WrappedInOwnType(operation, operands);
    return Applied(operation, Untyped(operands));
  }

 private:
  FormulaValue Applied(Operation operation, std::vector<FormulaValue> values) const {
    const bool is_cut_off = variation_->kind == Kind::kTowardZero;
    if (is_cut_off && operation == Operation::kRound) {
      return CutOffQuotient(variation_->cut_off, values);
    }
    if (operation == Operation::kClamp && variation_->cut_off == CutOff::kAfterZeroPoint) {
      values[0] = ExactArithmetic::Apply(Operation::kTruncate, std::span(values).first(1));
    }
    const bool is_extreme = operation == Operation::kMaximum || operation == Operation::kMinimum;
    if (variation_->kind == Kind::kStartsAtZero && is_extreme) values.push_back(Special(0));
    if (IsSumInInt16(operation, values.size())) return SumInInt16(values);
    return ExactArithmetic::Apply(Exchanged(*variation_, operation), values);
  }

  // A sum with an addend or a zero point is one of two.
  bool IsSumInInt16(Operation operation, size_t terms) const {
    constexpr size_t kFewest = 3;
    return variation_->wrapped >= WrappedPart::kSumsInInt16 && operation == Operation::kSum &&
           terms >= kFewest;
  }

  FormulaValue SumInInt16(std::span<const FormulaValue> terms) const {
    const auto sum = [](std::span<const FormulaValue> of) {
      return ExactArithmetic::Apply(Operation::kSum, of);
    };
    switch (variation_->wrapped) {
      case WrappedPart::kStepsInInt16:
        return std::accumulate(terms.begin() + 1, terms.end(), InInt16(terms[0]),
                               [&](const FormulaValue& before, const FormulaValue& term) {
                                 return InInt16(sum(std::array{before, term}));
                               });
      case WrappedPart::kPairsInInt16: {
        std::vector<FormulaValue> pairs;
        for (size_t i = 0; i < terms.size(); i += 2) {
          pairs.push_back(InInt16(sum(terms.subspan(i, std::min<size_t>(2, terms.size() - i)))));
        }
        return sum(pairs);
      }
      default:
        return InInt16(sum(terms));
    }
  }

  FormulaValue InInt16(const FormulaValue& sum) const {
    const bool wraps = variation_->kind == Kind::kWrapped;
    return InRange(wraps ? Operation::kWrap : Operation::kClamp, sum, DataType::kInt16);
  }

  const ArithmeticVariation* variation_;
};

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

// An element's number in a tensor whose slices are read from the last element to the first.
int64_t NumberBackwards(const Dims& sizes, std::span<const uint32_t> dimensions, int64_t number) {
  Dims index = IndexOf(sizes, number);
  for (const uint32_t d : dimensions) index[d] = sizes[d] - 1 - index[d];
  return OffsetOf(PackedLayout(sizes), index);
}

// The same operator on slices that are read backwards.
Computation ReadBackwards(Computation computation, std::span<const uint32_t> dimensions) {
  ConstTensorView& input = computation.inputs[0];
  const Dims& sizes = input.layout.sizes;
  const auto width = static_cast<int64_t>(ByteWidth(input.type));
  const auto buffer = std::make_shared<Buffer>(static_cast<size_t>(Product(sizes) * width));
  for (int64_t i = 0; i < Product(sizes); ++i) {
    const int64_t from = OffsetOfElement(input.layout, NumberBackwards(sizes, dimensions, i));
    std::copy_n(input.data + from * width, width, buffer->data() + i * width);
  }
  input = {buffer->data(), input.type, PackedLayout(sizes)};
  computation.storage.push_back(buffer);
  return computation;
}

bool IsHardmax(const OperatorDesc& op) {
  return op.name().starts_with("ACTIVATION_HARDMAX");
}

bool HasFields(const OperatorInfo& op, std::initializer_list<std::string_view> names) {
  return std::ranges::all_of(names, [&](std::string_view name) {
    return std::ranges::find(op.fields, name, &Field::name) != op.fields.end();
  });
}

bool IsTopK(const OperatorDesc& op) {
  return HasFields(op.info(), {"K"});
}

// The winner of a window is looked for again; the gradient of an average needs no input.
bool IsGradientOfMaxima(const OperatorDesc& op) {
  return HasFields(op.info(), {"InputTensor", "InputGradientTensor", "WindowSize"});
}

// The first one of a slice that is read backwards is the last one.
std::vector<ElementBytes> LastMaximaMarked(const Computation& computation,
                                           std::span<const int64_t> elements) {
  const Dims& sizes = computation.inputs[0].layout.sizes;
  const auto dimensions = DimensionsOfSlices(computation.op, sizes.size()).value();
  std::vector<int64_t> asked;
  for (const int64_t element : elements) {
    asked.push_back(NumberBackwards(sizes, dimensions, element));
  }
  return ElementsOf(ReadBackwards(computation, dimensions), 0, asked);
}

// Places are counted from the other end of a slice that is read backwards.
std::vector<ElementBytes> LastSelected(const Computation& computation, size_t output,
                                       std::span<const int64_t> elements) {
  const Dims& sizes = computation.inputs[0].layout.sizes;
  const auto dimensions = DimensionsOfSlices(computation.op, sizes.size()).value();
  auto selected = ElementsOf(ReadBackwards(computation, dimensions), output, elements);
  if (output == 0) return selected;
  const DataType type = OutputType(computation, output);
  const auto last = static_cast<double>(sizes[dimensions[0]] - 1);
  for (ElementBytes& place : selected) {
    place = Stored(type, {last - ValueOf(type, place.data()), 0});
  }
  return selected;
}

// The pooling whose gradient an operator computes, in the form that tells places and has all
// fields.
OperatorDesc PoolingOf(const OperatorDesc& gradient) {
  const auto found_pooling = std::ranges::find_if(Operators(), [](const OperatorInfo* op) {
    return HasFields(*op, {"OutputIndicesTensor", "WindowSize", "Dilations"});
  });
  OperatorDesc pooling(**found_pooling);
  for (size_t i = 0; i < pooling.fields().size(); ++i) {
    const std::string_view name = pooling.fields()[i]->name;
    const std::string_view own = name == "OutputTensor" ? "InputGradientTensor" : name;
    const auto found = std::ranges::find(gradient.fields(), own, &Field::name);
    if (found == gradient.fields().end()) continue;
    pooling.values()[i] = gradient.values()[static_cast<size_t>(found - gradient.fields().begin())];
  }
  return pooling;
}

// Each window passes its gradient on to the last of its greatest elements.
std::vector<ElementBytes> GradientsOfLastMaxima(const Computation& computation,
                                                std::span<const int64_t> elements) {
  constexpr size_t kGradients = 1;
  const OperatorDesc pooling = PoolingOf(computation.op);
  const ConstTensorView& gradients = computation.inputs[kGradients];
  const Dims sizes = OutputSizes(computation, 0);
  const std::vector<SourceMap> sources = SourcesOf(computation.op);
  const auto passed = [&](int64_t element, const Dims& window) {
    const Region one{0, window, Dims::Filled(window.size(), 1)};
    const auto place = LastPlace(pooling, computation.inputs, one);
    return place && place->number.head == static_cast<double>(element);
  };
  std::vector<ElementBytes> all;
  for (const int64_t element : elements) {
    const Region one{0, IndexOf(sizes, element), Dims::Filled(sizes.size(), 1)};
    DoubleDouble sum{};
    for (const SourceMap& source : sources) {
      const auto windows = source(one);
      if (!windows || windows->tensor != kGradients) continue;
      for (int64_t i = 0; i < windows->count(); ++i) {
        const Dims window = windows->IndexAt(i);
        if (!passed(element, window)) continue;
        sum = sum + ExactArithmetic::Element(gradients, OffsetOf(gradients.layout, window)).number;
      }
    }
    all.push_back(Stored(OutputType(computation, 0), sum));
  }
  return all;
}

}  // namespace

std::vector<ElementBytes> ChosenElements(const ArithmeticVariation& variation,
                                         const ElementFormula& formula, DataType type) {
  FormulaEvaluation<ChosenArithmetic> values(formula.formula(), ChosenArithmetic(variation));
  std::vector<ElementBytes> elements;
  for (const FormulaNode end : formula.ends()) {
    elements.push_back(Stored(type, values.At(end).number));
  }
  return elements;
}

bool ChoosesOther(const ArithmeticVariation& variation, const ElementFormula& formula) {
  const auto operation = [&](FormulaNode node) { return formula.formula().operation(node); };
  switch (variation.kind) {
    case Kind::kNanPasses:
      return formula.HasAny([](FormulaNode, DoubleDouble value) { return std::isnan(value.head); });
    case Kind::kStartsAtZero:
      return formula.HasAny([&](FormulaNode node, DoubleDouble value) {
        return EndsAtZero(operation(node), value.head);
      });
    case Kind::kSaturated:
    case Kind::kWrapped:
      return variation.wrapped != WrappedPart::kResults || ExchangesAny(variation, formula);
    default:
      return true;
  }
}

bool ChoosesFirstOfEquals(const OperatorDesc& op) {
  return IsHardmax(op) || IsGradientOfMaxima(op) || IsTopK(op);
}

bool SelectsInOrder(const OperatorDesc& op) {
  return IsTopK(op) && IsFloat(*TensorSlots(op, TensorRole::kInput)[0].desc->data_type);
}

std::vector<ElementBytes> SelectedNanFirst(const Computation& computation, size_t output,
                                           std::span<const int64_t> elements) {
  auto selected = ElementsOf(WithNanGreatest(computation), 1, elements);
  if (output == 1) return selected;
  const ConstTensorView& input = computation.inputs[0];
  const Dims sizes = OutputSizes(computation, 0);
  const uint32_t axis = DimensionsOfSlices(computation.op, sizes.size()).value()[0];
  const DataType type = OutputType(computation, 1);
  for (size_t i = 0; i < elements.size(); ++i) {
    Dims index = IndexOf(sizes, elements[i]);
    index[axis] = static_cast<int64_t>(ValueOf(type, selected[i].data()));
    const int64_t offset = OffsetOf(input.layout, index);
    selected[i] = Stored(input.type, ExactArithmetic::Element(input, offset).number);
  }
  return selected;
}

std::vector<ElementBytes> LastOfEquals(const Computation& computation, size_t output,
                                       std::span<const int64_t> elements) {
  if (IsHardmax(computation.op)) return LastMaximaMarked(computation, elements);
  if (IsTopK(computation.op)) return LastSelected(computation, output, elements);
  return GradientsOfLastMaxima(computation, elements);
}

std::optional<ElementBytes> LastPlaceOfMaximum(const OperatorDesc& op, InputViews inputs,
                                               const Region& element) {
  const DataType type = *TensorSlots(op, TensorRole::kOutput)[element.tensor].desc->data_type;
  const auto place = LastPlace(op, inputs, element);
  return place ? std::optional(Stored(type, place->number)) : std::nullopt;
}

}  // namespace dmlop
