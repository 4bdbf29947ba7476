// SPDX-License-Identifier: Apache-2.0
#include "core/ops/recurrent/network.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>
#include <variant>

#include "core/ops/fused.h"

namespace dmlop::recurrent {
namespace {

// Returns the activations of a direction, each as if it stood alone.
std::vector<OperatorDesc> ActivationsOf(const OperatorDesc& op, int64_t direction) {
  std::vector<OperatorDesc> all;
  ForEachActivation(op, [&](LoneActivation activation) { all.push_back(activation.op); });
  const auto count = static_cast<ptrdiff_t>(all.size() / op.sizes(kRecurrenceTensor)[1]);
  const auto first = all.begin() + direction * count;
  return {first, first + count};
}

bool IsOfElements(const OperatorDesc& activation) {
  return std::holds_alternative<ElementWise>(activation.info().family);
}

// The states of a unit, step by step.
class StatesOfUnit {
 public:
  StatesOfUnit(const NetworkKind& kind, const CellMakers& makers, const OperatorDesc& op,
               const UnitPlace& place, int64_t length, Formula& formula)
      : kind_(kind),
        makers_(makers),
        op_(op),
        place_(place),
        length_(length),
        is_backward_(IsBackward(op, place.direction)),
        formula_(formula) {}

  // The number of a step in the order of computation from its place in the sequence, and back.
  int64_t Turned(int64_t step) const { return is_backward_ ? length_ - 1 - step : step; }

  FormulaNode After(int64_t last, CellFormula cell, bool is_memory) {
    const std::vector<OperatorDesc> activations = ActivationsOf(op_, place_.direction);
    if (!std::ranges::all_of(activations, IsOfElements)) return GivenAfter(last, is_memory);
    int64_t step = std::max<int64_t>(0, last - StepsBefore());
    StateNodes states = Before(step);
    for (; step < last; ++step) {
      UnitStep unit(op_, place_, Turned(step), states, false, formula_);
      const UnitStates own = cell(unit, false);
      StateNodes next = Before(step + 1);
      next.hidden[static_cast<size_t>(place_.unit)] = unit.State("hidden state", own.hidden);
      next.memory = own.rounded_memory;
      states = std::move(next);
    }
    UnitStep unit(op_, place_, Turned(last), states, true, formula_);
    const UnitStates own = cell(unit, is_memory);
    return is_memory ? own.memory : own.hidden;
  }

 private:
  // Steps that are told in short. A cell may need gates of all units for one of them.
  int64_t StepsBefore() const {
    constexpr int64_t kMost = 2;
    const int64_t units = op_.sizes(kRecurrenceTensor)[3];
    const int64_t products = units * (units + op_.sizes(kInputTensor)[3]);
    constexpr auto kMostNodes = static_cast<int64_t>(Formula::kMostNodes);
    return products <= kMostNodes / (3 * (kMost + 1)) ? kMost : 0;
  }

  // The states after the next step are computed from those that are kept.
  const ItemStates& Computed(int64_t steps) {
    const bool goes_on = computed_steps_ > 0 && steps == computed_steps_ + 1;
    const int64_t count = goes_on ? 1 : steps;
    const int64_t begin = is_backward_ ? length_ - steps : steps - count;
    computed_ =
        StatesAfter(kind_, makers_, op_, formula_.inputs(),
                    {place_.direction, place_.item, begin, count}, goes_on ? &computed_ : nullptr);
    computed_steps_ = steps;
    return computed_;
  }

  FormulaNode GivenAfter(int64_t step, bool is_memory) {
    const ItemStates& states = Computed(step + 1);
    const double value =
        (is_memory ? states.memory : states.hidden)[static_cast<size_t>(place_.unit)];
    return formula_.Given(value, "state by activations of all units together");
  }

  StateNodes Before(int64_t step) {
    if (step == 0) return {Initial(kHiddenInitTensor), Initial(kCellMemInitTensor)[Unit()]};
    const ItemStates& states = Computed(step);
    const int64_t time = Turned(step - 1);
    StateNodes nodes{{}, Given("cell state", states.memory, Unit(), time)};
    for (size_t unit = 0; unit < states.hidden.size(); ++unit) {
      nodes.hidden.push_back(Given("hidden state", states.hidden, unit, time));
    }
    return nodes;
  }
  size_t Unit() const { return static_cast<size_t>(place_.unit); }

  FormulaNode Given(std::string_view name, const std::vector<double>& states, size_t unit,
                    int64_t time) {
    return formula_.Shared(
        formula_.Given(states[unit], fmt::format("{} of unit {} at step {}", name, unit, time)));
  }

  // All of them, of which an abridged list lacks some, since a step takes that of its own unit.
  std::vector<FormulaNode> Initial(const Field& tensor) {
    const int64_t units = op_.sizes(kRecurrenceTensor)[3];
    const auto input = NumberInRole(op_, tensor);
    if (!input) return std::vector<FormulaNode>(static_cast<size_t>(units), formula_.Number(0.0));
    const auto from = [&](int64_t unit, int64_t count) {
      return Region{*input, {0, place_.direction, place_.item, unit}, {1, 1, 1, count}};
    };
    std::vector<FormulaNode> states = formula_.Elements(from(0, units));
    while (std::ssize(states) < units) {
      states.push_back(formula_.Element(from(std::ssize(states), 1)));
    }
    return states;
  }

  const NetworkKind& kind_;
  const CellMakers& makers_;
  const OperatorDesc& op_;
  UnitPlace place_;
  int64_t length_;
  bool is_backward_;
  Formula& formula_;
  ItemStates computed_;
  int64_t computed_steps_ = 0;  // that these come after; 0: none
};

}  // namespace

// --- a step --------------------------------------------------------------------------------------

UnitStep::UnitStep(const OperatorDesc& op, const UnitPlace& place, int64_t time,
                   const StateNodes& before, bool tells_sums, Formula& formula)
    : op_(op),
      place_(place),
      time_(time),
      before_(before),
      tells_sums_(tells_sums),
      formula_(formula),
      input_(formula.Elements(
          {0, {0, time, place.item, 0}, {1, 1, 1, int64_t{op.sizes(kInputTensor)[3]}}})) {}

std::vector<FormulaNode> UnitStep::Products(const Field& weights, int64_t row,
                                            const std::vector<FormulaNode>& factors) {
  const Region region{*NumberInRole(op_, weights),
                      {0, place_.direction, row, 0},
                      {1, 1, 1, static_cast<int64_t>(factors.size())}};
  const std::vector<FormulaNode> elements = formula_.Elements(region);
  std::vector<FormulaNode> products;
  for (size_t i = 0; i < elements.size(); ++i) {
    products.push_back(formula_.Product({factors[i], elements[i]}));
  }
  return products;
}

std::vector<FormulaNode> UnitStep::InputProducts(int64_t gate, int64_t unit) {
  return Products(kWeightTensor, gate * units() + unit, input_);
}

std::vector<FormulaNode> UnitStep::HiddenProducts(int64_t gate, int64_t unit,
                                                  const std::vector<FormulaNode>& hidden) {
  return Products(kRecurrenceTensor, gate * units() + unit, hidden);
}

std::optional<FormulaNode> UnitStep::Bias(int64_t half, int64_t gate, int64_t unit) {
  const auto input = NumberInRole(op_, kBiasTensor);
  if (!input) return std::nullopt;
  const int64_t size = int64_t{op_.sizes(kBiasTensor)[3]} / 2;
  return formula_.Element(
      {*input, {0, 0, place_.direction, half * size + gate * units() + unit}, {1, 1, 1, 1}});
}

std::vector<FormulaNode> UnitStep::Terms(int64_t gate, int64_t unit) {
  std::vector<FormulaNode> terms = InputProducts(gate, unit);
  const std::vector<FormulaNode> rest = HiddenProducts(gate, unit, before_.hidden);
  terms.insert(terms.end(), rest.begin(), rest.end());
  for (const auto& bias : {InputBias(gate, unit), HiddenBias(gate, unit)}) {
    if (bias) terms.push_back(*bias);
  }
  return terms;
}

std::optional<FormulaNode> UnitStep::OfUnit(const Field& tensor, int64_t part) {
  const auto input = NumberInRole(op_, tensor);
  if (!input) return std::nullopt;
  return formula_.Element(
      {*input, {0, 0, place_.direction, part * units() + place_.unit}, {1, 1, 1, 1}});
}

FormulaNode UnitStep::State(std::string_view name, FormulaNode x) {
  return Named(name, formula_.Rounded(formula_.inputs()[0].type, x));
}

FormulaNode UnitStep::SumOf(std::string_view name, const std::vector<FormulaNode>& terms) {
  const FormulaNode sum = formula_.Sum(terms);
  return Rounded(tells_sums_ ? Named(fmt::format("sum of the {}", name), sum) : sum);
}

FormulaNode UnitStep::Activated(size_t activation, FormulaNode x) {
  const OperatorDesc op = ActivationsOf(op_, place_.direction)[activation];
  const auto activated = FormulaOfActivation(op, x, formula_);
  return activated ? Rounded(*activated) : formula_.Unknown();
}

FormulaNode UnitStep::Named(std::string_view name, FormulaNode x) {
  return formula_.Named(fmt::format("{} at step {}", name, time_), x);
}

// --- all steps -----------------------------------------------------------------------------------

FormulaNode FormulaOfState(const NetworkKind& kind, const CellMakers& makers, CellFormula cell,
                           const OperatorDesc& op, const Region& element, Formula& formula) {
  const Field* const output = TensorSlots(op, TensorRole::kOutput)[element.tensor].field;
  const UnitPlace place{element.begin[1], element.begin[2], element.begin[3]};
  const int64_t length = LengthOf(op, formula.inputs(), place.item);
  if (length == 0) return formula.Given(0, "state of an item without steps");
  const bool is_sequence = output == &kOutputSequenceTensor;
  if (is_sequence && element.begin[0] >= length) return formula.Given(0, "behind the last step");
  StatesOfUnit states(kind, makers, op, place, length, formula);
  const int64_t last = is_sequence ? states.Turned(element.begin[0]) : length - 1;
  return states.After(last, cell, output == &kOutputCellSingleTensor);
}

}  // namespace dmlop::recurrent
