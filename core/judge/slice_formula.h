// SPDX-License-Identifier: Apache-2.0
// The formula that all elements of a slice of an output have, such as a row of a softmax. Only
// those elements of inputs move with the result that are not part of a list; lists, and so the
// statistics of the slice, are the same for all.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <optional>
#include <utility>
#include <vector>

#include "core/ops/formula.h"

namespace dmlop {

// The dimensions of slices whose elements have one formula, where an operator says which: all of
// an operator that computes each element by itself. None if each element may have its own.
std::optional<std::vector<uint32_t>> DimensionsOfSlices(const OperatorDesc& op, size_t rank);

class SliceFormula {
 public:
  using Node = FormulaNode;

  // Begins with the formula of one element. The descriptor must outlive this.
  SliceFormula(const OperatorDesc& op, InputViews inputs, const Region& element);

  // Whether other elements have this formula, too. Operators with products of their own have one
  // for each element, and so may have those some of whose elements depend on no input.
  bool IsSharedBy(std::initializer_list<Region> elements) const;

  const Formula& formula() const { return formula_; }
  std::optional<Node> last() const { return last_; }  // none if there is no formula

  bool Moves(Node node) const { return moves_[node]; }
  bool HasListThatStays() const;

  // Where an element of an input is in the formula of another element.
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
  const std::vector<SourceMap> sources_;
  Formula formula_;
  std::optional<Node> last_;
  std::vector<bool> moves_;   // of the nodes up to the last
  std::vector<Node> moving_;  // those that do
  std::vector<Node> added_;   // for each of the nodes, what stands for it in the element added last
};

}  // namespace dmlop
