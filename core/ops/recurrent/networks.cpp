// SPDX-License-Identifier: Apache-2.0
// The recurrent networks; see engine/recurrent/cells.cpp.
#include "core/ops/recurrent/network.h"

namespace dmlop::networks {
namespace {

using namespace recurrent;

// --- RNN -----------------------------------------------------------------------------------------

// DML_RNN_OPERATOR_DESC: a recurrent network with one gate; see engine/recurrent/cells.cpp.

constexpr auto kRnnFields =
    Fields(kInputTensor, kWeightTensor, kRecurrenceTensor, kBiasTensor, kHiddenInitTensor,
           kSequenceLengthsTensor, kOutputSequenceTensor, kOutputSingleTensor, kActivationDescCount,
           kActivationDescs, kDirection);
constexpr NetworkKind kRnn = {.gates = 1, .activations = 1};

template <typename T>
std::unique_ptr<Cell<T>> MakeRnn(const OperatorDesc&, const CellParameters& parameters) {
  return RnnCell<T>(parameters);
}

constexpr CellMakers kRnnMakers = {MakeRnn<float>, MakeRnn<Half>};

UnitStates RnnUnit(UnitStep& step, bool) {
  const FormulaNode sum = step.SumOf("gate", step.Terms(0, step.unit()));
  return {.hidden = step.Activated(0, sum), .memory = 0, .rounded_memory = 0};
}

// --- GRU -----------------------------------------------------------------------------------------

// DML_GRU_OPERATOR_DESC: gated recurrent units; see engine/recurrent/cells.cpp.

constexpr auto kLinearBeforeReset = field::Bool("LinearBeforeReset");
constexpr auto kGruFields =
    Fields(kInputTensor, kWeightTensor, kRecurrenceTensor, kBiasTensor, kHiddenInitTensor,
           kSequenceLengthsTensor, kOutputSequenceTensor, kOutputSingleTensor, kActivationDescCount,
           kActivationDescs, kDirection, kLinearBeforeReset);
constexpr NetworkKind kGru = {.gates = 3, .activations = 2};

template <typename T>
std::unique_ptr<Cell<T>> MakeGru(const OperatorDesc& op, const CellParameters& parameters) {
  return GruCell<T>(parameters, op[kLinearBeforeReset]);
}

constexpr CellMakers kGruMakers = {MakeGru<float>, MakeGru<Half>};

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

// Computes for one unit what the cell does.
UnitStates GruUnit(UnitStep& step, bool) {
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

// --- LSTM ----------------------------------------------------------------------------------------

// DML_LSTM_OPERATOR_DESC: long short-term memory; see engine/recurrent/cells.cpp.

constexpr auto kClipThreshold = field::Float("ClipThreshold");
constexpr auto kUseClipThreshold = field::Bool("UseClipThreshold");
constexpr auto kCoupleInputForget = field::Bool("CoupleInputForget");
constexpr auto kLstmFields =
    Fields(kInputTensor, kWeightTensor, kRecurrenceTensor, kBiasTensor, kHiddenInitTensor,
           kCellMemInitTensor, kSequenceLengthsTensor, kPeepholeTensor, kOutputSequenceTensor,
           kOutputSingleTensor, kOutputCellSingleTensor, kActivationDescCount, kActivationDescs,
           kDirection, kClipThreshold, kUseClipThreshold, kCoupleInputForget);
constexpr NetworkKind kLstm = {.gates = 4, .activations = 3};

void InferLstm(const OperatorDesc& op, Inference& infer) {
  InferNetwork(kLstm, op, infer);
  if (!op[kUseClipThreshold]) return;
  infer.Require(op[kClipThreshold] >= 0, "LSTM-3", At(kClipThreshold), "{} is not at least 0",
                op[kClipThreshold]);
}

template <typename T>
std::unique_ptr<Cell<T>> MakeLstm(const OperatorDesc& op, const CellParameters& parameters) {
  LstmOptions options{.clip = std::nullopt, .couples = op[kCoupleInputForget]};
  if (op[kUseClipThreshold]) options.clip = op[kClipThreshold];
  return LstmCell<T>(parameters, options);
}

constexpr CellMakers kLstmMakers = {MakeLstm<float>, MakeLstm<Half>};

// Computes for one unit what the cell does.
class LstmFormula {
 public:
  explicit LstmFormula(UnitStep& step) : step_(step), formula_(step.formula()) {}

  UnitStates States(bool memory_only) {
    const FormulaNode memory = step_.before().memory;
    const FormulaNode input = Gate("input gate", {kInput, 0, 0}, memory);
    const FormulaNode forget = step_.op()[kCoupleInputForget]
                                   ? Coupled(input)
                                   : Gate("forget gate", {kForget, 0, 2}, memory);
    const FormulaNode added = Gate("new memory", {kMemory, 1, std::nullopt}, memory);
    const FormulaNode sum =
        formula_.Sum({formula_.Product({forget, memory}), formula_.Product({input, added})});
    if (memory_only) return {.hidden = 0, .memory = sum, .rounded_memory = 0};
    const FormulaNode rounded = step_.State("cell state", sum);
    const FormulaNode output = Gate("output gate", {kOutput, 0, 1}, rounded);
    return {formula_.Product({output, step_.Activated(2, rounded)}), sum, rounded};
  }

 private:
  enum Number : int64_t { kInput, kOutput, kForget, kMemory };
  struct GateKind {
    Number number;
    size_t activation;
    std::optional<int64_t> peephole;  // its number
  };

  FormulaNode Coupled(FormulaNode input) {
    return step_.Named("forget gate",
                       step_.Rounded(formula_.Difference(formula_.Number(1.0), input)));
  }

  FormulaNode Gate(std::string_view name, const GateKind& gate, FormulaNode memory) {
    std::vector<FormulaNode> terms = step_.Terms(gate.number, step_.unit());
    if (gate.peephole) {
      const auto weight = step_.OfUnit(kPeepholeTensor, *gate.peephole);
      if (weight) terms.push_back(formula_.Product({*weight, memory}));
    }
    const FormulaNode sum = Clipped(step_.SumOf(name, terms));
    return step_.Named(name, step_.Activated(gate.activation, sum));
  }

  FormulaNode Clipped(FormulaNode x) {
    if (!step_.op()[kUseClipThreshold]) return x;
    const double most = static_cast<double>(step_.op()[kClipThreshold]);
    return formula_.Apply(FormulaOperation::kClamp,
                          {x, formula_.Number(-most), formula_.Number(most)});
  }

  UnitStep& step_;
  Formula& formula_;
};

UnitStates LstmUnit(UnitStep& step, bool memory_only) {
  return LstmFormula(step).States(memory_only);
}

constexpr OperatorInfo Lstm() {
  OperatorInfo info = Network<kLstm, kLstmMakers, LstmUnit>("LSTM", kLstmFields);
  info.infer = InferLstm;
  return Granting(NetworkTolerance<3, 1>, info);
}

constexpr OperatorInfo kOperators[] = {
    Network<kRnn, kRnnMakers, RnnUnit>("RNN", kRnnFields),
    Granting(NetworkTolerance<6, 3>, Network<kGru, kGruMakers, GruUnit>("GRU", kGruFields)),
    Lstm(),
};

}  // namespace

extern const std::span<const OperatorInfo> kOperatorRows = kOperators;

}  // namespace dmlop::networks
