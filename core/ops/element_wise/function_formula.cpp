// SPDX-License-Identifier: Apache-2.0
#include "core/ops/element_wise/function_formula.h"

#include <algorithm>
#include <iterator>

namespace dmlop::element_wise {
namespace {

using F = ElementWiseFunction;
using Node = FormulaNode;
using enum FormulaOperation;

// Steps that several functions share.
struct Operands : FormulaOperands {
  Node x() const { return elements[0]; }
  Node y() const { return elements[1]; }
  Node Number(double value) const { return formula.Number(value); }
  // Alpha, Beta, ...
  Node Parameter(size_t i) const { return Number(call.parameters.numbers[i]); }
  // Bounds, or what a sequence begins with and goes by.
  Node Bound(size_t i) const {
    if (IsFloat(to)) return Parameter(i);
    const int64_t bound = call.parameters.integers[i];
    const bool is_distance = call.function == F::kSequence && i == 1;
    return formula.Number(to != DataType::kUint64 || is_distance
                              ? Dyadic(bound)
                              : Dyadic(static_cast<uint64_t>(bound)));
  }

  Node Apply(FormulaOperation operation, std::initializer_list<Node> nodes) const {
    return formula.Apply(operation, nodes);
  }
  Node Scaled(size_t parameter, Node x) const { return formula.Product({Parameter(parameter), x}); }
  Node Between(Node least, Node x, Node greatest) const {
    return Apply(kMaximum, {least, Apply(kMinimum, {x, greatest})});
  }
  Node HardSigmoid() const {
    return Between(Number(0), formula.Sum({Scaled(0, x()), Parameter(1)}), Number(1));
  }
  Node ExponentialOf(Node x) const {
    return formula.Named("exponential", Apply(kExponential, {x}));
  }
  Node OneAnd(Node x) const { return formula.Sum({Number(1), x}); }
  // alpha * (e^x - 1)
  Node Growth(size_t alpha, Node x) const {
    return Scaled(alpha, formula.Difference(ExponentialOf(x), Number(1)));
  }

  // The function itself, whose page may say what it is made of.
  Node Function(std::optional<Node> definition = std::nullopt) const {
    const auto& numbers = call.parameters.numbers;
    return formula.Function(call.function, elements, {numbers[0], numbers[1]}, definition);
  }
};

// --- arithmetic ----------------------------------------------------------------------------------

template <FormulaOperation kOperation>
Node Plain(const Operands& o) {
  return o.elements.size() == 1 ? o.Apply(kOperation, {o.x()})
                                : o.Apply(kOperation, {o.x(), o.y()});
}

Node Itself(const Operands& o) {
  return o.Function();
}

Node Quotient(const Operands& o) {
  const Node quotient = o.formula.Quotient(o.x(), o.y());
  return UnlessZero(o.y(), IsFloat(o.to) ? quotient : o.Apply(kTruncate, {quotient}), o);
}

// Returns a - b * quotient. The pages make an exception for an infinite b.
template <FormulaOperation kQuotient>
Node Remainder(const Operands& o) {
  const Node quotient = o.formula.Named("quotient", o.Apply(kQuotient, {o.x(), o.y()}));
  const Node rest = o.formula.Difference(o.x(), o.formula.Product({o.y(), quotient}));
  return UnlessZero(o.y(), o.Function(rest), o);
}

Node Mean(const Operands& o) {
  return o.formula.Quotient(o.formula.Sum({o.x(), o.y()}), o.Number(2));
}

// --- activations ---------------------------------------------------------------------------------

Node Shrink(const Operands& o) {
  const Node more = o.formula.Sum({o.x(), o.Parameter(0)});
  const Node less = o.formula.Difference(o.x(), o.Parameter(0));
  const Node threshold = o.Parameter(1);
  const Node minus_x = o.Apply(kNegative, {o.x()});
  return o.Apply(kIfGreater, {o.x(), threshold, less,
                              o.Apply(kIfGreater, {minus_x, threshold, more, o.Number(0)})});
}

Node Gelu(const Operands& o) {
  const Node root = o.Apply(kSquareRoot, {o.Number(2)});
  const Node error = o.formula.Named(
      "error function", o.formula.Function(F::kErf, {o.formula.Quotient(o.x(), root)}));
  return o.Function(o.formula.Product({o.Number(0.5), o.x(), o.OneAnd(error)}));
}

Node Celu(const Operands& o) {
  const Node below = o.Growth(0, o.formula.Quotient(o.x(), o.Parameter(0)));
  return o.Function(o.formula.Sum(
      {o.Apply(kMaximum, {o.Number(0), o.x()}), o.Apply(kMinimum, {o.Number(0), below})}));
}

Node ScaledElu(const Operands& o) {
  const Node below = o.formula.Difference(o.Scaled(0, o.ExponentialOf(o.x())), o.Parameter(0));
  return o.Function(
      o.Apply(kIfGreater, {o.x(), o.Number(0), o.Scaled(1, o.x()), o.Scaled(1, below)}));
}

Node ScaledTanh(const Operands& o) {
  const Node tanh = o.formula.Named("tanh", o.formula.Function(F::kTanh, {o.Scaled(1, o.x())}));
  return o.Function(o.Scaled(0, tanh));
}

Node Softplus(const Operands& o) {
  const Node logarithm = o.Apply(kLogarithm, {o.OneAnd(o.ExponentialOf(o.Scaled(0, o.x())))});
  return o.Function(o.formula.Quotient(logarithm, o.Parameter(0)));
}

Node ParametricSoftplus(const Operands& o) {
  const Node logarithm = o.Apply(kLogarithm, {o.OneAnd(o.ExponentialOf(o.Scaled(1, o.x())))});
  return o.Function(o.Scaled(0, logarithm));
}

// x or 1 over 1 + e^-scaled.
Node Sigmoid(Node dividend, Node scaled, const Operands& o) {
  const Node exponential = o.ExponentialOf(o.Apply(kNegative, {scaled}));
  return o.Function(o.formula.Quotient(dividend, o.OneAnd(exponential)));
}

// --- hyperbolic functions ------------------------------------------------------------------------

// ln(x + sqrt(x^2 +- 1))
template <FormulaOperation kOperation>
Node AreaFunction(const Operands& o) {
  const Node square = o.Apply(kOperation, {o.Apply(kSquare, {o.x()}), o.Number(1)});
  const Node root = o.formula.Named("root", o.Apply(kSquareRoot, {square}));
  return o.Function(o.Apply(kLogarithm, {o.formula.Sum({o.x(), root})}));
}

// ln((1 + x) / (1 - x)) / 2
Node AreaTangent(const Operands& o) {
  const Node ratio = o.formula.Named(
      "ratio", o.formula.Quotient(o.OneAnd(o.x()), o.formula.Difference(o.Number(1), o.x())));
  return o.Function(o.formula.Quotient(o.Apply(kLogarithm, {ratio}), o.Number(2)));
}

// --- the table -----------------------------------------------------------------------------------

struct Row {
  F function;
  Node (*make)(const Operands& o);
  ToInteger to_integer = ToInteger::kIsWhole;
};

// Functions that compare, choose or move bits have no row; nor have those that are nothing but
// themselves, as sines are.
constexpr Row kRows[] = {
    {F::kAbs, Plain<kMagnitude>, ToInteger::kWraps},
    {F::kNegate, Plain<kNegative>, ToInteger::kWraps},
    {F::kCeil, Itself},
    {F::kFloor, Itself},
    {F::kRoundHalvesToEven, Itself},
    {F::kRoundTowardZero, Itself},
    {F::kRoundHalvesAway, Itself},
    {F::kSqrt, Plain<kSquareRoot>},
    {F::kRecip, [](const Operands& o) { return o.formula.Quotient(o.Number(1), o.x()); }},
    {F::kAdd, Plain<kSum>, ToInteger::kWraps},
    {F::kSubtract, Plain<kDifference>, ToInteger::kWraps},
    {F::kMultiply, Plain<kProduct>, ToInteger::kWraps},
    {F::kDivide, Quotient, ToInteger::kWraps},
    {F::kMean, Mean, ToInteger::kIsTruncated},
    {F::kDifferenceSquare,
     [](const Operands& o) { return o.Apply(kSquare, {o.formula.Difference(o.x(), o.y())}); },
     ToInteger::kWraps},
    {F::kMax, Plain<kMaximum>},
    {F::kMin, Plain<kMinimum>},
    {F::kModulusTruncate, Remainder<kTruncatedQuotient>, ToInteger::kWraps},
    {F::kModulusFloor, Remainder<kFlooredQuotient>, ToInteger::kWraps},
    {F::kClip, [](const Operands& o) { return o.Between(o.Bound(0), o.x(), o.Bound(1)); }},
    {F::kThreshold,
     [](const Operands& o) {
       return o.Apply(kMaximum, {o.x(), o.Bound(0)});
     }},
    {F::kMultiplyAdd,
     [](const Operands& o) {
       return o.formula.Sum({o.Scaled(0, o.x()), o.y()});
     }},
    {F::kSequence,
     [](const Operands& o) {
       return o.formula.Sum({o.Bound(0), o.formula.Product({o.x(), o.Bound(1)})});
     },
     ToInteger::kWraps},
    {F::kQuantize,
     [](const Operands& o) { return Quantized(o.x(), o.y(), o.elements[2], o.to, o.formula); },
     ToInteger::kIsConfined},
    {F::kDequantize,
     [](const Operands& o) {
       return o.formula.Product({FromZeroPoint(o.x(), o.elements[2], o.formula), o.y()});
     }},
    {F::kRelu,
     [](const Operands& o) {
       return o.Apply(kMaximum, {o.Number(0), o.x()});
     }},
    {F::kLeakyRelu,
     [](const Operands& o) {
       return o.Apply(kIfAtLeast, {o.x(), o.Number(0), o.x(), o.Scaled(0, o.x())});
     }},
    {F::kParameterizedRelu,
     [](const Operands& o) {
       return o.Apply(kIfAtLeast, {o.x(), o.Number(0), o.x(), o.formula.Product({o.y(), o.x()})});
     },
     ToInteger::kWraps},
    {F::kThresholdedRelu,
     [](const Operands& o) {
       return o.Apply(kIfGreater, {o.x(), o.Parameter(0), o.x(), o.Number(0)});
     }},
    {F::kShrink, Shrink, ToInteger::kIsClamped},
    {F::kHardSigmoid, [](const Operands& o) { return o.HardSigmoid(); }},
    {F::kHardSwish,
     [](const Operands& o) {
       return o.formula.Product({o.x(), o.formula.Named("hard sigmoid", o.HardSigmoid())});
     }},
    {F::kSoftsign,
     [](const Operands& o) {
       return o.formula.Quotient(o.x(), o.OneAnd(o.Apply(kMagnitude, {o.x()})));
     }},
    {F::kAsinh, AreaFunction<kSum>},
    {F::kAcosh, AreaFunction<kDifference>},
    {F::kAtanh, AreaTangent},
    {F::kSigmoid, [](const Operands& o) { return Sigmoid(o.Number(1), o.x(), o); }},
    {F::kSwish, [](const Operands& o) { return Sigmoid(o.x(), o.Scaled(0, o.x()), o); }},
    {F::kGelu, Gelu},
    {F::kElu,
     [](const Operands& o) {
       return o.Function(o.Apply(kIfAtLeast, {o.x(), o.Number(0), o.x(), o.Growth(0, o.x())}));
     }},
    {F::kCelu, Celu},
    {F::kScaledElu, ScaledElu},
    {F::kScaledTanh, ScaledTanh},
    {F::kSoftplus, Softplus},
    {F::kParametricSoftplus, ParametricSoftplus},
};

bool IsZero(Node node, const Formula& formula) {
  return formula.operation(node) == kNumber && formula.number(node) == 0;
}

}  // namespace

FormulaNode UnlessZero(Node divisor, Node value, const FormulaOperands& operands) {
  if (IsFloat(operands.to)) return value;
  Formula& formula = operands.formula;
  return formula.Apply(kIfAtLeast, {formula.Apply(kMagnitude, {divisor}), formula.Number(1), value,
                                    formula.Given(-1, "every bit 1")});
}

FormulaNode FromZeroPoint(Node x, Node zero_point, Formula& formula) {
  return IsZero(zero_point, formula) ? x : formula.Difference(x, zero_point);
}

FormulaNode Quantized(Node x, Node scale, Node zero_point, DataType type, Formula& formula) {
  const Node quotient = formula.Rounded(DataType::kFloat32, formula.Quotient(x, scale));
  const auto added = IsZero(zero_point, formula) ? std::nullopt : std::optional(zero_point);
  return formula.Quantized(formula.Named("quotient", quotient), added, type);
}

std::optional<FunctionValue> ValueOf(const FormulaOperands& operands) {
  const Operands o{operands};
  const auto row = std::ranges::find(kRows, o.call.function, &Row::function);
  if (row != std::end(kRows)) return FunctionValue{row->make(o), row->to_integer};
  if (IsApproximated(o.call.function)) return FunctionValue{Itself(o), ToInteger::kIsWhole};
  return std::nullopt;
}

}  // namespace dmlop::element_wise
