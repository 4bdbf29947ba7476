// SPDX-License-Identifier: Apache-2.0
#include "core/judge/varied_tensors.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "core/base/parallel.h"
#include "core/judge/element_formula.h"
#include "core/judge/stored_element.h"

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
  const auto formula = ElementFormula::Of(op, inputs, MiddleOf(op, output));
  const InputSet factors = formula ? InputUse(formula->formula(), formula->last()).factors() : 0;
  std::vector<bool> are_factors;
  for (size_t i = 0; i < inputs.size(); ++i) {
    are_factors.push_back(factors == 0 || (i < 63 && (factors >> i & 1) != 0));
  }
  return are_factors;
}

Computation WithChangedInputs(Computation computation, const ArithmeticVariation& variation,
                              size_t output) {
  const bool is_all = variation.kind != Kind::kInputs || variation.all_inputs;
  std::vector<bool> changes(computation.inputs.size(), true);
  if (!is_all) changes = FactorsOf(computation.op, computation.inputs, output);
  for (size_t i = 0; i < changes.size(); ++i) {
    if (!changes[i] || !IsFloat(computation.inputs[i].type)) continue;
    const TensorView copy = PackedCopy(computation.inputs[i], computation);
    ChangeInput(variation, copy);
    computation.inputs[i] = AsConst(copy);
  }
  return computation;
}

bool ChangesOutputs(const ArithmeticVariation& variation) {
  const bool is_flushed = variation.kind == Kind::kFlushSubnormals;
  return variation.kind == Kind::kSaturated || variation.kind == Kind::kThrough ||
         (is_flushed && variation.flushed != FlushedPart::kInputs);
}

void ChangeOutputs(const ArithmeticVariation& variation, DataType type,
                   std::span<ElementBytes> elements) {
  if (!IsFloat(type)) return;
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
