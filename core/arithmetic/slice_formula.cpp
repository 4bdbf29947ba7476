// SPDX-License-Identifier: Apache-2.0
#include "core/arithmetic/element_formula.h"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <numeric>
#include <span>
#include <variant>

#include "core/base/parallel.h"
#include "core/ops/operator.h"

namespace dmlop {
namespace {

using Node = FormulaNode;

bool IsElementNode(const Formula& formula, Node node) {
  return formula.operation(node) == FormulaOperation::kElement;
}

bool AreSame(double x, double y) {
  return x == y || (std::isnan(x) && std::isnan(y));
}

}  // namespace

std::optional<std::vector<uint32_t>> DimensionsOfSlices(const OperatorDesc& op, size_t rank) {
  const Computed* computed = ComputedOnParts(op);
  const bool is_element_wise = std::holds_alternative<ElementWise>(op.info().family) ||
                               (computed != nullptr && computed->unsplittable_dims == nullptr);
  if (computed == nullptr && !is_element_wise) return std::nullopt;
  std::vector<uint32_t> dimensions =
      is_element_wise ? AllDimensions(op) : computed->unsplittable_dims(op);
  std::erase_if(dimensions, [&](uint32_t d) { return d >= rank; });
  return dimensions;
}

SliceFormula::SliceFormula(const OperatorDesc& op, InputViews inputs, const Region& element,
                           size_t most_listed)
    : op_(op), own_(element.begin), sources_(SourcesOf(op)), formula_(inputs, most_listed) {
  last_ = FormulaOf(op, element, formula_);
  if (!last_) return;
  added_.resize(size_t{*last_} + 1);
  std::iota(added_.begin(), added_.end(), Node{0});
  for (const Node node : added_) {
    moves_.push_back(MovesWithParts(node));
    if (Moves(node)) moving_.push_back(node);
  }
}

bool SliceFormula::MovesWithParts(Node node) const {
  if (IsElementNode(formula_, node)) return !formula_.IsListed(node);
  const Node definition = formula_.definition(node);
  return (definition != node && Moves(definition)) ||
         std::ranges::any_of(formula_.operands(node), [this](Node part) { return Moves(part); });
}

bool SliceFormula::IsSharedBy(std::initializer_list<Region> elements) const {
  if (!last_ || sources_.empty() || OperationsOf(op_) != 0 || !Moves(*last_)) return false;
  std::atomic<bool> is_shared = true;
  ParallelFor(std::ssize(elements), 1, /*bytes=*/0, [&](int64_t first, int64_t past) {
    for (const Region& element : std::span(elements.begin() + first, elements.begin() + past)) {
      if (element.begin != own_ && !IsLikeThatOf(element)) is_shared = false;
    }
  });
  return is_shared;
}

// Returns whether an element's own formula has the same operations on the same numbers, and its
// elements are at the places that follow from this one.
bool SliceFormula::IsLikeThatOf(const Region& element) const {
  Formula own(formula_.inputs(), formula_.most_listed());
  if (FormulaOf(op_, element, own) != last_ || own.WholeSize() != formula_.WholeSize()) {
    return false;
  }
  for (Node node = 0; node <= *last_; ++node) {
    if (formula_.operation(node) != own.operation(node) ||
        !std::ranges::equal(formula_.operands(node), own.operands(node))) {
      return false;
    }
    const bool is_number = formula_.operation(node) == FormulaOperation::kNumber;
    if (is_number && !AreSame(formula_.number(node), own.number(node))) return false;
    if (IsElementNode(formula_, node) &&
        (formula_.tensor(node) != own.tensor(node) || PlaceOf(node, element) != own.index(node))) {
      return false;
    }
  }
  return true;
}

// Elements that are not listed are those that alone feed the result in their tensor, or lie at its
// place.
Dims SliceFormula::PlaceOf(Node node, const Region& element) const {
  if (formula_.IsListed(node)) return formula_.index(node);
  const auto source = sources_[formula_.tensor(node)](element);
  return source && source->count() == 1 ? source->begin : element.begin;
}

bool SliceFormula::HasListThatStays() const {
  for (Node node = 0; node <= *last_; ++node) {
    if (formula_.HasList(node) && formula_.operands(node).size() > 1 && !Moves(node)) return true;
  }
  return false;
}

std::optional<Node> SliceFormula::Add(const Region& element) {
  for (const Node node : moving_) added_[node] = Moved(node, element);
  return formula_.is_too_long() ? std::nullopt : std::optional(added_[*last_]);
}

Node SliceFormula::Moved(Node node, const Region& element) {
  if (IsElementNode(formula_, node)) {
    const Dims place = PlaceOf(node, element);
    return formula_.Element({formula_.tensor(node), place, Dims::Filled(place.size(), 1)});
  }
  std::vector<Node> operands;
  for (const Node operand : formula_.operands(node)) operands.push_back(added_[operand]);
  const Node definition = formula_.definition(node);
  return formula_.Like(node, operands,
                       definition == node ? std::nullopt : std::optional(added_[definition]));
}

}  // namespace dmlop
