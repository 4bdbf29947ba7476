// What RNN, LSTM and GRU share. Sizes: S steps, B items, I inputs, H units, D directions.
#pragma once

#include <span>
#include <vector>

#include "core/engine/recurrent/network.h"
#include "core/ops/inference.h"

namespace dmlop::recurrent {

inline constexpr auto kWeightTensor = field::Input("WeightTensor");
inline constexpr auto kRecurrenceTensor = field::Input("RecurrenceTensor");
inline constexpr auto kBiasTensor = field::Optional(field::Input("BiasTensor"));
inline constexpr auto kHiddenInitTensor = field::Optional(field::Input("HiddenInitTensor"));
inline constexpr auto kCellMemInitTensor = field::Optional(field::Input("CellMemInitTensor"));
inline constexpr auto kSequenceLengthsTensor =
    field::Optional(field::Input("SequenceLengthsTensor", TypeVariable::kU));
inline constexpr auto kPeepholeTensor = field::Optional(field::Input("PeepholeTensor"));
inline constexpr auto kOutputSequenceTensor =
    field::Optional(field::Output("OutputSequenceTensor"));
inline constexpr auto kOutputSingleTensor = field::Optional(field::Output("OutputSingleTensor"));
inline constexpr auto kOutputCellSingleTensor =
    field::Optional(field::Output("OutputCellSingleTensor"));
inline constexpr auto kActivationDescCount = field::Count("ActivationDescCount");
inline constexpr auto kActivationDescs = field::Activations("ActivationDescs");
inline constexpr std::string_view kDirectionNames[] = {"FORWARD", "BACKWARD", "BIDIRECTIONAL"};
inline constexpr auto kDirection =
    field::Enum("Direction", {"DML_RECURRENT_NETWORK_DIRECTION_", kDirectionNames});

inline constexpr SupportRow kRows[] = {
    {Level(1, 0), 4, 4, {types::kFloats, {DataType::kUint32}}},
};
inline constexpr SupportTable kSupport[] = {{kRows}};

inline constexpr Rule kSizes = {
    "REC-1",
    "Sizes are {1, S, B, I} of the input, {1, D, n * H, I} of weights, {1, D, n * H, H} of "
    "recurrence, {1, 1, D, 2 * n * H} of the bias, {1, D, B, H} of states, {1, 1, 1, B} of "
    "lengths, "
    "{1, 1, D, 3 * H} of peepholes and {S, D, B, H} of the sequence, for n gates; all but the "
    "lengths agree in DataType"};
inline constexpr Rule kNotOwned = {"REC-3", "no input is OWNED_BY_DML"};
inline constexpr Rule kActivationCount = {
    "REC-4", "ActivationDescs has one entry for RNN, two for GRU, three for LSTM, times D"};
inline constexpr Rule kNetworkActivations = {
    "FUS-2", "ActivationDescs are activations that can be fused, SOFTMAX, LOG_SOFTMAX or HARDMAX"};
inline constexpr Rule kAnOutput = {"REC-8", "there is an output"};

// What an operator of the family is made of.
struct NetworkKind {
  uint32_t gates;
  uint32_t activations;
};

void InferNetwork(const NetworkKind& kind, const OperatorDesc& op, Inference& infer);

// Makes the cell for the parameters of a direction.
template <typename T>
using CellMaker = std::unique_ptr<Cell<T>> (*)(const OperatorDesc& op,
                                               const CellParameters& parameters);
struct CellMakers {
  CellMaker<float> of_float;
  CellMaker<Half> of_half;
};

void RunNetwork(const NetworkKind& kind, const CellMakers& makers, const OperatorDesc& op,
                InputViews inputs, OutputViews outputs);

std::vector<SourceMap> NetworkSources(const OperatorDesc& op);
std::vector<uint32_t> WholeNetwork(const OperatorDesc& op);
// Warns of lengths beyond that of the input (REC-9).
void WarnOfLengths(const OperatorDesc& op, InputViews inputs, Diagnostics& diagnostics);
int64_t NetworkOperations(const OperatorDesc& op);

template <const NetworkKind& kKind, const CellMakers& kMakers>
constexpr Custom Network() {
  return {.run = [](const OperatorDesc& op, InputViews inputs,
                    OutputViews outputs) { RunNetwork(kKind, kMakers, op, inputs, outputs); },
          .sources = NetworkSources,
          .whole = WholeNetwork,
          .warn = WarnOfLengths,
          .operations = NetworkOperations};
}

}  // namespace dmlop::recurrent
