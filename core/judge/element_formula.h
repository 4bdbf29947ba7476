// SPDX-License-Identifier: Apache-2.0
// The formula of an element of an output, or of several of a slice, with the values of all their
// parts, which other arithmetics change.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "core/exact/double_double.h"
#include "core/judge/float_format.h"
#include "core/ops/formula.h"

namespace dmlop {

// Whether an operation tells which of its operands is the greatest or the least.
constexpr bool GivesPlace(FormulaOperation operation) {
  return operation >= FormulaOperation::kFirstMaximum &&
         operation <= FormulaOperation::kLastMinimum;
}

// The place in the middle of an output, whose formula has all that others have.
Region MiddleOf(const OperatorDesc& op, size_t output);

class ElementFormula {
 public:
  using Node = FormulaNode;
  using Results = std::vector<DoubleDouble>;

  // Null where there is no formula.
  static std::unique_ptr<ElementFormula> Of(const OperatorDesc& op, InputViews inputs,
                                            const Region& element);

  // The formula of elements, each of which ends with one of these nodes, in rising order.
  ElementFormula(Formula formula, std::vector<Node> ends);

  const Formula& formula() const { return formula_; }
  // The last node, with which the only element ends, or the last one.
  Node last() const { return ends_.back(); }
  size_t count() const { return ends_.size(); }  // of the elements

  // Whether the node is part of an element, and computed with numbers that are not all whole.
  bool IsRounded(Node node) const;

  // The elements before they are rounded, to about 100 bits.
  Results exact() const { return AtEnds(values_); }

  // Sums of lists of numbers that are not all whole, each after those that it depends on.
  std::span<const Node> sums() const { return sums_; }
  // The terms of a sum; while WithSums asks for it, as the sums before it have made them.
  std::vector<double> TermsOf(Node sum) const;

  // The elements if these sums are rounded as the function says, and nothing else is.
  Results WithSums(const std::function<double(Node sum)>& rounded);
  // The elements if a sum of products is rounded before the addend; none if there are none.
  std::optional<Results> WithRoundedProduct(DataType type) const;
  // The sums and means that have terms; maxima and minima if there are none.
  std::vector<Node> lists() const;
  // The last element without some terms of these. A mean is divided by the number of all its terms,
  // or of those that are left.
  DoubleDouble WithoutTerms(const std::function<bool(Node list, size_t term)>& is_left_out,
                            bool divides_by_all) const;
  // The elements if each operation is rounded.
  Results InSteps(FloatFormat format) const;

 private:
  void EvaluateAll();
  Results AtEnds(const Results& values) const;
  // Whether a sum is divided by the number of its terms.
  bool IsMean(Node list) const;
  DoubleDouble OfTerms(Node list, const std::vector<Node>& left,
                       std::span<const DoubleDouble> values, bool divides_by_all) const;

  const Formula formula_;
  const std::vector<Node> ends_;
  Results values_;             // of all nodes up to the last
  Results varied_;             // of the same, with the sums that were asked for last
  std::vector<bool> is_part_;  // of an element
  std::vector<bool> is_whole_;
  std::vector<Node> sums_;
  std::vector<Node> depending_;  // the sums and what depends on them
};

}  // namespace dmlop
