// SPDX-License-Identifier: Apache-2.0
// Sizes and activations of recurrent networks.
#include <array>
#include <utility>

#include "core/fuzz/named_fields.h"
#include "core/fuzz/rows.h"

namespace dmlop {
namespace recurrent_rows {
namespace {

// Draws an activation whose results are exact to the last bit.
OperatorDesc DrawActivation(const DescEntropy& from) {
  const std::array names = {"ACTIVATION_SIGMOID",  "ACTIVATION_TANH",     "ACTIVATION_RELU",
                            "ACTIVATION_IDENTITY", "ACTIVATION_SOFTSIGN", "ACTIVATION_LEAKY_RELU"};
  OperatorDesc activation = OperatorNamed(from.OneOf(names));
  for (const Field* tensor : TensorFieldsOf(activation.info())) activation.Remove(*tensor);
  if (activation.name() == "ACTIVATION_LEAKY_RELU") Set(activation, "Alpha", from.Factor());
  return activation;
}

struct Network {
  uint32_t gates;
  size_t activations;
};

void DrawNetwork(const DescEntropy& from, const Network& network, OperatorDesc& op) {
  const uint32_t steps = from.Number(1, 3);
  const uint32_t items = from.SmallSize(3, 18);
  const uint32_t inputs = from.SmallSize(5, 33);
  const uint32_t units = from.SmallSize(3, 18);
  const uint32_t directions = Get<uint32_t>(op, "Direction") == 2 ? 2 : 1;
  const uint32_t rows = network.gates * units;
  const Sizes state = {1, directions, items, units};
  const std::array<std::pair<std::string_view, Sizes>, 11> tensors = {{
      {"InputTensor", {1, steps, items, inputs}},
      {"WeightTensor", {1, directions, rows, inputs}},
      {"RecurrenceTensor", {1, directions, rows, units}},
      {"BiasTensor", {1, 1, directions, 2 * rows}},
      {"HiddenInitTensor", state},
      {"CellMemInitTensor", state},
      {"SequenceLengthsTensor", {1, 1, 1, items}},
      {"PeepholeTensor", {1, 1, directions, 3 * units}},
      {"OutputSequenceTensor", {steps, directions, items, units}},
      {"OutputSingleTensor", state},
      {"OutputCellSingleTensor", state},
  }};
  const DataType type = *Get<TensorDesc>(op, "InputTensor").data_type;
  bool has_output = false;
  for (const Field* field : TensorFieldsOf(op.info())) {
    const bool is_output = field->role == TensorRole::kOutput;
    const bool is_last_chance = is_output && !has_output && field->name != "OutputSequenceTensor";
    if (field->optional && !is_last_chance && from.OneIn(2)) continue;
    op.AddTensor(*field);
    has_output |= is_output;
    TensorDesc& desc = std::get<TensorDesc>(ValueOf(op, field->name));
    desc.data_type = field->type == TypeVariable::kT ? type : DataType::kUint32;
    for (const auto& [name, sizes] : tensors) {
      if (name == field->name) desc.sizes = sizes;
    }
  }
  std::vector<OperatorDesc> activations;
  while (activations.size() < network.activations * directions) {
    activations.push_back(DrawActivation(from));
  }
  Set(op, "ActivationDescs", activations);
}

void DrawRnn(const DescEntropy& from, const Sizes&, OperatorDesc& op) {
  DrawNetwork(from, {1, 1}, op);
}
void DrawGru(const DescEntropy& from, const Sizes&, OperatorDesc& op) {
  DrawNetwork(from, {3, 2}, op);
}
void DrawLstm(const DescEntropy& from, const Sizes&, OperatorDesc& op) {
  DrawNetwork(from, {4, 3}, op);
}

constexpr SizesRow kRows[] = {{"GRU", DrawGru}, {"LSTM", DrawLstm}, {"RNN", DrawRnn}};

}  // namespace
}  // namespace recurrent_rows

std::span<const SizesRow> RecurrentSizes() {
  return recurrent_rows::kRows;
}

}  // namespace dmlop
