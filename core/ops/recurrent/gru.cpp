// SPDX-License-Identifier: Apache-2.0
// DML_GRU_OPERATOR_DESC: gated recurrent units; see engine/recurrent/cells.cpp.
#include "core/ops/recurrent/shared.h"

namespace dmlop::gru {
namespace {

using namespace recurrent;

constexpr auto kLinearBeforeReset = field::Bool("LinearBeforeReset");
constexpr const Field* kFields[] = {
    &kInputTensor,          &kWeightTensor,       &kRecurrenceTensor,
    &kBiasTensor,           &kHiddenInitTensor,   &kSequenceLengthsTensor,
    &kOutputSequenceTensor, &kOutputSingleTensor, &kActivationDescCount,
    &kActivationDescs,      &kDirection,          &kLinearBeforeReset};
constexpr NetworkKind kKind = {.gates = 3, .activations = 2};

template <typename T>
std::unique_ptr<Cell<T>> MakeCell(const OperatorDesc& op, const CellParameters& parameters) {
  return GruCell<T>(parameters, op[kLinearBeforeReset]);
}

constexpr CellMakers kMakers = {MakeCell<float>, MakeCell<Half>};

enum Gate : int64_t { kUpdate, kReset, kHidden };

void Append(const std::vector<FormulaNode>& more, std::vector<FormulaNode>& terms) {
  terms.insert(terms.end(), more.begin(), more.end());
}

// r * fl32(H R_h + Rb_h)
FormulaNode LinearPart(UnitStep& step, FormulaNode reset) {
  std::vector<FormulaNode> terms = step.HiddenProducts(kHidden, step.unit(), step.before().hidden);
  if (const auto bias = step.HiddenBias(kHidden, step.unit())) terms.push_back(*bias);
  return step.formula().Product({reset, step.SumOf("linear part", terms)});
}

// The products of the weights with all units' hidden states, each times its unit's reset gate.
std::vector<FormulaNode> ResetProducts(UnitStep& step, FormulaNode own_reset) {
  std::vector<FormulaNode> hidden;
  for (int64_t unit = 0; unit < step.units(); ++unit) {
    const FormulaNode reset =
        unit == step.unit()
            ? own_reset
            : step.Activated(0, step.Rounded(step.formula().Sum(step.Terms(kReset, unit))));
    const FormulaNode before = step.before().hidden[static_cast<size_t>(unit)];
    hidden.push_back(step.Rounded(step.formula().Product({reset, before})));
  }
  return step.HiddenProducts(kHidden, step.unit(), hidden);
}

std::vector<FormulaNode> NewStateTerms(UnitStep& step, FormulaNode reset) {
  std::vector<FormulaNode> terms = step.InputProducts(kHidden, step.unit());
  if (const auto bias = step.InputBias(kHidden, step.unit())) terms.push_back(*bias);
  if (step.op()[kLinearBeforeReset]) {
    terms.push_back(LinearPart(step, reset));
    return terms;
  }
  Append(ResetProducts(step, reset), terms);
  if (const auto bias = step.HiddenBias(kHidden, step.unit())) terms.push_back(*bias);
  return terms;
}

// As the cell computes it, for one unit.
UnitStates Cell(UnitStep& step, bool) {
  Formula& formula = step.formula();
  const auto gate = [&](std::string_view name, Gate number) {
    const FormulaNode sum = step.SumOf(name, step.Terms(number, step.unit()));
    return step.Named(name, step.Activated(0, sum));
  };
  const FormulaNode update = gate("update gate", kUpdate);
  const FormulaNode reset = gate("reset gate", kReset);
  const FormulaNode sum = step.SumOf("new state", NewStateTerms(step, reset));
  const FormulaNode added = step.Named("new state", step.Activated(1, sum));
  const FormulaNode rest = formula.Difference(formula.Number(1.0), update);
  const FormulaNode hidden =
      formula.Sum({formula.Product({rest, added}), formula.Product({update, step.own_hidden()})});
  return {.hidden = hidden, .memory = 0, .rounded_memory = 0};
}

constexpr OperatorInfo kOperators[] = {
    Granting(NetworkTolerance<6, 3>, Network<kKind, kMakers, Cell>("GRU", kFields)),
};

}  // namespace

extern const std::span<const OperatorInfo> kOperatorRows = kOperators;

}  // namespace dmlop::gru
