// SPDX-License-Identifier: Apache-2.0
// The formula of an element of an output, or of several of a slice, with the values of all their
// parts, which other arithmetics change.
#pragma once

#include <cstdint>
#include <functional>
#include <initializer_list>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "core/arithmetic/arithmetic.h"
#include "core/arithmetic/float_format.h"
#include "core/exact/double_double.h"
#include "core/ops/formula.h"

namespace dmlop {

// Returns whether an operation tells which of its operands is the greatest or the least.
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

  // Null where there is no formula. `most_listed`: see Formula.
  static std::unique_ptr<ElementFormula> Of(const OperatorDesc& op, InputViews inputs,
                                            const Region& element,
                                            size_t most_listed = Formula::kMostNodes);

  // The formula of elements, each of which ends with one of these nodes, in rising order.
  ElementFormula(Formula formula, std::vector<Node> ends);

  const Formula& formula() const { return formula_; }
  // The last node, with which the only element ends, or the last one.
  Node last() const { return ends_.back(); }
  std::span<const Node> ends() const { return ends_; }
  size_t count() const { return ends_.size(); }  // of the elements

  // Returns whether the function says so of any node and its value, to about 100 bits.
  bool HasAny(const std::function<bool(Node node, DoubleDouble value)>& says) const;

  // Returns whether the node is part of an element, and computed with numbers that are not all
  // whole.
  bool IsRounded(Node node) const;

  // Returns whether it has integers and nothing else.
  bool HasOnlyIntegers() const { return has_only_whole_; }

  // The elements before they are rounded, to about 100 bits.
  Results exact() const { return AtEnds(AllValues()); }

  // Sums of lists of numbers that are not all whole, each after those that it depends on.
  std::span<const Node> sums() const { return sums_; }
  // The terms of a sum; while WithSums asks for it, as the sums before it have made them.
  std::vector<double> TermsOf(Node sum) const;

  // The elements if these sums are rounded as the function says, and nothing else is but the sum
  // with an addend if `sums` say so.
  Results WithSums(const std::function<double(Node sum)>& rounded);
  Results WithSums(const ArithmeticVariation& sums, const std::function<double(Node sum)>& rounded);
  // Returns what is added to a sum at the end; none if nothing is, or the sum is scaled.
  std::optional<double> AddendOf(Node sum) const;
  // The elements if a sum of products is rounded before the addend; none if there are none.
  std::optional<Results> WithRoundedProduct(const FloatRounding& rounding) const;
  // The sums and means that have terms; maxima and minima if there are none.
  std::vector<Node> lists() const;
  // Returns whether a sum is divided by the number of its terms.
  bool IsMean(Node list) const;
  // These nodes and what depends on them, in rising order.
  std::vector<Node> DependingOn(std::span<const Node> nodes) const;
  // The elements if lists have only some of their terms left, which the function gives; none for
  // another node. `depending` are the lists and what depends on them. A mean is divided by the
  // number of all its terms, or of those that are left.
  Results WithoutTerms(std::span<const Node> depending,
                       const std::function<std::optional<std::vector<Node>>(Node list)>& left_of,
                       bool divides_by_all) const;
  // Returns whether anything is divided but 1: a device may divide one factor of a product, or 1,
  // and multiply then.
  bool HasScaledQuotient() const;
  // The elements if each operation is rounded, as such a variation says.
  Results InSteps(const ArithmeticVariation& steps) const;
  // Returns whether terms of sums are elements of inputs times what is computed before.
  bool HasComputedFactors() const { return !TermsOfComputedFactors().empty(); }
  // The elements if the latter are rounded, after the division if their sum is divided.
  Results WithRoundedFactors(const FloatRounding& rounding) const;

 private:
  // factor * dividend / divisor; without a dividend, it is 1.
  struct ScaledQuotient {
    Node factor;
    std::optional<Node> dividend;
    Node divisor;
  };

  void FindSums();
  std::optional<ScaledQuotient> AsScaledQuotient(Node node) const;
  static DoubleDouble DividedFirst(const ScaledQuotient& parts,
                                   std::span<const DoubleDouble> values,
                                   const FloatRounding& rounding);
  bool IsComputedFactor(Node product, Node factor) const;
  std::optional<Node> DivisorOf(Node sum) const;
  // With what their sums are divided by.
  std::map<Node, std::optional<Node>> TermsOfComputedFactors() const;
  DoubleDouble OfRoundedFactors(Node term, std::optional<Node> divisor,
                                std::span<const DoubleDouble> values,
                                const FloatRounding& rounding) const;
  // Evaluates all nodes when they are asked for, since most of what is said of a long formula needs
  // none of them.
  const Results& AllValues() const;
  Results AtEnds(const Results& values) const;
  // The node with which a sum ends together with its addend.
  std::optional<Node> AdditionTo(Node sum) const;
  DoubleDouble OfTerms(Node list, const std::vector<Node>& left,
                       std::span<const DoubleDouble> values, bool divides_by_all) const;

  const Formula formula_;
  const std::vector<Node> ends_;
  mutable std::once_flag are_evaluated_;
  mutable Results values_;     // of all nodes up to the last
  Results varied_;             // of the same, with the sums that were asked for last
  std::vector<bool> is_part_;  // of an element
  std::vector<bool> is_whole_;
  bool has_only_whole_ = true;
  std::vector<Node> sums_;
  std::vector<Node> depending_;  // the sums and what depends on them
  // What each node is divided by, in the order of the quotients. Long formulas have many sums, for
  // each of which all nodes would be looked through.
  std::multimap<Node, Node> divisors_;
};

// --- formulas of slices --------------------------------------------------------------------------

// The formula that all elements of a slice of an output have, such as a row of a softmax. Only
// those elements of inputs move with the result that are not part of a list; lists, and so the
// statistics of the slice, are the same for all.

// The dimensions of slices whose elements have one formula, where an operator says which: all of
// an operator that computes each element by itself. None if each element may have its own.
std::optional<std::vector<uint32_t>> DimensionsOfSlices(const OperatorDesc& op, size_t rank);

class SliceFormula {
 public:
  using Node = FormulaNode;

  // Begins with the formula of one element. The descriptor must outlive this. `most_listed`: see
  // Formula.
  SliceFormula(const OperatorDesc& op, InputViews inputs, const Region& element,
               size_t most_listed = Formula::kMostNodes);

  // Returns whether other elements have this formula, too. Operators with products of their own
  // have one for each element, and so may have those some of whose elements depend on no input.
  bool IsSharedBy(std::initializer_list<Region> elements) const;

  const Formula& formula() const { return formula_; }
  std::optional<Node> last() const { return last_; }  // none if there is no formula

  bool Moves(Node node) const { return moves_[node]; }
  bool HasListThatStays() const;

  // Returns the place of an input's element in the formula of another element.
  Dims PlaceOf(Node node, const Region& element) const;

  // Adds what moves for another element that shares the formula, and returns the last node of it;
  // none if the formula would be too long.
  std::optional<Node> Add(const Region& element);

  // Gives away the formula with all that was added.
  Formula Release() { return std::move(formula_); }

 private:
  bool MovesWithParts(Node node) const;
  bool IsLikeThatOf(const Region& element) const;
  Node Moved(Node node, const Region& element);

  const OperatorDesc& op_;
  const Dims own_;  // the place of the element that this began with
  const std::vector<SourceMap> sources_;
  Formula formula_;
  std::optional<Node> last_;
  std::vector<bool> moves_;   // of the nodes up to the last
  std::vector<Node> moving_;  // those that do
  std::vector<Node> added_;   // for each of the nodes, what stands for it in the element added last
};

// --- elements that share a formula ---------------------------------------------------------------

// Some elements of an output, by their row-major numbers.
struct ElementQuestion {
  ElementQuestion(const OperatorDesc& op, InputViews inputs, size_t output,
                  std::span<const int64_t> elements);

  Region At(size_t i) const {
    return {output, IndexOf(sizes, elements[i]), Dims::Filled(sizes.size(), 1)};
  }

  const OperatorDesc& op;
  InputViews inputs;
  size_t output;
  std::span<const int64_t> elements;
  DataType type;
  Dims sizes;
};

// The elements of a question, by their places in it, in groups: those of a slice whose statistics
// they share, or each alone.
class ElementGroups {
 public:
  explicit ElementGroups(const ElementQuestion& question, bool are_alone = false);

  size_t size() const { return begins_.size(); }
  std::span<const size_t> operator[](size_t group) const {
    const size_t end = group + 1 < size() ? begins_[group + 1] : order_.size();
    return std::span(order_).subspan(begins_[group], end - begins_[group]);
  }

 private:
  std::vector<size_t> order_;   // of the elements
  std::vector<size_t> begins_;  // of the groups
};

// The formula of the first elements of a group, as many as it can have.
struct GroupFormula {
  // Not so many that the formulas of a thread take much memory.
  static constexpr size_t kMostNodes = size_t{1} << 18;

  Formula formula;
  std::vector<FormulaNode> ends;
};
std::optional<GroupFormula> FormulaOfFirst(const ElementQuestion& question,
                                           std::span<const size_t> group);

}  // namespace dmlop
