// SPDX-License-Identifier: Apache-2.0
#include "core/explain/calculation.h"

#include <fmt/format.h>

#include "core/base/progress.h"
#include "core/ops/families.h"
#include "core/ops/fused.h"

namespace dmlop {
namespace {

constexpr std::string_view kRuleNames[] = {"exact",        "nearest",   "tie-to-even", "overflow",
                                           "within-bound", "nan",       "infinity",    "zero-sign",
                                           "modulo",       "extreme",   "first",       "last",
                                           "only-nan",     "truncated", "clamped",     "too-long"};

// A question about an output element.
struct Question {
  const OperatorDesc& op;
  InputViews inputs;
  const Element& output;
  ListLength length;

  Region place() const {
    return {output.tensor, output.index, Dims::Filled(output.index.size(), 1)};
  }
  DataType type() const {
    return *TensorSlots(op, TensorRole::kOutput)[output.tensor].desc->data_type;
  }
};

Calculation TooLong() {
  Calculation calculation;
  calculation.rule = ValueRule::kTooLong;
  calculation.reason =
      fmt::format("made of more than {} parts, which are not told", Formula::kMostNodes);
  return calculation;
}

// The engine's own result.
ElementBytes ValueOf(const Question& question) {
  alignas(8) ElementBytes value{};
  const Region place = question.place();
  RunPart(question.op, question.inputs, place,
          {value.data(), question.type(), PackedLayout(place.sizes)});
  return value;
}

Outcome Unfused(const Question& question) {
  Outcome outcome{ValueOf(question), std::nullopt};
  Formula formula(question.inputs);
  if (const auto last = FormulaOf(question.op, question.place(), formula)) {
    std::vector<std::string> inputs;
    for (const TensorSlot& slot : TensorSlots(question.op, TensorRole::kInput)) {
      inputs.push_back(DisplayName(slot.path));
    }
    outcome.calculation = ExplainFormula(formula, *last, std::move(inputs), question.type(),
                                         outcome.value, question.length);
  } else if (formula.is_too_long()) {
    outcome.calculation = TooLong();
  }
  return outcome;
}

// Explains an activation of results that the host computes by itself, as of a whole row. Dimensions
// along which it does not look at all of them have one, whatever the index.
std::optional<Calculation> ExplainActivation(const OperatorDesc& activation, const Question& host,
                                             const ElementBytes& value) {
  const Region seen = *SourcesOf(activation)[0](host.place());
  Layout layout = PackedLayout(seen.sizes);
  std::vector<ElementBytes> bytes(static_cast<size_t>(layout.element_count()));
  auto* const data = reinterpret_cast<std::byte*>(bytes.data());
  RunPart(host.op, host.inputs, seen, {data, host.type(), layout});
  for (size_t d = 0; d < seen.sizes.size(); ++d) {
    if (seen.sizes[d] == 1) layout.strides[d] = 0;
  }
  const ConstTensorView input{data, host.type(), layout};
  Formula formula({&input, 1});
  const auto last = FormulaOf(activation, host.place(), formula);
  if (!last) return std::nullopt;
  return ExplainFormula(formula, *last, {"own result"}, host.type(), value, host.length);
}

Outcome Activated(const Question& question) {
  const OperatorDesc activation = *FusedAlone(question.op);
  const OperatorDesc alone = WithoutActivation(question.op);
  const Question host{alone, question.inputs, question.output, question.length};
  const Outcome own = Unfused(host);
  Outcome outcome{ValueOf(question), own.calculation};
  outcome.activation = {activation.name(), own.value,
                        ExplainActivation(activation, host, outcome.value)};
  return outcome;
}

}  // namespace

std::string_view Name(ValueRule rule) {
  return kRuleNames[static_cast<size_t>(rule)];
}

Outcome Calculate(const OperatorDesc& op, InputViews inputs, const Element& output,
                  ListLength length) {
  const Work work("explaining");  // how often elements are looked at depends on them
  const Question question{op, inputs, output, length};
  const bool is_activated = output.tensor == 0 && FusedActivationOf(op) != nullptr;
  return is_activated ? Activated(question) : Unfused(question);
}

}  // namespace dmlop
