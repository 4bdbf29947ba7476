// SPDX-License-Identifier: Apache-2.0
// The inputs and outputs as a device reads and writes them, and which inputs a variation concerns.
#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <limits>
#include <memory>
#include <new>
#include <numeric>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "core/arithmetic/element_formula.h"
#include "core/arithmetic/float_format.h"
#include "core/arithmetic/varied_values.h"
#include "core/base/parallel.h"
#include "core/engine/copy/copy_views.h"
#include "core/ops/families.h"
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

// The inputs that a variation changes, by number.
std::vector<bool> ChangedBy(const ArithmeticVariation& variation, const Computation& computation,
                            const std::vector<bool>& factors) {
  const bool is_all = variation.kind != Kind::kInputs;
  return RoundedOf(computation.op, computation.inputs,
                   is_all ? RoundedInputs::kAll : variation.inputs, factors);
}

ConstTensorView ChangedCopy(const ArithmeticVariation& variation, const ConstTensorView& view,
                            Computation& owner) {
  const TensorView copy = PackedCopy(view, owner);
  ChangeInput(variation, copy);
  return AsConst(copy);
}

// Copies only some parts, and changes them. The others are 0, for which no memory is taken.
ConstTensorView ChangedParts(const ArithmeticVariation& variation, const ConstTensorView& view,
                             const std::vector<Region>& parts, Computation& owner) {
  const auto bytes = static_cast<size_t>(std::max<int64_t>(view.element_bytes(), 1));
  const std::shared_ptr<std::byte> zeros(static_cast<std::byte*>(std::calloc(bytes, 1)),
                                         [](std::byte* memory) { std::free(memory); });
  if (zeros == nullptr) throw std::bad_alloc();
  owner.storage.push_back(zeros);
  const TensorView copy{zeros.get(), view.type, PackedLayout(view.layout.sizes)};
  for (const Region& part : parts) {
    Buffer buffer(static_cast<size_t>(part.count()) * ByteWidth(view.type));
    const TensorView changed{buffer.data(), view.type, PackedLayout(part.sizes)};
    const Move there{Narrowed(view, part), changed}, back{AsConst(changed), Narrowed(copy, part)};
    CopyAll({&there, 1});
    ChangeInput(variation, changed);
    CopyAll({&back, 1});
  }
  return AsConst(copy);
}

// Infinity stands for NaN, and the greatest number for infinity.
template <typename T>
T AsGreatest(T x) {
  if (std::isnan(AsDouble(x))) return FromDouble<T>(std::numeric_limits<double>::infinity());
  return AsDouble(x) > 0 ? Saturated(x) : x;
}

// Of an input that has `parts`, only those are read. All of an input is changed if it has none, and
// all of each if there are no lists of them.
Computation WithChangedParts(Computation computation, const ArithmeticVariation& variation,
                             const std::vector<bool>& factors,
                             const std::vector<std::vector<Region>>& parts) {
  const std::vector<bool> changed = ChangedBy(variation, computation, factors);
  for (size_t i = 0; i < changed.size(); ++i) {
    if (!changed[i]) continue;
    ConstTensorView& input = computation.inputs[i];
    input = parts.empty() || parts[i].empty()
                ? ChangedCopy(variation, input, computation)
                : ChangedParts(variation, input, parts[i], computation);
  }
  return computation;
}

}  // namespace

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

bool ChangesInputs(const ArithmeticVariation& variation) {
  return variation.kind == Kind::kInputs ||
         (variation.kind == Kind::kFlushSubnormals && variation.flushed != FlushedPart::kOutputs);
}

Computation WithChangedInputs(Computation computation, const ArithmeticVariation& variation,
                              const std::vector<bool>& factors) {
  return WithChangedParts(std::move(computation), variation, factors, {});
}

Computation WithChangedInputs(Computation computation, const ArithmeticVariation& variation,
                              const std::vector<bool>& factors, size_t output,
                              std::span<const int64_t> elements) {
  const auto parts = SourcesOfElements(computation, output, elements);
  return WithChangedParts(std::move(computation), variation, factors, parts);
}

Computation WithNanGreatest(Computation computation) {
  const TensorView copy = PackedCopy(computation.inputs[0], computation);
  ChangeAll(copy, []<typename T>(T x) { return AsGreatest(x); });
  computation.inputs[0] = AsConst(copy);
  return computation;
}

bool OnlyConverts(const OperatorDesc& op) {
  const auto* const family = std::get_if<ElementWise>(&op.info().family);
  return family != nullptr && family->prepare == nullptr && family->operands == nullptr &&
         family->function == ElementWiseFunction::kCast;
}

bool ConvertsThrough(const OperatorDesc& op, FloatFormat format) {
  if (!OnlyConverts(op)) return false;
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

}  // namespace dmlop
