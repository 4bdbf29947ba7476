// SPDX-License-Identifier: Apache-2.0
// DML_RNN_OPERATOR_DESC: a recurrent network with one gate; see engine/recurrent/cells.cpp.
#include "core/ops/recurrent/shared.h"

namespace dmlop::rnn {
namespace {

using namespace recurrent;

constexpr const Field* kFields[] = {
    &kInputTensor,          &kWeightTensor,       &kRecurrenceTensor,
    &kBiasTensor,           &kHiddenInitTensor,   &kSequenceLengthsTensor,
    &kOutputSequenceTensor, &kOutputSingleTensor, &kActivationDescCount,
    &kActivationDescs,      &kDirection};
constexpr NetworkKind kKind = {.gates = 1, .activations = 1};

template <typename T>
std::unique_ptr<Cell<T>> MakeCell(const OperatorDesc&, const CellParameters& parameters) {
  return RnnCell<T>(parameters);
}

constexpr CellMakers kMakers = {MakeCell<float>, MakeCell<Half>};

UnitStates Cell(UnitStep& step, bool) {
  const FormulaNode sum = step.SumOf("gate", step.Terms(0, step.unit()));
  return {.hidden = step.Activated(0, sum), .memory = 0, .rounded_memory = 0};
}

constexpr OperatorInfo kOperators[] = {
    Network<kKind, kMakers, Cell>("RNN", kFields),
};

}  // namespace

extern const std::span<const OperatorInfo> kOperatorRows = kOperators;

}  // namespace dmlop::rnn
