// SPDX-License-Identifier: Apache-2.0
#include "core/judge/omitted_terms.h"

#include <algorithm>
#include <set>
#include <utility>

#include "core/base/parallel.h"
#include "core/judge/element_formula.h"
#include "core/judge/stored_element.h"

namespace dmlop {
namespace {

using Node = FormulaNode;

// Longer formulas take too long.
constexpr Node kMostNodes = Node{1} << 16;

bool IsElement(const Formula& formula, Node node) {
  return formula.operation(node) == FormulaOperation::kElement;
}

// --- the elements that terms are told apart by ---------------------------------------------------

// The way from a term to an element that other terms have another one for: the places of operands.
using Path = std::vector<size_t>;

std::optional<Path> PathBetween(const Formula& formula, Node a, Node b) {
  if (a == b) return std::nullopt;
  if (IsElement(formula, a) && IsElement(formula, b)) return Path();
  const auto ofs_a = formula.operands(a), ofs_b = formula.operands(b);
  if (formula.operation(a) != formula.operation(b)) return std::nullopt;
  for (size_t i = 0; i < std::min(ofs_a.size(), ofs_b.size()); ++i) {
    auto rest = PathBetween(formula, ofs_a[i], ofs_b[i]);
    if (!rest) continue;
    rest->insert(rest->begin(), i);
    return rest;
  }
  return std::nullopt;
}

std::optional<Path> PathOf(const Formula& formula, std::span<const Node> terms) {
  constexpr size_t kTried = 8;
  for (size_t i = 0; i + 1 < std::min(terms.size(), kTried); ++i) {
    if (auto path = PathBetween(formula, terms[i], terms[i + 1])) return path;
  }
  return std::nullopt;
}

// Returns nothing for a term that is made otherwise, such as one of padding.
std::optional<Node> Follow(const Formula& formula, Node node, const Path& path) {
  for (const size_t place : path) {
    const auto operands = formula.operands(node);
    if (place >= operands.size()) return std::nullopt;
    node = operands[place];
  }
  return IsElement(formula, node) ? std::optional(node) : std::nullopt;
}

std::vector<std::optional<Node>> ElementsOfTerms(const Formula& formula, Node list) {
  const auto terms = formula.operands(list);
  const auto path = PathOf(formula, terms);
  std::vector<std::optional<Node>> elements(terms.size());
  if (!path) return elements;
  std::ranges::transform(terms, elements.begin(),
                         [&](Node term) { return Follow(formula, term, *path); });
  return elements;
}

// --- windows -------------------------------------------------------------------------------------

const std::vector<uint32_t>* FindNumbers(const OperatorDesc& op, std::string_view name) {
  for (size_t i = 0; i < op.fields().size(); ++i) {
    if (op.fields()[i]->name == name) return std::get_if<std::vector<uint32_t>>(&op.values()[i]);
  }
  return nullptr;
}

// The coordinates of an axis that a window of an output element has: origin, origin + step, ...
struct WindowAxis {
  int64_t origin = 0;
  int64_t step = 1;
  int64_t size = 0;
};

// The last axes have windows; others are whole.
WindowAxis WindowOf(const OperatorDesc& op, const Dims& sizes, const Dims& element, size_t axis) {
  const auto* windows = FindNumbers(op, "WindowSize");
  const auto* strides = FindNumbers(op, "Strides");
  const auto* start = FindNumbers(op, "StartPadding");
  const bool has_windows = windows != nullptr && strides != nullptr && start != nullptr &&
                           element.size() == sizes.size() && axis + windows->size() >= sizes.size();
  if (!has_windows) return {0, 1, sizes[axis]};
  const size_t i = axis + windows->size() - sizes.size();
  const auto* dilations = FindNumbers(op, "Dilations");
  return {element[axis] * (*strides)[i] - (*start)[i], dilations == nullptr ? 1 : (*dilations)[i],
          (*windows)[i]};
}

}  // namespace

std::vector<TermAxis> TermAxesOf(const Computation& computation, const Region& element) {
  const auto made = ElementFormula::Of(computation.op, computation.inputs, element);
  if (!made || made->last() > kMostNodes) return {};
  const Formula& formula = made->formula();
  std::set<TermAxis> axes;
  for (const Node list : made->lists()) {
    std::optional<Node> first;
    for (const auto& term : ElementsOfTerms(formula, list)) {
      if (!term) continue;
      if (!first) first = term;
      const size_t input = formula.tensor(*term);
      const Dims here = formula.index(*term), there = formula.index(*first);
      const Dims& sizes = computation.inputs[input].layout.sizes;
      for (size_t d = 0; d < here.size(); ++d) {
        if (here[d] == there[d]) continue;
        axes.insert({input, d, WindowOf(computation.op, sizes, element.begin, d).size});
      }
    }
  }
  return {axes.begin(), axes.end()};
}

// A formula, and the coordinates of the terms of its lists; -1 for a term without one.
struct OmittedTerms::Known {
  std::unique_ptr<ElementFormula> formula;
  std::map<Node, std::vector<int64_t>> coordinates;
};

OmittedTerms::OmittedTerms(const Evidence& evidence, const TermAxis& axis,
                           std::span<const int64_t> few)
    : evidence_(evidence), axis_(axis) {
  for (const int64_t element : few) few_[element] = Make(element);
}

std::shared_ptr<const OmittedTerms::Known> OmittedTerms::Make(int64_t element) const {
  const auto& [op, inputs, storage] = evidence_.computation;
  const Region place = evidence_.At(element);
  auto known = std::make_shared<Known>();
  known->formula = ElementFormula::Of(op, inputs, place);
  if (!known->formula) return known;
  const Formula& formula = known->formula->formula();
  const WindowAxis window = WindowOf(op, inputs[axis_.input].layout.sizes, place.begin, axis_.axis);
  for (const Node list : known->formula->lists()) {
    std::vector<int64_t>& coordinates = known->coordinates[list];
    for (const auto& term : ElementsOfTerms(formula, list)) {
      const bool is_there = term && formula.tensor(*term) == axis_.input;
      coordinates.push_back(
          is_there ? (formula.index(*term)[axis_.axis] - window.origin) / window.step : -1);
    }
  }
  return known;
}

std::vector<VariedElement> OmittedTerms::Without(int64_t from, int64_t to, bool divides_by_all,
                                                 std::span<const int64_t> elements) const {
  constexpr int64_t kGrain = 16;
  std::vector<VariedElement> varied(elements.size());
  ParallelFor(std::ssize(elements), kGrain, 0, [&](int64_t begin, int64_t end) {
    for (auto i = static_cast<size_t>(begin); i < static_cast<size_t>(end); ++i) {
      const auto found = few_.find(elements[i]);
      const auto known = found != few_.end() ? found->second : Make(elements[i]);
      if (!known->formula) continue;
      const auto is_left_out = [&](Node list, size_t term) {
        const int64_t at = known->coordinates.at(list)[term];
        return at >= from && at < to;
      };
      const DoubleDouble value = known->formula->WithoutTerms(is_left_out, divides_by_all);
      varied[i] = {Stored(evidence_.actual.type, value), elements[i]};
    }
  });
  return varied;
}

}  // namespace dmlop
