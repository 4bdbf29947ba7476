// SPDX-License-Identifier: Apache-2.0
// DML_LSTM_OPERATOR_DESC: long short-term memory; see engine/recurrent/cells.cpp.
#include "core/ops/recurrent/shared.h"

namespace dmlop::lstm {
namespace {

using namespace recurrent;

constexpr auto kClipThreshold = field::Float("ClipThreshold");
constexpr auto kUseClipThreshold = field::Bool("UseClipThreshold");
constexpr auto kCoupleInputForget = field::Bool("CoupleInputForget");
constexpr const Field* kFields[] = {
    &kInputTensor,          &kWeightTensor,       &kRecurrenceTensor,       &kBiasTensor,
    &kHiddenInitTensor,     &kCellMemInitTensor,  &kSequenceLengthsTensor,  &kPeepholeTensor,
    &kOutputSequenceTensor, &kOutputSingleTensor, &kOutputCellSingleTensor, &kActivationDescCount,
    &kActivationDescs,      &kDirection,          &kClipThreshold,          &kUseClipThreshold,
    &kCoupleInputForget};
constexpr NetworkKind kKind = {.gates = 4, .activations = 3};

void Infer(const OperatorDesc& op, Inference& infer) {
  InferNetwork(kKind, op, infer);
  if (!op[kUseClipThreshold]) return;
  infer.Require(op[kClipThreshold] >= 0, "LSTM-3", At(kClipThreshold), "{} is not at least 0",
                op[kClipThreshold]);
}

template <typename T>
std::unique_ptr<Cell<T>> MakeCell(const OperatorDesc& op, const CellParameters& parameters) {
  LstmOptions options{.clip = std::nullopt, .couples = op[kCoupleInputForget]};
  if (op[kUseClipThreshold]) options.clip = op[kClipThreshold];
  return LstmCell<T>(parameters, options);
}

constexpr CellMakers kMakers = {MakeCell<float>, MakeCell<Half>};

// As the cell computes it, for one unit.
class UnitFormula {
 public:
  explicit UnitFormula(UnitStep& step) : step_(step), formula_(step.formula()) {}

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

UnitStates Cell(UnitStep& step, bool memory_only) {
  return UnitFormula(step).States(memory_only);
}

constexpr OperatorInfo Lstm() {
  OperatorInfo info = Network<kKind, kMakers, Cell>("LSTM", kFields);
  info.infer = Infer;
  return Granting(NetworkTolerance<3, 1>, info);
}

constexpr OperatorInfo kOperators[] = {Lstm()};

}  // namespace

extern const std::span<const OperatorInfo> kOperatorRows = kOperators;

}  // namespace dmlop::lstm
