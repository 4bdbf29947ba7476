// DML_GRU_OPERATOR_DESC: gated recurrent units, see engine/recurrent/gru_cell.cpp.
#include "core/ops/hardware_tolerance.h"
#include "core/ops/recurrent/shared.h"

namespace dmlop::gru {
namespace {

using namespace recurrent;

constexpr auto kLinearBeforeReset =
    field::Bool("LinearBeforeReset")
        .Means(
            "Whether the reset gate multiplies what the weights make of the hidden state, or the "
            "hidden state itself.");
constexpr const Field* kFields[] = {
    &kInputTensor,          &kWeightTensor,       &kRecurrenceTensor,
    &kBiasTensor,           &kHiddenInitTensor,   &kSequenceLengthsTensor,
    &kOutputSequenceTensor, &kOutputSingleTensor, &kActivationDescCount,
    &kActivationDescs,      &kDirection,          &kLinearBeforeReset};
constexpr NetworkKind kKind = {.gates = 3, .activations = 2};
constexpr Rule kRules[] = {kSizes,         kNotOwned,           kActivationCount,
                           kAnOutput,      kNetworkActivations, kFusedHasNoTensors,
                           kFusedSteepness};

void Infer(const OperatorDesc& op, Inference& infer) {
  InferNetwork(kKind, op, infer);
}

template <typename T>
std::unique_ptr<Cell<T>> MakeCell(const OperatorDesc& op, const CellParameters& parameters) {
  return GruCell<T>(parameters, op[kLinearBeforeReset]);
}

constexpr CellMakers kMakers = {MakeCell<float>, MakeCell<Half>};

constexpr OperatorInfo kOperators[] = {
    {.name = "GRU",
     .summary = "gated recurrent units",
     .fields = kFields,
     .support = kSupport,
     .type_rule = "REC-1",
     .rules = kRules,
     .infer = Infer,
     .family = Network<kKind, kMakers>(),
     .values_choose = true,
     .implies_outputs = true,
     .hardware_tolerance = Ulp<3>},
};

}  // namespace

std::span<const OperatorInfo> Operators() {
  return kOperators;
}

}  // namespace dmlop::gru
