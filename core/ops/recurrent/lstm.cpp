// DML_LSTM_OPERATOR_DESC: long short-term memory, see engine/recurrent/lstm_cell.cpp.
#include "core/ops/hardware_tolerance.h"
#include "core/ops/recurrent/shared.h"

namespace dmlop::lstm {
namespace {

using namespace recurrent;

constexpr auto kClipThreshold =
    field::Float("ClipThreshold")
        .Means("The sums that go into activations are clipped to [-ClipThreshold, ClipThreshold].");
constexpr auto kUseClipThreshold =
    field::Bool("UseClipThreshold").Means("Whether anything is clipped.");
constexpr auto kCoupleInputForget =
    field::Bool("CoupleInputForget").Means("Whether the forget gate is 1 - the input gate.");
constexpr const Field* kFields[] = {
    &kInputTensor,          &kWeightTensor,       &kRecurrenceTensor,       &kBiasTensor,
    &kHiddenInitTensor,     &kCellMemInitTensor,  &kSequenceLengthsTensor,  &kPeepholeTensor,
    &kOutputSequenceTensor, &kOutputSingleTensor, &kOutputCellSingleTensor, &kActivationDescCount,
    &kActivationDescs,      &kDirection,          &kClipThreshold,          &kUseClipThreshold,
    &kCoupleInputForget};
constexpr NetworkKind kKind = {.gates = 4, .activations = 3};
constexpr Rule kRules[] = {kSizes,
                           kNotOwned,
                           kActivationCount,
                           kAnOutput,
                           kNetworkActivations,
                           kFusedHasNoTensors,
                           kFusedSteepness,
                           {"LSTM-3", "with UseClipThreshold, ClipThreshold is at least 0"}};

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

constexpr OperatorInfo kOperators[] = {
    {.name = "LSTM",
     .summary = "long short-term memory",
     .fields = kFields,
     .support = kSupport,
     .type_rule = "REC-1",
     .rules = kRules,
     .infer = Infer,
     .family = Network<kKind, kMakers>(),
     .values_choose = true,
     .implies_outputs = true,
     .hardware_tolerance = Ulp<1>},
};

}  // namespace

std::span<const OperatorInfo> Operators() {
  return kOperators;
}

}  // namespace dmlop::lstm
