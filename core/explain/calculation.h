// SPDX-License-Identifier: Apache-2.0
// Tells how an output element of an operator that calculates got its value: the exact quantity, the
// numbers of the output's type beside it, and which was taken.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/explain/data_flow.h"
#include "core/ops/formula.h"
#include "core/tensor/element.h"
#include "core/tensor/tensor.h"

namespace dmlop {

// The reason why a value is what it is. The names are stable.
enum class ValueRule {
  kExact,        // the exact value is a number of the type
  kNearest,      // the nearer of two neighbours
  kTieToEven,    // both are equally near: the one whose last bit is 0
  kOverflow,     // infinity, from half a step beyond the greatest number on
  kWithinBound,  // no rounding is promised, but a bound of the error
  kNan,          // an element that is NaN, or infinities without a meaning
  kInfinity,     // an element that is infinite
  kZeroSign,     // a zero whose sign the elements decide
  kModulo,       // an integer modulo 2^width
  kMinMax,       // MIN, MAX, ARGMIN, ARGMAX: one element wins
  kFirst,        // the first of several equal ones
  kLast,         // the last of them, where that is asked for
  kOnlyNan,      // all elements are NaN
  kTruncated,    // an integer from a binary64 number, toward zero
  kClamped,      // the same, beyond the type's range
  kTooLong,      // made of more parts than are told
};

std::string_view Name(ValueRule rule);  // "exact", "tie-to-even", ...

// A number of the output's type next to the exact value.
struct Neighbour {
  ElementBytes value;
  std::string exact;     // as a decimal; empty for an infinity
  std::string distance;  // from the exact value; empty where that has no finite decimal
};

// One of the operands that a step takes together.
struct FormulaTerm {
  struct Element {
    std::string tensor;
    Dims index;
    double value;
  };

  std::string expression;         // "ATensor[0, 1] * BTensor[1, 0]"
  std::string numbers;            // "0.5 * 3"; empty for an element alone
  std::vector<Element> elements;  // in the expression
  std::vector<double> factors;    // of a product
  double value;
};

// A part of a formula that has a name.
struct FormulaStep {
  std::string name;
  std::string_view operation;         // "sum", "mean", ...
  std::string expression;             // "sqrt((variance) + 1e-05)"; empty of a list and of a number
  std::vector<FormulaTerm> terms;     // what is taken together: all, or both ends of a list
  std::optional<int64_t> count;       // of the operands of a list; none of what is none
  std::optional<FormulaTerm> winner;  // of a maximum or minimum, the first term that is it
  std::string exact;                  // decimal; empty where there are too many digits
  bool is_approximate = false;
  double value = 0;  // 0 or infinite where that is all that can be told
};

struct Calculation {
  ValueRule rule = ValueRule::kExact;
  std::string reason;                 // a sentence
  std::vector<FormulaStep> steps;     // that have a name
  std::string quantity;               // "sum", "sum of squares", ...; empty where nothing is added
  std::string exact;                  // its decimal, unless it has too many digits or is not finite
  std::optional<double> approximate;  // the quantity, where it has no finite decimal
  std::string then;                   // what is done to the quantity: "divided by 9"
  std::optional<double> value;        // about what comes of that
  std::optional<Neighbour> below, above;
  std::string wraps;           // multiples of 2^width taken from the exact integer
  std::vector<Dims> deciding;  // indices of elements of the only input that decide alone
};

// The step from the operator's own result to that of its fused activation.
struct ActivationStep {
  std::string_view name;
  ElementBytes own{};                      // that result, rounded
  std::optional<Calculation> calculation;  // as of Outcome
};

struct Outcome {
  ElementBytes value{};
  std::optional<Calculation> calculation;  // none where bits are only moved
  // With an activation, the calculation is that of the operator's own result.
  std::optional<ActivationStep> activation = std::nullopt;
};

// The value of an output element of a valid descriptor, and how it came about. Every input has
// data. `length` is that of the terms of a step.
Outcome Calculate(const OperatorDesc& op, InputViews inputs, const Element& output,
                  ListLength length);

// --- what has a formula --------------------------------------------------------------------------

// `type` is that of the result, which the last node of the formula leads to.
Calculation ExplainFormula(const Formula& formula, Formula::Node last,
                           std::vector<std::string> inputs, DataType type,
                           const ElementBytes& result, ListLength length);

}  // namespace dmlop
