// SPDX-License-Identifier: Apache-2.0
#include "core/arithmetic/element_formula.h"

#include <algorithm>
#include <cmath>

#include "core/arithmetic/formula_numbers.h"
#include "core/ops/operator.h"

namespace dmlop {
namespace {

using formula_numbers::Evaluated;
using formula_numbers::IsLeaf;
using formula_numbers::IsSumOfList;
using formula_numbers::Values;
using Node = FormulaNode;
using Operation = FormulaOperation;

// Calls the function with each node that a node is made of.
template <typename Visit>
void VisitParts(const Formula& formula, Node node, Visit&& visit) {
  for (const Node operand : formula.operands(node)) visit(operand);
  if (formula.definition(node) != node) visit(formula.definition(node));
}

std::vector<bool> PartsOf(const Formula& formula, std::span<const Node> ends) {
  const Node last = ends.back();
  std::vector<bool> is_part(size_t{last} + 1);
  for (const Node end : ends) is_part[end] = true;
  for (Node node = last + 1; node-- > 0;) {
    if (is_part[node]) VisitParts(formula, node, [&](Node part) { is_part[part] = true; });
  }
  return is_part;
}

// --- whole numbers -------------------------------------------------------------------------------

bool KeepsWholeNumbers(Operation operation) {
  switch (operation) {
    case Operation::kSum:
    case Operation::kProduct:
    case Operation::kDifference:
    case Operation::kMaximum:
    case Operation::kMinimum:
    case Operation::kNegative:
    case Operation::kMagnitude:
    case Operation::kSquare:
      return true;
    default:
      return false;
  }
}

bool MakesWholeNumbers(Operation operation) {
  return operation == Operation::kRound || operation == Operation::kTruncate ||
         operation == Operation::kWrap || GivesPlace(operation);
}

// Returns whether the node is computed with integers, which are not rounded.
bool IsWhole(const Formula& formula, Node node, const std::vector<bool>& is_whole) {
  const Operation operation = formula.operation(node);
  if (operation == Operation::kElement) {
    return !IsFloat(formula.inputs()[formula.tensor(node)].type);
  }
  if (operation == Operation::kNumber) {
    return std::trunc(formula.number(node)) == formula.number(node);
  }
  const auto operands = formula.operands(node);
  return MakesWholeNumbers(operation) ||
         (KeepsWholeNumbers(operation) &&
          std::ranges::all_of(operands, [&](Node operand) { return is_whole[operand]; }));
}

}  // namespace

Region MiddleOf(const OperatorDesc& op, size_t output) {
  const TensorDesc& desc = *TensorSlots(op, TensorRole::kOutput)[output].desc;
  Region middle{output, {}, Dims::Filled(desc.sizes->size(), 1)};
  for (const uint32_t size : *desc.sizes) middle.begin.push_back(size / 2);
  return middle;
}

std::unique_ptr<ElementFormula> ElementFormula::Of(const OperatorDesc& op, InputViews inputs,
                                                   const Region& element, size_t most_listed) {
  Formula formula(inputs, most_listed);
  const auto last = FormulaOf(op, element, formula);
  if (!last) return nullptr;
  return std::make_unique<ElementFormula>(std::move(formula), std::vector<Node>{*last});
}

ElementFormula::ElementFormula(Formula formula, std::vector<Node> ends)
    : formula_(std::move(formula)), ends_(std::move(ends)), is_part_(PartsOf(formula_, ends_)) {
  FindSums();
}

const ElementFormula::Results& ElementFormula::AllValues() const {
  std::call_once(are_evaluated_, [this] {
    values_.resize(is_part_.size());
    for (Node node = 0; node <= last(); ++node) {
      if (is_part_[node]) values_[node] = Evaluated(formula_, node, values_);
    }
  });
  return values_;
}

bool ElementFormula::HasAny(const std::function<bool(Node, DoubleDouble)>& says) const {
  const Results& values = AllValues();
  for (Node node = 0; node <= last(); ++node) {
    if (is_part_[node] && says(node, values[node])) return true;
  }
  return false;
}

void ElementFormula::FindSums() {
  std::vector<bool> depends(is_part_.size());
  is_whole_.resize(is_part_.size());
  for (Node node = 0; node <= last(); ++node) {
    if (formula_.operation(node) == Operation::kQuotient) {
      divisors_.emplace(formula_.operands(node)[0], formula_.operands(node)[1]);
    }
    if (!is_part_[node]) continue;
    is_whole_[node] = IsWhole(formula_, node, is_whole_);
    has_only_whole_ = has_only_whole_ && is_whole_[node];
    const bool is_sum = IsSumOfList(formula_, node) && !is_whole_[node];
    if (is_sum) sums_.push_back(node);
    depends[node] = is_sum;
    VisitParts(formula_, node, [&](Node part) { depends[node] = depends[node] || depends[part]; });
    if (depends[node]) depending_.push_back(node);
  }
}

ElementFormula::Results ElementFormula::AtEnds(const Results& values) const {
  Results at_ends;
  for (const Node end : ends_) at_ends.push_back(values[end]);
  return at_ends;
}

bool ElementFormula::IsRounded(Node node) const {
  return is_part_[node] && !is_whole_[node] && !IsLeaf(formula_.operation(node));
}

std::vector<double> ElementFormula::TermsOf(Node sum) const {
  const Values values = varied_.empty() ? AllValues() : varied_;
  std::vector<double> terms;
  for (const Node term : formula_.operands(sum)) terms.push_back(values[term].head);
  return terms;
}

std::optional<Node> ElementFormula::AdditionTo(Node sum) const {
  for (const Node end : ends_) {
    const auto operands = formula_.operands(end);
    const bool adds = formula_.operation(end) == Operation::kSum && !formula_.HasList(end) &&
                      operands.size() == 2 && std::ranges::find(operands, sum) != operands.end();
    if (adds) return end;
  }
  return std::nullopt;
}

std::optional<double> ElementFormula::AddendOf(Node sum) const {
  const auto end = AdditionTo(sum);
  if (!end) return std::nullopt;
  const auto operands = formula_.operands(*end);
  return AllValues()[operands[0] == sum ? operands[1] : operands[0]].head;
}

bool ElementFormula::IsComputedFactor(Node product, Node factor) const {
  const auto factors = formula_.operands(product);
  const bool multiplies = formula_.operation(product) == Operation::kProduct ||
                          formula_.operation(product) == Operation::kWeighted;
  return multiplies && !formula_.HasList(product) && !IsLeaf(formula_.operation(factor)) &&
         std::ranges::any_of(
             factors, [&](Node other) { return formula_.operation(other) == Operation::kElement; });
}

std::optional<Node> ElementFormula::DivisorOf(Node sum) const {
  const auto divisor = divisors_.find(sum);
  return divisor == divisors_.end() ? std::nullopt : std::optional(divisor->second);
}

std::map<Node, std::optional<Node>> ElementFormula::TermsOfComputedFactors() const {
  std::map<Node, std::optional<Node>> terms;
  for (const Node sum : sums_) {
    const auto divisor = DivisorOf(sum);
    for (const Node term : formula_.operands(sum)) {
      const auto factors = formula_.operands(term);
      if (std::ranges::any_of(factors, [&](Node x) { return IsComputedFactor(term, x); })) {
        terms[term] = divisor;
      }
    }
  }
  return terms;
}

std::vector<Node> ElementFormula::lists() const {
  std::vector<Node> sums, extremes;
  for (Node node = 0; node <= last(); ++node) {
    if (!is_part_[node]) continue;
    const Operation operation = formula_.operation(node);
    if (IsSumOfList(formula_, node)) sums.push_back(node);
    if (formula_.operands(node).size() < 2) continue;
    if (operation == Operation::kMaximum || operation == Operation::kMinimum) {
      extremes.push_back(node);
    }
  }
  return sums.empty() ? extremes : sums;
}

bool ElementFormula::IsMean(Node list) const {
  const auto count = static_cast<double>(formula_.operands(list).size());
  const auto [first, past] = divisors_.equal_range(list);
  for (auto quotient = first; quotient != past; ++quotient) {
    const Node divisor = quotient->second;
    if (formula_.operation(divisor) == Operation::kNumber) {
      return formula_.number(divisor) == count;
    }
  }
  return formula_.operation(list) == Operation::kMean;
}

std::vector<Node> ElementFormula::DependingOn(std::span<const Node> nodes) const {
  std::vector<bool> depends(is_part_.size());
  for (const Node node : nodes) depends[node] = true;
  std::vector<Node> depending;
  for (Node node = 0; node <= last(); ++node) {
    const auto is_so = [&](Node operand) { return depends[operand]; };
    if (!depends[node] && is_part_[node]) {
      depends[node] = std::ranges::any_of(formula_.operands(node), is_so);
    }
    if (depends[node]) depending.push_back(node);
  }
  return depending;
}

std::optional<ElementFormula::ScaledQuotient> ElementFormula::AsScaledQuotient(Node node) const {
  if (formula_.operation(node) != Operation::kQuotient) return std::nullopt;
  const Node dividend = formula_.operands(node)[0], divisor = formula_.operands(node)[1];
  if (formula_.operation(dividend) == Operation::kNumber) return std::nullopt;
  const auto factors = formula_.operands(dividend);
  const bool is_product = formula_.operation(dividend) == Operation::kProduct &&
                          !formula_.HasList(dividend) && factors.size() == 2;
  if (!is_product) return ScaledQuotient{dividend, std::nullopt, divisor};
  const bool is_first = !IsLeaf(formula_.operation(factors[0]));
  return ScaledQuotient{factors[is_first ? 1 : 0], factors[is_first ? 0 : 1], divisor};
}

bool ElementFormula::HasScaledQuotient() const {
  for (Node node = 0; node <= last(); ++node) {
    if (is_part_[node] && AsScaledQuotient(node)) return true;
  }
  return false;
}

}  // namespace dmlop
