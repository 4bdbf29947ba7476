// SPDX-License-Identifier: Apache-2.0
#include "core/judge/omitted_terms.h"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "core/arithmetic/element_formula.h"
#include "core/arithmetic/float_format.h"
#include "core/arithmetic/varied_values.h"
#include "core/base/parallel.h"
#include "core/engine/window/window_axis.h"

namespace dmlop {
namespace {

using Node = FormulaNode;

bool IsElement(const Formula& formula, Node node) {
  return formula.operation(node) == FormulaOperation::kElement;
}

// --- the elements that terms are told apart by ---------------------------------------------------

// The way from a term to an element that other terms have another one for: the places of operands.
using Path = std::vector<size_t>;

// Returns nothing if terms have the same elements of the input, or of all inputs.
std::optional<Path> PathBetween(const Formula& formula, Node a, Node b,
                                std::optional<size_t> input) {
  if (a == b) return std::nullopt;
  if (IsElement(formula, a) && IsElement(formula, b)) {
    const bool is_asked = !input || formula.tensor(a) == *input;
    return is_asked ? std::optional(Path()) : std::nullopt;
  }
  const auto ofs_a = formula.operands(a), ofs_b = formula.operands(b);
  if (formula.operation(a) != formula.operation(b)) return std::nullopt;
  for (size_t i = 0; i < std::min(ofs_a.size(), ofs_b.size()); ++i) {
    auto rest = PathBetween(formula, ofs_a[i], ofs_b[i], input);
    if (!rest) continue;
    rest->insert(rest->begin(), i);
    return rest;
  }
  return std::nullopt;
}

std::optional<Path> PathTo(const Formula& formula, Node term, size_t input) {
  if (IsElement(formula, term)) {
    return formula.tensor(term) == input ? std::optional(Path()) : std::nullopt;
  }
  const auto operands = formula.operands(term);
  for (size_t i = 0; i < operands.size(); ++i) {
    auto rest = PathTo(formula, operands[i], input);
    if (!rest) continue;
    rest->insert(rest->begin(), i);
    return rest;
  }
  return std::nullopt;
}

std::optional<Path> PathOf(const Formula& formula, std::span<const Node> terms,
                           std::optional<size_t> input) {
  constexpr size_t kTried = 8;
  if (terms.size() == 1 && input) return PathTo(formula, terms[0], *input);
  for (size_t i = 0; i + 1 < std::min(terms.size(), kTried); ++i) {
    if (auto path = PathBetween(formula, terms[i], terms[i + 1], input)) return path;
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

std::vector<std::optional<Node>> ElementsOfTerms(const Formula& formula, Node list,
                                                 std::optional<size_t> input = std::nullopt) {
  const auto terms = formula.operands(list);
  const auto path = PathOf(formula, terms, input);
  std::vector<std::optional<Node>> elements(terms.size());
  if (!path) return elements;
  std::ranges::transform(terms, elements.begin(),
                         [&](Node term) { return Follow(formula, term, *path); });
  return elements;
}

// --- windows -------------------------------------------------------------------------------------

template <typename T>
const T* FindValue(const OperatorDesc& op, std::string_view name) {
  for (size_t i = 0; i < op.fields().size(); ++i) {
    if (op.fields()[i]->name == name) return std::get_if<T>(&op.values()[i]);
  }
  return nullptr;
}

const std::vector<uint32_t>* FindNumbers(const OperatorDesc& op, std::string_view name) {
  return FindValue<std::vector<uint32_t>>(op, name);
}

// Returns a window whose first tap is at `origin`, for output 0 of its axis.
WindowAxis WindowFrom(int64_t origin, int64_t taps, int64_t dilation = 1) {
  return {.window = taps, .dilation = dilation, .start = -origin};
}

// The window around an element of an operator that has only one input, across its channels or
// within them; none along other axes.
std::optional<WindowAxis> WindowAround(const OperatorDesc& op, const Dims& element, size_t axis) {
  const auto* size = FindValue<uint32_t>(op, "LocalSize");
  const auto* is_across = FindValue<bool>(op, "CrossChannel");
  if (size == nullptr || is_across == nullptr) return std::nullopt;
  const bool is_in_window = *is_across ? axis == 1 : axis > 1;
  if (!is_in_window || TensorSlots(op, TensorRole::kInput).size() > 1) return std::nullopt;
  return WindowFrom(element[axis] - (int64_t{*size} - 1) / 2, *size);
}

// The last axes have windows, or there is one around an element; others are whole.
WindowAxis WindowOf(const OperatorDesc& op, const Dims& sizes, const Dims& element, size_t axis) {
  if (const auto around = WindowAround(op, element, axis)) return *around;
  const auto* windows = FindNumbers(op, "WindowSize");
  const auto* strides = FindNumbers(op, "Strides");
  const auto* start = FindNumbers(op, "StartPadding");
  const bool has_windows = windows != nullptr && strides != nullptr && start != nullptr &&
                           element.size() == sizes.size() && axis + windows->size() >= sizes.size();
  if (!has_windows) return WindowFrom(0, sizes[axis]);
  const size_t i = axis + windows->size() - sizes.size();
  const auto* dilations = FindNumbers(op, "Dilations");
  return WindowFrom(element[axis] * (*strides)[i] - (*start)[i], (*windows)[i],
                    dilations == nullptr ? 1 : (*dilations)[i]);
}

// Returns how many columns each head has in a row of all of them; none if an input has no such
// rows.
std::optional<int64_t> SizeOfHead(const Computation& computation, size_t input, size_t axis) {
  const OperatorDesc& op = computation.op;
  const std::string path = TensorSlots(op, TensorRole::kInput)[input].path;
  const Dims& sizes = computation.inputs[input].layout.sizes;
  if (axis + 1 != sizes.size() || (path != "QueryTensor" && path != "KeyTensor")) {
    return std::nullopt;
  }
  for (const std::string_view name :
       {"HeadCount", path == "QueryTensor" ? "QueryHeadCount" : "KeyValueHeadCount"}) {
    if (const auto* heads = FindValue<uint32_t>(op, name)) return sizes[axis] / *heads;
  }
  return std::nullopt;
}

// The columns of FOLD have all taps in one axis.
bool HasColumns(const OperatorDesc& op) {
  return FindNumbers(op, "WindowSizes") != nullptr;
}

// The axis of all taps that an input has: an image with windows, a filter, or columns.
std::optional<TermAxis> TapsOf(const Computation& computation, size_t input) {
  const OperatorDesc& op = computation.op;
  const Dims& sizes = computation.inputs[input].layout.sizes;
  const bool is_filter = TensorSlots(op, TensorRole::kInput)[input].path == "FilterTensor";
  const auto* windows = FindNumbers(op, HasColumns(op) ? "WindowSizes" : "WindowSize");
  if (is_filter) windows = FindNumbers(op, "Strides");
  if (windows == nullptr || windows->size() >= sizes.size()) return std::nullopt;
  TermAxis taps{input, sizes.size() - windows->size(), 1, /*is_of_taps=*/true};
  for (size_t i = 0; i < windows->size(); ++i) {
    taps.size *= is_filter ? sizes[taps.axis + i] : int64_t{(*windows)[i]};
  }
  if (HasColumns(op)) taps.axis = sizes.size() - 2;
  return taps;
}

void AddTaps(const Computation& computation, std::set<TermAxis>& axes) {
  for (size_t input = 0; input < computation.inputs.size(); ++input) {
    const auto taps = TapsOf(computation, input);
    if (taps && taps->size > 1) axes.insert(*taps);
  }
}

// The windows of an output element along all axes of an input.
std::vector<WindowAxis> WindowsOf(const Computation& computation, const Region& element,
                                  size_t input) {
  const Dims& sizes = computation.inputs[input].layout.sizes;
  std::vector<WindowAxis> windows;
  for (size_t d = 0; d < sizes.size(); ++d) {
    windows.push_back(WindowOf(computation.op, sizes, element.begin, d));
  }
  return windows;
}

// Tells where elements of an input are along an axis of the terms of an output element.
class TermCoordinates {
 public:
  TermCoordinates(const Computation& computation, const Region& element, const TermAxis& axis)
      : axis_(axis),
        windows_(WindowsOf(computation, element, axis.input)),
        has_columns_(HasColumns(computation.op)) {
    if (!axis.is_of_taps) head_ = SizeOfHead(computation, axis.input, axis.axis);
  }

  int64_t Of(const Dims& index) const {
    if (head_) return index[axis_.axis] % *head_;
    if (!axis_.is_of_taps) return Within(index, axis_.axis);
    if (has_columns_) return index[axis_.axis] % axis_.size;
    int64_t tap = 0;
    for (size_t d = axis_.axis; d < index.size(); ++d) {
      tap = tap * windows_[d].window + Within(index, d);
    }
    return tap;
  }

 private:
  int64_t Within(const Dims& index, size_t d) const {
    return (index[d] - windows_[d].Position(0, 0)) / windows_[d].dilation;
  }

  const TermAxis axis_;
  const std::vector<WindowAxis> windows_;
  const bool has_columns_;
  std::optional<int64_t> head_;
};

// The sizes of an input's axes; of one that has heads behind one another, that of a head.
std::vector<int64_t> LengthsOf(const Computation& computation, const Region& element,
                               size_t input) {
  std::vector<int64_t> lengths;
  for (const WindowAxis& axis : WindowsOf(computation, element, input)) {
    const auto head = SizeOfHead(computation, input, lengths.size());
    lengths.push_back(head.value_or(axis.window));
  }
  return lengths;
}

}  // namespace

std::vector<TermAxis> TermAxesOf(const Computation& computation, const Region& element,
                                 size_t most_nodes) {
  const auto made = ElementFormula::Of(computation.op, computation.inputs, element, most_nodes);
  if (!made || made->formula().WholeSize() > static_cast<int64_t>(most_nodes)) return {};
  const Formula& formula = made->formula();
  std::set<TermAxis> axes;
  std::map<size_t, std::vector<int64_t>> lengths;
  for (const Node list : made->lists()) {
    std::optional<Node> first;
    for (const auto& term : ElementsOfTerms(formula, list)) {
      if (!term) continue;
      if (!first) first = term;
      const size_t input = formula.tensor(*term);
      const Dims here = formula.index(*term), there = formula.index(*first);
      if (here == there) continue;
      auto& own = lengths[input];
      if (own.empty()) own = LengthsOf(computation, element, input);
      for (size_t d = 0; d < here.size(); ++d) {
        if (here[d] != there[d]) axes.insert({input, d, own[d]});
      }
    }
  }
  if (!axes.empty()) AddTaps(computation, axes);
  return {axes.begin(), axes.end()};
}

std::vector<int64_t> CoordinatesOfTerms(const Computation& computation, const Region& element,
                                        const Formula& formula, FormulaNode list,
                                        const TermAxis& axis, TermPath path) {
  const auto input = path == TermPath::kToInput ? std::optional(axis.input) : std::nullopt;
  const TermCoordinates along(computation, element, axis);
  std::vector<int64_t> coordinates;
  for (const auto& term : ElementsOfTerms(formula, list, input)) {
    const bool is_there = term && formula.tensor(*term) == axis.input;
    coordinates.push_back(is_there ? along.Of(formula.index(*term)) : -1);
  }
  return coordinates;
}

// The formula of some elements, and the coordinates of the terms of its lists.
struct OmittedTerms::Known {
  std::unique_ptr<ElementFormula> formula;
  std::map<Node, std::vector<int64_t>> coordinates{};
  std::vector<Node> lists{};      // that have terms along the axis, in rising order
  std::vector<Node> last{};       // those of them on which no other one depends
  std::vector<Node> depending{};  // all lists and what depends on them

  void FindLists() {
    for (const auto& [list, of_terms] : coordinates) {
      const auto terms = formula->formula().operands(list);
      const bool is_list = terms.size() > 1 || formula->formula().HasList(list);
      const bool is_along_axis = std::ranges::any_of(of_terms, [](int64_t at) { return at >= 0; });
      if (is_list && is_along_axis) lists.push_back(list);
    }
    FindLast();
  }

  // Goes from what depends to what it depends on.
  void FindLast() {
    std::vector<bool> is_needed(formula->last() + 1);  // by a list
    for (Node node = formula->last() + 1; node-- > 0;) {
      const bool is_list = std::ranges::binary_search(lists, node);
      if (is_list && !is_needed[node]) last.push_back(node);
      if (!is_list && !is_needed[node]) continue;
      for (const Node operand : formula->formula().operands(node)) is_needed[operand] = true;
    }
    std::ranges::sort(last);
  }

  // The operations of an element without a part.
  int64_t Work() const {
    int64_t work = 0;
    for (const Node node : depending) work += std::ssize(formula->formula().operands(node)) + 1;
    return work;
  }

  bool HasMeans() const {
    return std::ranges::any_of(formula->lists(), [&](Node list) { return formula->IsMean(list); });
  }

  ElementFormula::Results Without(const AxisPart& part, const OmissionKind& kind) const {
    const std::vector<Node>& shortened = kind.is_last ? last : lists;
    const auto left_of = [&](Node list) -> std::optional<std::vector<Node>> {
      if (!std::ranges::binary_search(shortened, list)) return std::nullopt;
      const auto terms = formula->formula().operands(list);
      const std::vector<int64_t>& of_terms = coordinates.at(list);
      std::vector<Node> left;
      for (size_t i = 0; i < terms.size(); ++i) {
        const int64_t at = of_terms[i];
        if (at < part.from || at >= part.to) left.push_back(terms[i]);
      }
      return left;
    };
    return formula->WithoutTerms(depending, left_of, kind.is_counted);
  }
};

OmittedTerms::OmittedTerms(const Evidence& evidence, const TermAxis& axis,
                           std::span<const int64_t> few)
    : evidence_(evidence), axis_(axis) {
  constexpr size_t kFirst[] = {0};
  for (const int64_t& element : few) {
    few_[element] = std::make_shared<Known>(KnownOf(QuestionOf({&element, 1}), kFirst));
  }
}

ElementQuestion OmittedTerms::QuestionOf(std::span<const int64_t> elements) const {
  const auto& [op, inputs, storage, sources] = evidence_.computation;
  return {op, inputs, evidence_.output, elements};
}

OmittedTerms::Known OmittedTerms::KnownOf(const ElementQuestion& question,
                                          std::span<const size_t> group) const {
  auto first = FormulaOfFirst(question, group);
  if (!first) return {};
  Known known{std::make_unique<ElementFormula>(std::move(first->formula), std::move(first->ends))};
  const std::vector<Node> lists = known.formula->lists();
  for (const Node list : lists) {
    known.coordinates[list] =
        CoordinatesOfTerms(evidence_.computation, question.At(group[0]), known.formula->formula(),
                           list, axis_, TermPathAlong(axis_));
  }
  known.FindLists();
  known.depending = known.formula->DependingOn(lists);
  return known;
}

int64_t OmittedTerms::WorkOfFew() const {
  int64_t work = 1;
  for (const auto& [element, known] : few_) {
    work = std::max(work, known->formula ? known->Work() : evidence_.formula_work);
  }
  return work;
}

std::vector<OmissionKind> OmittedTerms::Kinds() const {
  bool has_means = false, has_dependent = false;
  for (const auto& [element, known] : few_) {
    if (!known->formula) continue;
    has_means |= known->HasMeans();
    has_dependent |= known->last.size() < known->lists.size();
  }
  std::vector<OmissionKind> kinds;
  for (const bool is_last : {false, true}) {
    for (const bool is_counted : {false, true}) {
      const bool is_other = (!is_last || has_dependent) && (!is_counted || has_means);
      if (is_other) kinds.push_back({is_counted, is_last});
    }
  }
  return kinds;
}

std::vector<VariedElement> OmittedTerms::Without(const AxisPart& part, const OmissionKind& kind,
                                                 std::span<const int64_t> elements) const {
  if (!IsActivated(evidence_.computation.op, evidence_.output) || elements.empty()) {
    return OwnWithout(part, kind, elements);
  }
  const FusedElements fused(evidence_.computation.op, elements);
  std::vector<ElementBytes> own;
  for (const VariedElement& one : OwnWithout(part, kind, fused.needed())) {
    if (!one.is_known()) return std::vector<VariedElement>(elements.size());
    own.push_back(one.bytes);
  }
  std::vector<VariedElement> varied(elements.size());
  const std::vector<ElementBytes> values = fused.Of(own);
  for (size_t i = 0; i < varied.size(); ++i) varied[i] = {values[i], elements[i]};
  return varied;
}

std::vector<VariedElement> OmittedTerms::OwnWithout(const AxisPart& part, const OmissionKind& kind,
                                                    std::span<const int64_t> elements) const {
  constexpr int64_t kGrain = 4;
  std::vector<VariedElement> varied(elements.size());
  // Stores the elements at the first of some places, and returns how many.
  const auto store = [&](const Known& known, std::span<const size_t> places) -> size_t {
    if (!known.formula) return 1;
    const auto values = known.Without(part, kind);
    for (size_t k = 0; k < values.size(); ++k) {
      varied[places[k]] = {Stored(evidence_.actual.type, values[k]), elements[places[k]]};
    }
    return values.size();
  };
  const ElementQuestion question = QuestionOf(elements);
  const bool are_few = std::ranges::all_of(elements, [&](int64_t i) { return few_.contains(i); });
  // The taps of a window are others for each element.
  const bool are_alone = are_few || FindNumbers(question.op, "WindowSize") != nullptr;
  const ElementGroups groups(question, are_alone);
  ParallelFor(static_cast<int64_t>(groups.size()), kGrain, 0, [&](int64_t begin, int64_t end) {
    for (auto i = static_cast<size_t>(begin); i < static_cast<size_t>(end); ++i) {
      for (auto rest = groups[i]; !rest.empty();) {
        const auto found = few_.find(elements[rest[0]]);
        rest = rest.subspan(found != few_.end() ? store(*found->second, rest)
                                                : store(KnownOf(question, rest), rest));
      }
    }
  });
  return varied;
}

}  // namespace dmlop
