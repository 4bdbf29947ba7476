// SPDX-License-Identifier: Apache-2.0
#include "core/judge/element_formula.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "core/explain/formula_value.h"
#include "core/ops/operator.h"

namespace dmlop {
namespace {

using Node = FormulaNode;
using Operation = FormulaOperation;
using Values = std::span<const DoubleDouble>;

constexpr bool IsLeaf(Operation operation) {
  return operation == Operation::kElement || operation == Operation::kNumber;
}

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

bool IsSumOfList(const Formula& formula, Node node) {
  const Operation operation = formula.operation(node);
  return (operation == Operation::kSum || operation == Operation::kMean) && formula.HasList(node);
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

// Whether the node is computed with integers, which are not rounded.
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

// --- values --------------------------------------------------------------------------------------

// A number beyond the range of both parts has no tail.
DoubleDouble Checked(double head, DoubleDouble value) {
  return std::isfinite(head) && head != 0 ? value : DoubleDouble{head, 0};
}

// Takes the sum of the heads, too, which tells infinities and the two zeros apart.
DoubleDouble CheckedSum(double head, DoubleDouble sum) {
  if (!std::isfinite(head)) return {head, 0};
  const double zero = head == 0 ? head : 0.0;
  return sum.head == 0 ? DoubleDouble{zero, 0} : sum;
}

DoubleDouble Sum(std::span<const Node> terms, Values values) {
  double head = -0.0;
  DoubleDouble sum{};
  for (const Node term : terms) {
    head += values[term].head;
    sum = sum + values[term];
  }
  return CheckedSum(head, sum);
}

DoubleDouble CheckedDifference(DoubleDouble a, DoubleDouble b) {
  return CheckedSum(a.head - b.head, a - b);
}

DoubleDouble Product(std::span<const Node> factors, Values values) {
  constexpr double kMost = 0x1p900;
  DoubleDouble product{1, 0};
  for (const Node factor : factors) {
    const double head = product.head * values[factor].head;
    const double magnitude = std::fabs(head);
    const bool is_far = magnitude > kMost || magnitude < 1 / kMost;
    product = is_far ? DoubleDouble{head, 0} : Checked(head, product * values[factor]);
  }
  return product;
}

FormulaValue AsFormulaValue(DoubleDouble value, bool is_exact) {
  FormulaValue result = Approximately(value);
  if (is_exact && std::isfinite(value.head)) result.exact = Dyadic(value.head) + Dyadic(value.tail);
  return result;
}

DoubleDouble Other(const Formula& formula, Node node, std::span<const Node> nodes, Values values) {
  const Operation operation = formula.operation(node);
  std::vector<FormulaValue> operands;
  for (const Node operand : nodes) {
    operands.push_back(AsFormulaValue(values[operand], operation == Operation::kWrap));
  }
  if (operation != Operation::kElementWise) {
    return ExactArithmetic::Apply(operation, operands).number;
  }
  return ExactArithmetic::Function(formula.function(node), formula.parameters(node), operands)
      .number;
}

// Integers of 64 bits have more digits than one double.
DoubleDouble ElementValue(const Formula& formula, Node node) {
  const ConstTensorView& view = formula.inputs()[formula.tensor(node)];
  if (IsFloat(view.type) || ByteWidth(view.type) < 8) return {formula.ValueOf(node), 0};
  return ExactArithmetic::Element(view, OffsetOf(view.layout, formula.index(node))).number;
}

DoubleDouble Leaf(const Formula& formula, Node node) {
  if (formula.operation(node) == Operation::kElement) return ElementValue(formula, node);
  return ExactArithmetic::Number(formula.number(node), formula.exact_number(node)).number;
}

DoubleDouble Evaluated(const Formula& formula, Node node, std::span<const Node> operands,
                       Values values) {
  switch (formula.operation(node)) {
    case Operation::kElement:
    case Operation::kNumber:
      return Leaf(formula, node);
    case Operation::kSum:
      return Sum(operands, values);
    case Operation::kMean: {
      const DoubleDouble sum = Sum(operands, values);
      return Checked(sum.head, sum / static_cast<double>(operands.size()));
    }
    case Operation::kProduct:
      return Product(operands, values);
    case Operation::kSquare: {
      const Node factors[] = {operands[0], operands[0]};
      return Product(factors, values);
    }
    case Operation::kDifference:
      return CheckedDifference(values[operands[0]], values[operands[1]]);
    case Operation::kNegative:
      return -values[operands[0]];
    case Operation::kMagnitude: {
      const DoubleDouble value = values[operands[0]];
      return std::signbit(value.head) ? -value : value;
    }
    default:
      return Other(formula, node, operands, values);
  }
}

DoubleDouble Evaluated(const Formula& formula, Node node, Values values) {
  return Evaluated(formula, node, formula.operands(node), values);
}

// --- steps ---------------------------------------------------------------------------------------

// Rounds a number of some 100 bits.
DoubleDouble Rounded(const FloatRounding& rounding, DoubleDouble value) {
  const bool is_number = std::isfinite(value.head);
  return {rounding(is_number ? SumRoundedToOdd(value.head, value.tail) : value.head), 0};
}

// Operations on many operands take one after another.
DoubleDouble RoundedChain(const Formula& formula, Node node, Values values,
                          const FloatRounding& rounding) {
  const bool is_product = formula.operation(node) == Operation::kProduct;
  const auto operands = formula.operands(node);
  if (operands.empty()) return {is_product ? 1.0 : 0.0, 0};
  DoubleDouble chain[2] = {values[operands[0]], {}};
  constexpr Node kBoth[] = {0, 1};
  for (const Node operand : operands.subspan(1)) {
    chain[1] = values[operand];
    chain[0] = Rounded(rounding, is_product ? Product(kBoth, chain) : Sum(kBoth, chain));
  }
  if (formula.operation(node) != Operation::kMean) return Rounded(rounding, chain[0]);
  return Rounded(rounding, chain[0] / static_cast<double>(operands.size()));
}

bool IsChain(Operation operation) {
  return operation == Operation::kSum || operation == Operation::kMean ||
         operation == Operation::kProduct;
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

void ElementFormula::FindSums() {
  std::vector<bool> depends(is_part_.size());
  is_whole_.resize(is_part_.size());
  for (Node node = 0; node <= last(); ++node) {
    if (!is_part_[node]) continue;
    is_whole_[node] = IsWhole(formula_, node, is_whole_);
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

ElementFormula::Results ElementFormula::WithSums(const ArithmeticVariation& sums,
                                                 const std::function<double(Node sum)>& rounded) {
  WithSums(rounded);
  if (sums.addend == AddendOrder::kExactly) return AtEnds(varied_);
  for (const Node sum : sums_) {
    const auto end = AdditionTo(sum);
    if (!end) continue;
    varied_[*end] = sums.addend == AddendOrder::kFirst
                        ? varied_[sum]
                        : Rounded(FloatRounding(sums.format), varied_[*end]);
  }
  return AtEnds(varied_);
}

ElementFormula::Results ElementFormula::WithSums(const std::function<double(Node sum)>& rounded) {
  if (varied_.empty()) varied_ = AllValues();
  for (const Node node : depending_) {
    if (!std::ranges::binary_search(sums_, node)) {
      varied_[node] = Evaluated(formula_, node, varied_);
      continue;
    }
    const bool is_mean = formula_.operation(node) == Operation::kMean;
    const double count = is_mean ? static_cast<double>(formula_.operands(node).size()) : 1;
    const double sum = rounded(node);
    varied_[node] = Checked(sum, DoubleDouble{sum, 0} / count);
  }
  return AtEnds(varied_);
}

std::optional<ElementFormula::Results> ElementFormula::WithRoundedProduct(DataType type) const {
  if (formula_.operation(last()) != Operation::kSum || formula_.HasList(last())) {
    return std::nullopt;
  }
  const FloatRounding rounding(type == DataType::kFloat16 ? FloatFormat::kFloat16
                                                          : FloatFormat::kFloat32);
  Results values = AllValues();
  bool is_any = false;
  for (const Node end : ends_) {
    for (const Node operand : formula_.operands(end)) {
      const bool depends = std::ranges::binary_search(depending_, operand);
      if (depends) values[operand] = Rounded(rounding, AllValues()[operand]);
      is_any |= depends;
    }
    values[end] = Evaluated(formula_, end, values);
  }
  return is_any ? std::optional(AtEnds(values)) : std::nullopt;
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
  for (Node node = sum; node <= last(); ++node) {
    if (formula_.operation(node) == Operation::kQuotient && formula_.operands(node)[0] == sum) {
      return formula_.operands(node)[1];
    }
  }
  return std::nullopt;
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

DoubleDouble ElementFormula::OfRoundedFactors(Node term, std::optional<Node> divisor, Values values,
                                              const FloatRounding& rounding) const {
  std::vector<DoubleDouble> factors;
  std::vector<Node> places;
  for (const Node factor : formula_.operands(term)) {
    DoubleDouble value = values[factor];
    if (IsComputedFactor(term, factor)) {
      value = divisor ? Rounded(rounding, value / values[*divisor]) * values[*divisor]
                      : Rounded(rounding, value);
    }
    places.push_back(static_cast<Node>(factors.size()));
    factors.push_back(value);
  }
  return Product(places, factors);
}

ElementFormula::Results ElementFormula::WithRoundedFactors(const FloatRounding& rounding) const {
  const auto terms = TermsOfComputedFactors();
  Results values(is_part_.size());
  for (Node node = 0; node <= last(); ++node) {
    if (!is_part_[node]) continue;
    const auto term = terms.find(node);
    values[node] = term == terms.end() ? Evaluated(formula_, node, values)
                                       : OfRoundedFactors(node, term->second, values, rounding);
  }
  return AtEnds(values);
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
  for (Node node = list; node <= last(); ++node) {
    const auto operands = formula_.operands(node);
    const bool divides = formula_.operation(node) == Operation::kQuotient && operands[0] == list &&
                         formula_.operation(operands[1]) == Operation::kNumber;
    if (divides) return formula_.number(operands[1]) == count;
  }
  return formula_.operation(list) == Operation::kMean;
}

DoubleDouble ElementFormula::OfTerms(Node list, const std::vector<Node>& left, Values values,
                                     bool divides_by_all) const {
  if (left.empty()) return {};
  const DoubleDouble value = Evaluated(formula_, list, left, values);
  const double share =
      static_cast<double>(left.size()) / static_cast<double>(formula_.operands(list).size());
  const bool is_divided = formula_.operation(list) == Operation::kMean;
  if (is_divided == !divides_by_all || !IsMean(list)) return value;
  return is_divided ? value * share : value / share;
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

DoubleDouble ElementFormula::WithoutTerms(
    std::span<const Node> depending,
    const std::function<std::optional<std::vector<Node>>(Node list)>& left_of,
    bool divides_by_all) const {
  Results values = AllValues();
  for (const Node node : depending) {
    const auto left = left_of(node);
    values[node] =
        left ? OfTerms(node, *left, values, divides_by_all) : Evaluated(formula_, node, values);
  }
  return values[last()];
}

std::optional<ElementFormula::ScaledQuotient> ElementFormula::AsScaledQuotient(Node node) const {
  if (formula_.operation(node) != Operation::kQuotient) return std::nullopt;
  const Node product = formula_.operands(node)[0];
  if (formula_.operation(product) != Operation::kProduct || formula_.HasList(product)) {
    return std::nullopt;
  }
  const auto factors = formula_.operands(product);
  if (factors.size() != 2) return std::nullopt;
  const bool is_first = !IsLeaf(formula_.operation(factors[0]));
  return ScaledQuotient{factors[is_first ? 1 : 0], factors[is_first ? 0 : 1],
                        formula_.operands(node)[1]};
}

bool ElementFormula::HasScaledQuotient() const {
  for (Node node = 0; node <= last(); ++node) {
    if (is_part_[node] && AsScaledQuotient(node)) return true;
  }
  return false;
}

DoubleDouble ElementFormula::DividedFirst(const ScaledQuotient& parts, Values values,
                                          const FloatRounding& rounding) {
  const DoubleDouble dividend = values[parts.dividend], divisor = values[parts.divisor];
  const DoubleDouble quotient =
      Rounded(rounding, Checked(dividend.head / divisor.head, dividend / divisor));
  constexpr Node kBoth[] = {0, 1};
  const DoubleDouble factors[] = {values[parts.factor], quotient};
  return Rounded(rounding, Product(kBoth, factors));
}

ElementFormula::Results ElementFormula::InSteps(const ArithmeticVariation& steps) const {
  const FloatRounding rounding(steps.format);
  Results values(is_part_.size());
  for (Node node = 0; node <= last(); ++node) {
    if (!is_part_[node]) continue;
    const Operation operation = formula_.operation(node);
    const auto scaled = steps.divides_first ? AsScaledQuotient(node) : std::nullopt;
    if (formula_.definition(node) != node) {
      values[node] = values[formula_.definition(node)];
    } else if (scaled) {
      values[node] = DividedFirst(*scaled, values, rounding);
    } else if (IsLeaf(operation) || is_whole_[node]) {
      const bool is_rounded =
          steps.rounds_constants && operation == Operation::kNumber && !is_whole_[node];
      const DoubleDouble value = Evaluated(formula_, node, values);
      values[node] = is_rounded ? Rounded(rounding, value) : value;
    } else if (IsChain(operation) && !(steps.has_whole_sums && IsSumOfList(formula_, node))) {
      values[node] = RoundedChain(formula_, node, values, rounding);
    } else {
      values[node] = Rounded(rounding, Evaluated(formula_, node, values));
    }
  }
  return AtEnds(values);
}

}  // namespace dmlop
