// SPDX-License-Identifier: Apache-2.0
// Evaluates formulas as variations change them: with other sums, factors and steps, and without
// terms.
#include <algorithm>

#include "core/arithmetic/element_formula.h"
#include "core/arithmetic/formula_numbers.h"

namespace dmlop {
namespace {

using formula_numbers::Checked;
using formula_numbers::Evaluated;
using formula_numbers::Product;
using formula_numbers::Rounded;
using formula_numbers::Sum;
using formula_numbers::Values;
using Node = FormulaNode;
using Operation = FormulaOperation;

// Steps that are kept in FLOAT16 are rounded to FLOAT32 before, where that is the arithmetic's.
// Sums, products and quotients of numbers of FLOAT16 are the same without.
DoubleDouble RoundedStep(const FloatRounding& rounding, DoubleDouble value) {
  static constexpr FloatRounding kToFloat32(FloatFormat::kFloat32);
  return Rounded(rounding, Rounded(kToFloat32, value));
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
    chain[0] = RoundedStep(rounding, is_product ? Product(kBoth, chain) : Sum(kBoth, chain));
  }
  if (formula.operation(node) != Operation::kMean) return RoundedStep(rounding, chain[0]);
  return RoundedStep(rounding, chain[0] / static_cast<double>(operands.size()));
}

// A FLOAT32 ends at the ends of an integer type that it is converted to.
DoubleDouble Confined(std::span<const Node> operands, Values values) {
  const DoubleDouble value = values[operands[0]];
  const DoubleDouble least = values[operands[1]], greatest = values[operands[2]];
  if ((value - least).head < 0) return least;
  return (value - greatest).head > 0 ? greatest : value;
}

bool IsChain(Operation operation) {
  return operation == Operation::kSum || operation == Operation::kMean ||
         operation == Operation::kProduct;
}

}  // namespace

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

std::optional<ElementFormula::Results> ElementFormula::WithRoundedProduct(
    const FloatRounding& rounding) const {
  if (formula_.operation(last()) != Operation::kSum || formula_.HasList(last())) {
    return std::nullopt;
  }
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

ElementFormula::Results ElementFormula::WithoutTerms(
    std::span<const Node> depending,
    const std::function<std::optional<std::vector<Node>>(Node list)>& left_of,
    bool divides_by_all) const {
  Results values = AllValues();
  for (const Node node : depending) {
    const auto left = left_of(node);
    values[node] =
        left ? OfTerms(node, *left, values, divides_by_all) : Evaluated(formula_, node, values);
  }
  return AtEnds(values);
}

DoubleDouble ElementFormula::DividedFirst(const ScaledQuotient& parts, Values values,
                                          const FloatRounding& rounding) {
  const DoubleDouble dividend = parts.dividend ? values[*parts.dividend] : DoubleDouble{1, 0};
  const DoubleDouble divisor = values[parts.divisor];
  const DoubleDouble quotient =
      RoundedStep(rounding, Checked(dividend.head / divisor.head, dividend / divisor));
  constexpr Node kBoth[] = {0, 1};
  const DoubleDouble factors[] = {values[parts.factor], quotient};
  return RoundedStep(rounding, Product(kBoth, factors));
}

ElementFormula::Results ElementFormula::InSteps(const ArithmeticVariation& steps) const {
  const FloatRounding rounding(steps.format);
  const bool rounds_integers = has_only_whole_ && steps.format == FloatFormat::kFloat32;
  Results values(is_part_.size());
  for (Node node = 0; node <= last(); ++node) {
    if (!is_part_[node]) continue;
    const Operation operation = formula_.operation(node);
    const auto scaled = steps.divides_first ? AsScaledQuotient(node) : std::nullopt;
    if (formula_.definition(node) != node) {
      values[node] = values[formula_.definition(node)];
    } else if (scaled) {
      values[node] = DividedFirst(*scaled, values, rounding);
    } else if (rounds_integers && operation == Operation::kWrap) {
      values[node] = Confined(formula_.operands(node), values);
    } else if (rounds_integers && operation == Operation::kElement) {
      values[node] = Rounded(rounding, Evaluated(formula_, node, values));
    } else if (formula_numbers::IsRootOfNumber(formula_, node)) {
      const FloatFormat format = steps.rounds_constants ? steps.format : FloatFormat::kFloat32;
      values[node] = Rounded(FloatRounding(format), Evaluated(formula_, node, values));
    } else if (formula_numbers::IsLeaf(operation) || (is_whole_[node] && !rounds_integers)) {
      const bool is_rounded =
          steps.rounds_constants && operation == Operation::kNumber && !is_whole_[node];
      const DoubleDouble value = Evaluated(formula_, node, values);
      values[node] = is_rounded ? Rounded(rounding, value) : value;
    } else if (IsChain(operation) &&
               !(steps.has_whole_sums && formula_numbers::IsSumOfList(formula_, node))) {
      values[node] = RoundedChain(formula_, node, values, rounding);
    } else {
      values[node] = RoundedStep(rounding, Evaluated(formula_, node, values));
    }
  }
  return AtEnds(values);
}

}  // namespace dmlop
