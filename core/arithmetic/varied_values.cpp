// SPDX-License-Identifier: Apache-2.0
#include "core/arithmetic/varied_values.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <memory>
#include <numeric>
#include <utility>

#include "core/arithmetic/element_formula.h"
#include "core/arithmetic/sum_orders.h"
#include "core/base/parallel.h"
#include "core/ops/fused.h"

namespace dmlop {
namespace {

using Kind = ArithmeticKind;
using Elements = std::vector<ElementBytes>;

// --- elements that share a formula ---------------------------------------------------------------

// The number of the first element of each one's slice.
std::vector<int64_t> SlicesOf(const ElementQuestion& question) {
  const Layout numbers = PackedLayout(question.sizes);
  const auto dimensions = DimensionsOfSlices(question.op, numbers.rank());
  std::vector<int64_t> slices(question.elements.begin(), question.elements.end());
  if (!dimensions) return slices;
  for (int64_t& slice : slices) {
    Dims index = IndexOf(numbers.sizes, slice);
    for (const uint32_t d : *dimensions) index[d] = 0;
    slice = OffsetOf(numbers, index);
  }
  return slices;
}

// Returns whether all elements of a slice share their formula. Those of a question may be any of
// them, and windows may cover the whole slice from its middle but not from its ends.
bool AreShared(const ElementQuestion& question) {
  const auto dimensions = DimensionsOfSlices(question.op, question.sizes.size());
  if (!dimensions || question.elements.empty()) return false;
  Region slice = question.At(0);
  for (const uint32_t d : *dimensions) {
    slice.begin[d] = 0;
    slice.sizes[d] = question.sizes[d];
  }
  const int64_t count = slice.count();
  const auto element = [&](int64_t i) {
    return Region{slice.tensor, slice.IndexAt(i), Dims::Filled(slice.begin.size(), 1)};
  };
  const SliceFormula formula(question.op, question.inputs, question.At(0), Formula::kAbridged);
  return formula.IsSharedBy({element(0), element(count / 2), element(count - 1)}) &&
         formula.HasListThatStays();
}

}  // namespace

ElementQuestion::ElementQuestion(const OperatorDesc& asked, InputViews views, size_t number,
                                 std::span<const int64_t> some)
    : op(asked), inputs(views), output(number), elements(some) {
  const TensorDesc& desc = *TensorSlots(op, TensorRole::kOutput)[output].desc;
  type = *desc.data_type;
  sizes = Dims(desc.sizes->begin(), desc.sizes->end());
}

ElementGroups::ElementGroups(const ElementQuestion& question, bool are_alone)
    : order_(question.elements.size()) {
  std::iota(order_.begin(), order_.end(), size_t{0});
  begins_ = order_;
  if (are_alone) return;
  const auto slices = SlicesOf(question);
  std::ranges::stable_sort(order_, {}, [&](size_t i) { return slices[i]; });
  std::erase_if(begins_,
                [&](size_t k) { return k > 0 && slices[order_[k]] == slices[order_[k - 1]]; });
  if (size() == order_.size() || AreShared(question)) return;
  std::iota(order_.begin(), order_.end(), size_t{0});
  begins_ = order_;
}

std::optional<GroupFormula> FormulaOfFirst(const ElementQuestion& question,
                                           std::span<const size_t> group) {
  const Region first = question.At(group[0]);
  if (group.size() == 1) {
    Formula formula(question.inputs);
    const auto end = FormulaOf(question.op, first, formula);
    return end ? std::optional(GroupFormula{std::move(formula), {*end}}) : std::nullopt;
  }
  SliceFormula shared(question.op, question.inputs, first);
  if (!shared.last()) return std::nullopt;
  std::vector<FormulaNode> ends = {*shared.last()};
  for (const size_t place : group.subspan(1)) {
    const auto end = shared.Add(question.At(place));
    if (!end) break;
    ends.push_back(*end);
    if (*end - ends.front() > GroupFormula::kMostNodes) break;
  }
  return GroupFormula{shared.Release(), std::move(ends)};
}

namespace {

// Returns whether the formulas of the elements have all that a variation changes.
bool IsByFormula(const ElementQuestion& question, const ArithmeticVariation& variation) {
  const bool is_last = variation.kind == Kind::kLastOfEquals &&
                       (question.output > 0 || ChoosesFirstOfEquals(question.op));
  const bool is_in_order = variation.kind == Kind::kNanPasses && SelectsInOrder(question.op);
  return NeedsFormula(variation, question.type) && !is_last && !is_in_order;
}

// --- elements by their formulas ------------------------------------------------------------------

// Some groups side by side.
class Tile {
 public:
  static constexpr size_t kWidth = 8;

  explicit Tile(const ElementQuestion& question) : question_(question) {}

  bool IsFull() const { return parts_.size() == kWidth || nodes_ > GroupFormula::kMostNodes; }

  // Takes the first elements of a group, and returns how many.
  size_t Add(std::span<const size_t> group) {
    auto first = FormulaOfFirst(question_, group);
    if (!first) return 1;
    auto formula =
        std::make_unique<ElementFormula>(std::move(first->formula), std::move(first->ends));
    const size_t count = formula->count();
    nodes_ += formula->last();
    parts_.push_back({std::move(formula), group.first(count)});
    return count;
  }

  // Replaces the exact elements of some variations by their own.
  void Compute(std::span<const ArithmeticVariation> variations, std::span<Elements> all) {
    const bool are_side_by_side = AreSideBySide();
    const auto is_together = [&](const ArithmeticVariation& variation) {
      return variation.kind == Kind::kSums && are_side_by_side;
    };
    for (size_t v = 0; v < variations.size(); ++v) {
      if (is_together(variations[v])) ComputeSums(variations[v], all[v]);
    }
    ParallelFor(std::ssize(parts_), 1, 0, [&](int64_t begin, int64_t end) {
      for (auto i = static_cast<size_t>(begin); i < static_cast<size_t>(end); ++i) {
        for (size_t v = 0; v < variations.size(); ++v) {
          const ArithmeticVariation& variation = variations[v];
          if (!IsByFormula(question_, variation) || is_together(variation)) continue;
          ComputePart(variation, parts_[i], all[v]);
        }
      }
    });
  }

 private:
  // The terms of sums side by side, and their orders.
  struct SideBySide {
    std::vector<SumOrders<kWidth>::Column> columns{};
    std::optional<SumOrders<kWidth>> orders{};
  };
  using Results = ElementFormula::Results;

  struct Part {
    std::unique_ptr<ElementFormula> formula;
    std::span<const size_t> places;
  };

  void Store(const Part& part, const Results& values, std::span<ElementBytes> elements) const {
    for (size_t i = 0; i < values.size(); ++i) {
      elements[part.places[i]] = Stored(question_.type, values[i]);
    }
  }

  void ComputePart(const ArithmeticVariation& variation, const Part& part,
                   std::span<ElementBytes> elements) const {
    switch (variation.kind) {
      case Kind::kSums:
        return ComputeSumsAlone(variation, part, elements);
      case Kind::kTowardZero:
        return IsFloat(question_.type) ? RoundOtherwise(variation, part, elements)
                                       : Choose(variation, part, elements);
      case Kind::kThrough:
        return RoundOtherwise(variation, part, elements);
      case Kind::kSteps:
        return Store(part, part.formula->InSteps(variation), elements);
      case Kind::kProductRounded:
        if (const auto rounded = part.formula->WithRoundedProduct(RoundingOf(variation))) {
          Store(part, *rounded, elements);
        }
        return;
      default:
        Choose(variation, part, elements);
    }
  }

  // Elements in which nothing else is chosen are exact.
  void Choose(const ArithmeticVariation& variation, const Part& part,
              std::span<ElementBytes> elements) const {
    if (!ChoosesOther(variation, *part.formula)) return;
    const Elements chosen = ChosenElements(variation, *part.formula, question_.type);
    for (size_t i = 0; i < chosen.size(); ++i) elements[part.places[i]] = chosen[i];
  }

  // Products are rounded to the output's type, but in bfloat16 where results are files of that.
  FloatRounding RoundingOf(const ArithmeticVariation& variation) const {
    const bool is_half = question_.type == DataType::kFloat16;
    return FloatRounding(is_half ? FloatFormat::kFloat16 : variation.format);
  }

  void RoundOtherwise(const ArithmeticVariation& variation, const Part& part,
                      std::span<ElementBytes> elements) const {
    const Results exact = part.formula->exact();
    for (size_t i = 0; i < exact.size(); ++i) {
      ElementBytes& element = elements[part.places[i]];
      element = variation.kind == Kind::kThrough ? ThroughFloat32(exact[i])
                                                 : TowardZero(question_.type, element, exact[i]);
    }
  }

  // Long sums side by side with nothing would take as much time as with others.
  bool AreSideBySide() const {
    return parts_.size() > 1 && std::ranges::all_of(parts_, [](const Part& part) {
             return part.formula->sums().size() == 1;
           });
  }

  SumOrders<kWidth>& OrdersOf(const ArithmeticVariation& variation) {
    auto& [columns, orders] = terms_[{variation.terms, variation.addend == AddendOrder::kFirst}];
    if (orders) return *orders;
    for (size_t i = 0; i < parts_.size(); ++i) {
      const ElementFormula& formula = *parts_[i].formula;
      const std::vector<double> terms =
          OrderedTerms(question_.op, formula, formula.sums()[0], variation);
      if (terms.size() > columns.size()) columns.resize(terms.size());
      for (size_t k = 0; k < terms.size(); ++k) columns[k][i] = terms[k];
    }
    return orders.emplace(columns);
  }

  void ComputeSums(const ArithmeticVariation& variation, std::span<ElementBytes> elements) {
    const auto sums = OrdersOf(variation).SumOf(variation);
    for (size_t i = 0; i < parts_.size(); ++i) {
      const auto sum_of = [&](FormulaNode) { return sums[i]; };
      Store(parts_[i], parts_[i].formula->WithSums(variation, sum_of), elements);
    }
  }

  void ComputeSumsAlone(const ArithmeticVariation& variation, const Part& part,
                        std::span<ElementBytes> elements) const {
    ElementFormula& formula = *part.formula;
    if (formula.sums().empty()) return;
    const auto sum_of = [&](FormulaNode sum) {
      std::vector<SumOrders<1>::Column> terms;
      for (const double term : OrderedTerms(question_.op, formula, sum, variation)) {
        terms.push_back({term});
      }
      return SumOrders<1>(terms).SumOf(variation)[0];
    };
    Store(part, formula.WithSums(variation, sum_of), elements);
  }

  const ElementQuestion& question_;
  std::vector<Part> parts_;
  size_t nodes_ = 0;
  std::map<std::pair<TermOrder, bool>, SideBySide> terms_;  // with an addend before them, or not
};

// --- all kinds -----------------------------------------------------------------------------------

class VariedElements {
 public:
  VariedElements(const ElementQuestion& question, std::span<const ArithmeticVariation> variations)
      : question_(question), variations_(variations) {}

  std::vector<Elements> All() {
    const Elements exact = ElementsOf(Original(), question_.output, question_.elements);
    all_.assign(variations_.size(), exact);
    for (size_t v = 0; v < variations_.size(); ++v) ComputeOne(variations_[v], all_[v]);
    const auto is_by_formula = [&](const auto& v) { return IsByFormula(question_, v); };
    if (std::ranges::any_of(variations_, is_by_formula)) ComputeFormulas();
    for (size_t v = 0; v < variations_.size(); ++v) {
      if (ChangesOutputs(variations_[v])) ChangeOutputs(variations_[v], question_.type, all_[v]);
      if (variations_[v].kind != Kind::kNanPasses) continue;
      for (size_t i = 0; i < all_[v].size(); ++i) PassBitsOfNan(question_.At(i), all_[v][i]);
    }
    return std::move(all_);
  }

 private:
  Computation Original() const {
    return {question_.op, {question_.inputs.begin(), question_.inputs.end()}};
  }

  void ComputeOne(const ArithmeticVariation& variation, Elements& elements) {
    if (ChangesInputs(variation)) {
      const Computation changed =
          WithChangedInputs(Original(), variation, Factors(), question_.output, question_.elements);
      elements = variation.inputs == RoundedInputs::kWithComputed
                     ? WithRoundedFactors(changed, variation)
                     : ElementsOf(changed, question_.output, question_.elements);
    }
    if (variation.kind == Kind::kThrough && ConvertsThrough(question_.op, variation.format)) {
      elements = ElementsOf(WithConvertedInput(Original(), variation.format), question_.output,
                            question_.elements);
    }
    if (variation.kind == Kind::kLastOfEquals) ChooseLast(elements);
    if (variation.kind == Kind::kNanPasses && SelectsInOrder(question_.op)) {
      elements = SelectedNanFirst(Original(), question_.output, question_.elements);
    }
  }

  // A NaN that is passed on has the bits of the first one that the element is made of.
  void PassBitsOfNan(const Region& element, ElementBytes& bytes) const {
    if (!std::isnan(ValueOf(question_.type, bytes.data()))) return;
    const auto made = ElementFormula::Of(question_.op, question_.inputs, element);
    if (!made) return;
    const Formula& formula = made->formula();
    for (FormulaNode node = 0; node <= made->last(); ++node) {
      if (formula.operation(node) != FormulaOperation::kElement) continue;
      const ConstTensorView& input = question_.inputs[formula.tensor(node)];
      if (input.type != question_.type || !std::isnan(formula.ValueOf(node))) continue;
      const size_t width = ByteWidth(input.type);
      std::copy_n(input.data + formula.offset(node) * static_cast<int64_t>(width), width,
                  bytes.begin());
      return;
    }
  }

  // Computes what formulas do not tell: the places of an output, and operators that have none.
  void ChooseLast(Elements& elements) const {
    if (ChoosesFirstOfEquals(question_.op)) {
      elements = LastOfEquals(Original(), question_.output, question_.elements);
    } else if (question_.output > 0) {
      constexpr int64_t kGrain = 256;
      ParallelFor(std::ssize(elements), kGrain, 0, [&](int64_t begin, int64_t end) {
        for (auto i = static_cast<size_t>(begin); i < static_cast<size_t>(end); ++i) {
          const auto place = LastPlaceOfMaximum(question_.op, question_.inputs, question_.At(i));
          if (place) elements[i] = *place;
        }
      });
    }
  }

  // Factors that are computed from inputs, which have been rounded, are so, too.
  Elements WithRoundedFactors(const Computation& changed, const ArithmeticVariation& variation) {
    constexpr int64_t kGrain = 1;
    const FloatRounding rounding(variation.format, variation.mode);
    if (IsNetwork(changed.op)) {
      auto states =
          ElementsOfRoundedStates(changed, rounding, question_.output, question_.elements);
      return states ? *std::move(states)
                    : ElementsOf(changed, question_.output, question_.elements);
    }
    Elements elements(question_.elements.size());
    ParallelFor(std::ssize(elements), kGrain, 0, [&](int64_t begin, int64_t end) {
      for (auto i = static_cast<size_t>(begin); i < static_cast<size_t>(end); ++i) {
        const auto formula = ElementFormula::Of(changed.op, changed.inputs, question_.At(i));
        if (!formula) continue;
        elements[i] = Stored(question_.type, formula->WithRoundedFactors(rounding)[0]);
      }
    });
    return elements;
  }

  const std::vector<bool>& Factors() {
    if (!factors_) factors_ = FactorsOf(question_.op, question_.inputs, question_.output);
    return *factors_;
  }

  const ElementGroups& Groups() {
    if (!groups_) groups_.emplace(question_);
    return *groups_;
  }

  void ComputeFormulas() {
    const ElementGroups& groups = Groups();
    const auto count = static_cast<int64_t>(groups.size());
    ParallelFor(count, Tile::kWidth, 0, [&](int64_t begin, int64_t end) {
      std::optional<Tile> tile(std::in_place, question_);
      for (auto i = static_cast<size_t>(begin); i < static_cast<size_t>(end); ++i) {
        for (std::span<const size_t> rest = groups[i]; !rest.empty();) {
          rest = rest.subspan(tile->Add(rest));
          if (!tile->IsFull()) continue;
          tile->Compute(variations_, all_);
          tile.emplace(question_);
        }
      }
      tile->Compute(variations_, all_);
    });
  }

  const ElementQuestion& question_;
  std::span<const ArithmeticVariation> variations_;
  std::vector<Elements> all_;
  std::optional<ElementGroups> groups_;
  std::optional<std::vector<bool>> factors_;
};

std::vector<int64_t> Numbers(size_t count) {
  std::vector<int64_t> numbers(count);
  std::iota(numbers.begin(), numbers.end(), 0);
  return numbers;
}

}  // namespace

bool NeedsFormula(const ArithmeticVariation& variation, DataType type) {
  switch (variation.kind) {
    case Kind::kSums:
    case Kind::kProductRounded:
    case Kind::kSteps:
    case Kind::kTowardZero:
    case Kind::kNanPasses:
    case Kind::kStartsAtZero:
    case Kind::kLastOfEquals:
    case Kind::kSaturated:
    case Kind::kWrapped:
      return true;
    case Kind::kThrough:
      return variation.format == FloatFormat::kFloat32 && type == DataType::kFloat16;
    default:
      return false;
  }
}

std::vector<std::vector<ElementBytes>> ComputeVaried(
    const OperatorDesc& op, InputViews inputs, std::span<const ArithmeticVariation> variations,
    size_t output, std::span<const int64_t> elements) {
  if (elements.empty()) return std::vector<Elements>(variations.size());
  const ElementQuestion question(op, inputs, output, elements);
  if (!IsActivated(op, output)) return VariedElements(question, variations).All();
  const FusedElements fused(op, elements);
  std::vector<Elements> all =
      ComputeVaried(WithoutActivation(op), inputs, variations, output, fused.needed());
  for (size_t v = 0; v < variations.size(); ++v) all[v] = fused.Of(all[v], &variations[v]);
  return all;
}

std::vector<ElementBytes> ComputeVaried(const OperatorDesc& op, InputViews inputs,
                                        const ArithmeticVariation& variation, size_t output,
                                        std::span<const int64_t> elements) {
  return ComputeVaried(op, inputs, std::span(&variation, 1), output, elements)[0];
}

// --- fused activations ---------------------------------------------------------------------------

bool IsActivated(const OperatorDesc& op, size_t output) {
  return output == 0 && FusedActivationOf(op) != nullptr;
}

FusedElements::FusedElements(const OperatorDesc& host, std::span<const int64_t> elements)
    : activation_(*FusedAlone(host)), needed_(elements.begin(), elements.end()) {
  const TensorSlot output = TensorSlots(activation_, TensorRole::kOutput)[0];
  sizes_ = Dims(output.desc->sizes->begin(), output.desc->sizes->end());
  if (!RunsOnAnyPart(activation_)) {
    asked_ = std::exchange(needed_, Numbers(static_cast<size_t>(Product(sizes_))));
    return;
  }
  asked_ = Numbers(needed_.size());
  sizes_ = Dims::Filled(sizes_.size(), 1);
  sizes_.back() = std::ssize(needed_);
  for (const MutableTensorSlot& slot : TensorSlots(activation_)) {
    slot.desc->sizes->assign(sizes_.begin(), sizes_.end());
  }
}

Elements FusedElements::Of(const Elements& own, const ArithmeticVariation* variation) const {
  if (own.empty()) return {};
  const DataType type = OutputType({activation_, {}}, 0);
  const size_t width = ByteWidth(type);
  Buffer bytes(own.size() * width);
  for (size_t i = 0; i < own.size(); ++i) {
    std::copy_n(own[i].begin(), width, bytes.data() + i * width);
  }
  const ConstTensorView input{bytes.data(), type, PackedLayout(sizes_)};
  if (variation != nullptr && !IsOfOwnResult(variation->kind)) {
    return ComputeVaried(activation_, {&input, 1}, *variation, 0, asked_);
  }
  return ElementsOf({activation_, {input}}, 0, asked_);
}

}  // namespace dmlop
