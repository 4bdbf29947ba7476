// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <cmath>
#include <initializer_list>
#include <limits>
#include <map>
#include <memory>
#include <string_view>
#include <utility>
#include <vector>

#include "core/arithmetic/element_formula.h"
#include "core/arithmetic/float_format.h"
#include "core/arithmetic/varied_values.h"
#include "core/base/parallel.h"
#include "core/explain/formula_value.h"
#include "core/tensor/visit_data_type.h"

namespace dmlop {
namespace {

using Kind = ArithmeticKind;
using Operation = FormulaOperation;

// --- factors -------------------------------------------------------------------------------------

// A bit for each of the first inputs.
using InputSet = uint64_t;

bool Multiplies(Operation operation) {
  return operation == Operation::kProduct || operation == Operation::kWeighted ||
         operation == Operation::kQuotient || operation == Operation::kQuotientOrDividend;
}

// The inputs that nodes are made of, and those that are factors.
class InputUse {
 public:
  explicit InputUse(const Formula& formula, FormulaNode last) : formula_(formula) {
    for (FormulaNode node = 0; node <= last; ++node) sets_.push_back(SetOf(node));
  }

  InputSet factors() const { return factors_; }

 private:
  InputSet SetOf(FormulaNode node) {
    constexpr size_t kMost = 63;
    if (formula_.operation(node) == Operation::kElement) {
      return InputSet{1} << std::min(formula_.tensor(node), kMost);
    }
    InputSet all = 0;
    int parts = 0;
    for (const FormulaNode operand : formula_.operands(node)) {
      all |= sets_[operand];
      parts += sets_[operand] != 0 ? 1 : 0;
    }
    if (parts > 1 && Multiplies(formula_.operation(node))) factors_ |= all;
    return all;
  }

  const Formula& formula_;
  std::vector<InputSet> sets_;
  InputSet factors_ = 0;
};

constexpr std::string_view kFirstState = "HiddenInitTensor";

// Networks multiply weights by what they read and by states; gates are made of all of these.
std::vector<bool> FactorsOfNetwork(const OperatorDesc& op) {
  constexpr std::string_view kFactors[] = {"InputTensor", "WeightTensor", "RecurrenceTensor",
                                           kFirstState};
  std::vector<bool> are_factors;
  for (const TensorSlot& slot : TensorSlots(op, TensorRole::kInput)) {
    are_factors.push_back(std::ranges::find(kFactors, slot.path) != std::end(kFactors));
  }
  return are_factors;
}

// --- elements ------------------------------------------------------------------------------------

// Flushed keeps the sign.
template <typename T>
T Flushed(T x) {
  if constexpr (std::is_same_v<T, Half>) {
    return (x.bits & 0x7C00) == 0 ? Half{static_cast<uint16_t>(x.bits & 0x8000)} : x;
  } else {
    return std::fabs(x) < std::numeric_limits<T>::min() ? std::copysign(T{0}, x) : x;
  }
}

template <typename T>
T Saturated(T x) {
  if constexpr (std::is_same_v<T, Half>) {
    return (x.bits & 0x7FFF) == 0x7C00 ? Half{static_cast<uint16_t>(x.bits - 1)} : x;
  } else {
    return std::isinf(x) ? std::copysign(std::numeric_limits<T>::max(), x) : x;
  }
}

using FloatTypes = TypeList<float, Half, double>;

// Returns an element as the variation leaves it.
template <typename T>
T ChangedOutput(const ArithmeticVariation& variation, T x) {
  if (variation.kind == Kind::kSaturated) return Saturated(x);
  if (variation.kind == Kind::kFlushSubnormals) return Flushed(x);
  return FromDouble<T>(FloatRounding(variation.format)(AsDouble(x)));
}

DataType TypeOnTheWay(FloatFormat format) {
  return format == FloatFormat::kFloat16 ? DataType::kFloat16 : DataType::kFloat32;
}

// Changes each element of a copy.
template <typename Change>
void ChangeAll(const TensorView& view, Change&& change) {
  constexpr int64_t kGrain = 1 << 16;
  VisitDataType(FloatTypes(), view.type, [&]<typename T>() {
    T* const elements = view.elements<T>();
    ParallelFor(view.layout.element_count(), kGrain, 0, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) elements[i] = change(elements[i]);
    });
  });
}

// Shorter integers are all numbers of FLOAT32.
void ChangeIntegers(const ArithmeticVariation& variation, DataType type,
                    std::span<ElementBytes> elements) {
  const bool is_through = variation.kind == Kind::kThrough &&
                          variation.format == FloatFormat::kFloat32 && BitWidth(type) >= 32;
  if (!is_through) return;
  VisitDataType(Join<Integers64, Integers32>(), type, [&]<typename T>() {
    for (ElementBytes& element : elements) {
      const auto rounded = static_cast<float>(ElementOf<T>(element));
      element = BytesOf(Truncated<T>(static_cast<double>(rounded)));
    }
  });
}

void ChangeInput(const ArithmeticVariation& variation, const TensorView& view) {
  if (variation.kind == Kind::kFlushSubnormals) {
    return ChangeAll(view, []<typename T>(T x) { return Flushed(x); });
  }
  const FloatRounding rounding(variation.format, variation.mode);
  ChangeAll(view, [&]<typename T>(T x) { return FromDouble<T>(rounding(AsDouble(x))); });
}

}  // namespace

bool ChangesInputs(const ArithmeticVariation& variation) {
  return variation.kind == Kind::kInputs ||
         (variation.kind == Kind::kFlushSubnormals && variation.flushed != FlushedPart::kOutputs);
}

std::vector<bool> FactorsOf(const OperatorDesc& op, InputViews inputs, size_t output) {
  if (IsNetwork(op)) return FactorsOfNetwork(op);
  Formula formula(inputs, Formula::kAbridged);
  const auto last = FormulaOf(op, MiddleOf(op, output), formula);
  const InputSet factors = last ? InputUse(formula, *last).factors() : 0;
  std::vector<bool> are_factors;
  for (size_t i = 0; i < inputs.size(); ++i) {
    are_factors.push_back(factors == 0 || (i < 63 && (factors >> i & 1) != 0));
  }
  return are_factors;
}

std::vector<bool> RoundedOf(const OperatorDesc& op, InputViews inputs, RoundedInputs which,
                            const std::vector<bool>& factors) {
  const std::vector<TensorSlot> slots = TensorSlots(op, TensorRole::kInput);
  const auto first = std::ranges::find(factors, true) - factors.begin();
  std::vector<bool> rounded = factors;
  for (size_t i = 0; i < factors.size(); ++i) {
    const bool is_first = static_cast<std::ptrdiff_t>(i) == first;
    const bool is_state = slots[i].path == kFirstState;
    if (which == RoundedInputs::kAll) rounded[i] = true;
    if (which == RoundedInputs::kFirstFactor) rounded[i] = is_first;
    if (which == RoundedInputs::kWeights) rounded[i] = factors[i] && !is_first && !is_state;
    if (which == RoundedInputs::kWithComputed) rounded[i] = factors[i] && !is_state;
    rounded[i] = rounded[i] && IsFloat(inputs[i].type);
  }
  return rounded;
}

Computation WithChangedInputs(Computation computation, const ArithmeticVariation& variation,
                              const std::vector<bool>& factors) {
  const bool is_all = variation.kind != Kind::kInputs;
  const std::vector<bool> rounded = RoundedOf(
      computation.op, computation.inputs, is_all ? RoundedInputs::kAll : variation.inputs, factors);
  for (size_t i = 0; i < rounded.size(); ++i) {
    if (!rounded[i]) continue;
    const TensorView copy = PackedCopy(computation.inputs[i], computation);
    ChangeInput(variation, copy);
    computation.inputs[i] = AsConst(copy);
  }
  return computation;
}

bool ConvertsThrough(const OperatorDesc& op, FloatFormat format) {
  const auto* const family = std::get_if<ElementWise>(&op.info().family);
  const bool only_converts = family != nullptr && family->prepare == nullptr &&
                             family->operands == nullptr &&
                             family->function == ElementWiseFunction::kCast;
  if (!only_converts) return false;
  const DataType from = *TensorSlots(op, TensorRole::kInput)[0].desc->data_type;
  const DataType to = *TensorSlots(op, TensorRole::kOutput)[0].desc->data_type;
  const DataType through = TypeOnTheWay(format);
  return !IsFloat(to) && from != to && from != through && BitWidth(from) >= BitWidth(through);
}

Computation WithConvertedInput(Computation computation, FloatFormat format) {
  const DataType through = TypeOnTheWay(format);
  const std::vector<MutableTensorSlot> slots = TensorSlots(computation.op);
  TensorDesc& input = *slots[0].desc;
  TensorDesc& output = *slots[1].desc;
  const DataType type = *std::exchange(output.data_type, through);
  const auto converted = std::make_shared<const Buffer>(WholeOutput(computation, 0));
  output.data_type = type;
  input.data_type = through;
  input.strides.reset();
  computation.inputs = {{converted->data(), through, PackedLayout(LayoutOf(input).sizes)}};
  computation.storage.push_back(converted);
  return computation;
}

bool ChangesOutputs(const ArithmeticVariation& variation) {
  const bool is_flushed = variation.kind == Kind::kFlushSubnormals;
  return variation.kind == Kind::kSaturated || variation.kind == Kind::kThrough ||
         (is_flushed && variation.flushed != FlushedPart::kInputs);
}

void ChangeOutputs(const ArithmeticVariation& variation, DataType type,
                   std::span<ElementBytes> elements) {
  if (!IsFloat(type)) return ChangeIntegers(variation, type, elements);
  VisitDataType(FloatTypes(), type, [&]<typename T>() {
    for (ElementBytes& element : elements) {
      element = BytesOf(ChangedOutput(variation, ElementOf<T>(element)));
    }
  });
}

ElementBytes TowardZero(DataType type, const ElementBytes& rounded, DoubleDouble exact) {
  if (!IsFloat(type) || !std::isfinite(exact.head)) return rounded;
  ElementBytes result = rounded;
  VisitDataType(FloatTypes(), type, [&]<typename T>() {
    const double value = AsDouble(ElementOf<T>(rounded));
    const double beyond = (value - exact.head) - exact.tail;
    const bool is_beyond = value > 0 ? beyond > 0 : beyond < 0;
    // The number before it has bits that are less by one, and so it is with infinity.
    if (is_beyond) result = BytesOf(ElementBits(ElementOf<T>(rounded)) - 1);
  });
  return result;
}

ElementBytes ThroughFloat32(DoubleDouble exact) {
  return BytesOf(FromDouble<Half>(AsDouble(RoundOnce<float>(exact.head, exact.tail))));
}

// --- other operands and other integers -----------------------------------------------------------

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

// The first NaN, or its place.
std::optional<FormulaValue> PassedNan(Operation operation, TypedValues operands) {
  const auto nan = std::ranges::find_if(operands, [](const TypedValue& x) { return IsNan(x); });
  if (!IsExtreme(operation) || nan == operands.end()) return std::nullopt;
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
    if (variation_->kind == Kind::kStartsAtZero && operation == Operation::kMaximum) {
      values.push_back(Special(0));
    }
    const FormulaValue value = ExactArithmetic::Apply(Exchanged(*variation_, operation), values);
    return IsSumInInt16(operation, values.size()) ? InInt16(value) : value;
  }

  // A sum with an addend or a zero point is one of two.
  bool IsSumInInt16(Operation operation, size_t terms) const {
    constexpr size_t kFewest = 3;
    return variation_->wrapped == WrappedPart::kSumsInInt16 && operation == Operation::kSum &&
           terms >= kFewest;
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
  const OperatorDesc pooling = PoolingOf(computation.op);
  const ConstTensorView& gradients = computation.inputs[1];
  const Dims& windows = gradients.layout.sizes;
  std::map<int64_t, DoubleDouble> sums;
  for (int64_t i = 0; i < Product(windows); ++i) {
    const Region window{0, IndexOf(windows, i), Dims::Filled(windows.size(), 1)};
    const auto place = LastPlace(pooling, computation.inputs, window);
    if (!place) continue;
    DoubleDouble& sum = sums[static_cast<int64_t>(place->number.head)];
    sum = sum + ExactArithmetic::Element(gradients, OffsetOfElement(gradients.layout, i)).number;
  }
  const DataType type = OutputType(computation, 0);
  std::vector<ElementBytes> passed;
  for (const int64_t element : elements) passed.push_back(Stored(type, sums[element]));
  return passed;
}

}  // namespace

bool Chooses(ArithmeticKind kind, DataType type) {
  switch (kind) {
    case ArithmeticKind::kTowardZero:
      return !IsFloat(type);
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
  FormulaEvaluation<ChosenArithmetic> values(formula, ChosenArithmetic(variation));
  std::vector<ElementBytes> elements;
  for (const FormulaNode end : ends) elements.push_back(Stored(type, values.At(end).number));
  return elements;
}

bool ChoosesFirstOfEquals(const OperatorDesc& op) {
  return IsHardmax(op) || IsGradientOfMaxima(op) || IsTopK(op);
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
