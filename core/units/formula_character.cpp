// SPDX-License-Identifier: Apache-2.0
#include "core/units/formula_character.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <string_view>

#include "core/units/magnitude.h"

namespace dmlop {
namespace {

using Operation = FormulaOperation;
using Node = Formula::Node;

class Characters {
 public:
  Characters(const Formula& formula, std::span<const int> signs, Node last)
      : formula_(formula), signs_(signs), known_(size_t{last} + 1) {}

  FormulaCharacter Of(Node node) {
    node = MagnitudeArithmetic::Instead(formula_, node);
    if (!known_[node]) known_[node] = Judge(node);
    return *known_[node];
  }

 private:
  std::span<const Node> Operands(Node node) const { return formula_.operands(node); }
  int SignOf(Node node) { return Of(node).sign; }

  FormulaCharacter Judge(Node node) {
    const Operation operation = formula_.operation(node);
    FormulaCharacter character = OfOperands(node);
    switch (operation) {
      case Operation::kElement:
        character.sign = signs_[formula_.tensor(node)];
        break;
      case Operation::kNumber:
        character.sign = formula_.number(node) < 0 ? -1 : 1;
        break;
      case Operation::kSum:
      case Operation::kMean:
        AddUp(node, character);
        break;
      case Operation::kDifference:
        character.sign = CommonSign({SignOf(Operands(node)[0]), -SignOf(Operands(node)[1])});
        character.is_of_one_sign &= character.sign != 0;
        break;
      case Operation::kProduct:
      case Operation::kWeighted:
        character.sign = SignOfProduct(node);
        character.has_long_product |= formula_.HasList(node);
        if (CountComputed(Operands(node)) > 1) MultiplyErrors(character);
        character.has_weights |= std::ranges::any_of(
            Operands(node), [&](Node x) { return IsNumber(x) && formula_.number(x) != 1; });
        break;
      case Operation::kQuotient:
      case Operation::kQuotientOrDividend:
        character.sign = SignOfProduct(node);
        if (!IsNumber(Operands(node)[1])) NoPolynomial(character);
        character.has_mixed_sum |= !Of(Operands(node)[1]).is_of_one_sign;
        break;
      case Operation::kNegative:
        character.sign = -SignOf(Operands(node)[0]);
        break;
      case Operation::kSquare:
      case Operation::kMagnitude:
        character.is_of_one_sign |= IsOneStep(Operands(node)[0]);
        if (operation == Operation::kSquare && !IsOneStep(Operands(node)[0]) &&
            CountComputed(Operands(node)) > 0) {
          MultiplyErrors(character);
        }
        character.sign = 1;
        break;
      case Operation::kRoundToFloat64:
      case Operation::kRoundToFloat32:
      case Operation::kRoundToFloat16:
        character.sign = SignOf(Operands(node)[0]);
        break;
      case Operation::kMaximum:
      case Operation::kMinimum:
      case Operation::kAtLeast:
        Choose(character);
        character.sign = CommonSignOf(Operands(node));
        break;
      case Operation::kIfAtLeast:
      case Operation::kIfGreater:
        Choose(character);
        character.sign = CommonSignOf(Operands(node).subspan(2));
        break;
      default:
        Apply(node, character);
    }
    return character;
  }

  // This holds for all of them together.
  FormulaCharacter OfOperands(Node node) {
    FormulaCharacter all;
    for (const Node operand : Operands(node)) all.Add(Of(operand));
    all.rounds |= Rounds(formula_.operation(node));
    return all;
  }

  static bool Rounds(Operation operation) {
    switch (operation) {
      case Operation::kElement:
      case Operation::kNumber:
      case Operation::kMaximum:
      case Operation::kMinimum:
      case Operation::kAtLeast:
      case Operation::kIfAtLeast:
      case Operation::kIfGreater:
      case Operation::kNegative:
      case Operation::kMagnitude:
      case Operation::kClamp:
        return false;
      default:
        return true;
    }
  }

  int64_t CountComputed(std::span<const Node> nodes) const {
    return std::ranges::count_if(nodes, [&](Node x) { return !IsOfElements(formula_, x); });
  }

  // A product of sums has the errors of all of them.
  static void MultiplyErrors(FormulaCharacter& character) {
    character.is_polynomial = false;
    character.has_function = true;
  }

  static void NoPolynomial(FormulaCharacter& character) { character.is_polynomial = false; }

  // The one that is chosen among magnitudes need not be chosen among the numbers themselves.
  static void Choose(FormulaCharacter& character) {
    NoPolynomial(character);
    character.has_mixed_sum |= !character.is_of_one_sign;
  }

  bool IsNumber(Node node) const { return formula_.operation(node) == Operation::kNumber; }
  bool IsLeaf(Node node) const {
    return IsNumber(node) || formula_.operation(node) == Operation::kElement;
  }
  // Returns whether an exponent is multiplied by more than a sign, which makes its error absolute.
  bool IsRoundedProduct(Node node) const {
    const auto operands = Operands(node);
    if (formula_.operation(node) == Operation::kNegative) return IsRoundedProduct(operands[0]);
    return formula_.operation(node) == Operation::kProduct &&
           std::ranges::any_of(operands, [&](Node factor) {
             return IsNumber(factor) && std::abs(formula_.number(factor)) != 1;
           });
  }
  // The sum or difference of two exact numbers.
  bool IsOneStep(Node node) const {
    const bool adds = formula_.operation(node) == Operation::kSum ||
                      formula_.operation(node) == Operation::kDifference;
    return adds && Operands(node).size() <= 2 &&
           std::ranges::all_of(Operands(node), [&](Node operand) { return IsLeaf(operand); });
  }

  static int CommonSign(std::initializer_list<int> signs) {
    return std::ranges::all_of(signs, [&](int sign) { return sign == *signs.begin(); })
               ? *signs.begin()
               : 0;
  }
  int CommonSignOf(std::span<const Node> nodes) {
    const int first = nodes.empty() ? 1 : SignOf(nodes[0]);
    return std::ranges::all_of(nodes, [&](Node node) { return SignOf(node) == first; }) ? first : 0;
  }
  int SignOfProduct(Node node) {
    int sign = 1;
    for (const Node factor : Operands(node)) sign *= SignOf(factor);
    return sign;
  }

  // An error function is as uncertain as the numbers that it is added to.
  void AddUp(Node node, FormulaCharacter& character) {
    character.sign = CommonSignOf(Operands(node));
    character.is_of_one_sign &= character.sign != 0 || Operands(node).size() == 1;
    for (const Node term : Operands(node)) {
      if (formula_.operation(term) != Operation::kElementWise) continue;
      character.is_of_one_sign &= formula_.function(term) != ElementWiseFunction::kErf;
    }
  }

  // Roots keep the sizes of relative errors; exponentials and logarithms do so of what is exact, or
  // nearly.
  void Apply(Node node, FormulaCharacter& character) {
    NoPolynomial(character);
    character.has_function = true;
    character.has_mixed_sum |= !character.is_of_one_sign;
    const Operation operation = formula_.operation(node);
    if (operation == Operation::kExponential || operation == Operation::kSquareRoot) {
      character.sign = 1;
    }
    const bool is_known = IsOfElements(formula_, Operands(node)[0]);
    if (operation == Operation::kExponential) {
      character.is_of_one_sign &= is_known && !IsRoundedProduct(Operands(node)[0]);
    }
    if (operation == Operation::kLogarithm) character.is_of_one_sign &= is_known;
    if (operation == Operation::kLogarithm) character.has_logarithm |= !is_known;
    const Node definition = formula_.definition(node);
    if (definition != node) character.has_logarithm |= Of(definition).has_logarithm;
  }

  const Formula& formula_;
  std::span<const int> signs_;
  std::vector<std::optional<FormulaCharacter>> known_;
};

// Functions that are differences of exponentials, or made of others that are.
bool IsBesideOne(const Formula& formula, Node last) {
  using F = ElementWiseFunction;
  constexpr F kFunctions[] = {F::kSinh, F::kTanh, F::kErf, F::kSigmoid, F::kScaledTanh, F::kSwish};
  return formula.operation(last) == Operation::kElementWise &&
         std::ranges::find(kFunctions, formula.function(last)) != std::end(kFunctions);
}

}  // namespace

FormulaCharacter CharacterOf(const Formula& formula, Formula::Node last,
                             std::span<const int> signs) {
  FormulaCharacter character = Characters(formula, signs, last).Of(last);
  character.is_beside_one = IsBesideOne(formula, last);
  return character;
}

std::vector<Node> NumbersOfTensors(const OperatorDesc& op, const Formula& formula, Node last) {
  constexpr std::string_view kNames[] = {"mean", "variance", "first moment", "second moment"};
  std::vector<Node> numbers;
  if (formula.inputs()[0].type != DataType::kFloat16 ||
      TensorSlots(op, TensorRole::kOutput).size() == 1) {
    return numbers;
  }
  for (const auto& [node, name] : formula.names()) {
    if (node != last && std::ranges::find(kNames, name) != std::end(kNames)) {
      numbers.push_back(node);
    }
  }
  return numbers;
}

}  // namespace dmlop
