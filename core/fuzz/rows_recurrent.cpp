// SPDX-License-Identifier: Apache-2.0
// Sizes and activations of recurrent networks.
#include <array>
#include <utility>

#include "core/fuzz/field_value.h"
#include "core/fuzz/random_desc.h"

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
  const uint32_t steps = from.Few(3, 12);
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

// --- attention -----------------------------------------------------------------------------------

// Sizes of queries, keys, values and the tensors that belong to them.

namespace attention_rows {
namespace {

class Drawer {
 public:
  Drawer(const DescEntropy& from, OperatorDesc& op) : from_(from), op_(op) {}

  void Draw() {
    const bool is_grouped = op_.name() == "MULTIHEAD_ATTENTION1";
    const uint32_t form = Number(0, 4);
    const bool are_stacked = form == 1 || form == 3;
    batches_ = from_.Few(3, 7);
    queries_ = from_.SmallSize(4, 33);
    fresh_ = are_stacked ? queries_ : form == 4 ? 0 : from_.SmallSize(5, 33);
    key_heads_ = from_.Few(2, 12);
    query_heads_ = is_grouped && !are_stacked ? key_heads_ * Number(1, 2) : key_heads_;
    size_ = from_.SmallSize(5, 33);
    value_size_ = form == 0 || form == 1 || form == 4 ? from_.SmallSize(5, 33) : size_;
    DrawQueries(form);
    const bool has_past = form == 4 || from_.OneIn(2);
    past_ = has_past ? from_.SmallSize(3, 17) : 0;
    if (has_past) DrawPast();
    const bool has_lengths = is_grouped && from_.OneIn(2);
    if (has_lengths) SetSizes("PastSequenceLengthsTensor", {batches_});
    if (has_lengths) {
      const DataType common = *Get<TensorDesc>(op_, "OutputTensor").data_type;
      Add("PastSequenceLengthsTensor").data_type = from_.OneIn(2) ? DataType::kInt32 : common;
    }
    if (from_.OneIn(3)) SetSizes("OutputPresentKeyTensor", Cache(size_));
    if (from_.OneIn(3)) SetSizes("OutputPresentValueTensor", Cache(value_size_));
    DrawScores();
    if (is_grouped) {
      Set(op_, "QueryHeadCount", query_heads_);
      Set(op_, "KeyValueHeadCount", key_heads_);
    } else {
      Set(op_, "HeadCount", key_heads_);
    }
  }

 private:
  uint32_t Number(uint64_t low, uint64_t high) const {
    return static_cast<uint32_t>(from_.Between(low, high));
  }

  uint32_t keys() const { return past_ + fresh_; }
  Sizes Cache(uint32_t size) const { return {batches_, key_heads_, keys(), size}; }

  TensorDesc& Add(std::string_view tensor) {
    for (const Field* field : TensorFieldsOf(op_.info())) {
      if (field->name == tensor && !op_.Has(*field)) op_.AddTensor(*field);
    }
    return std::get<TensorDesc>(ValueOf(op_, tensor));
  }
  void SetSizes(std::string_view tensor, const Sizes& sizes) { Add(tensor).sizes = sizes; }

  void DrawQueries(uint32_t form) {
    const Sizes queries = {batches_, queries_, query_heads_ * size_};
    switch (form) {
      case 0:
        SetSizes("QueryTensor", queries);
        SetSizes("KeyTensor", {batches_, fresh_, key_heads_ * size_});
        return SetSizes("ValueTensor", {batches_, fresh_, key_heads_ * value_size_});
      case 1:
        SetSizes("StackedQueryKeyTensor", {batches_, queries_, query_heads_, 2, size_});
        return SetSizes("ValueTensor", {batches_, fresh_, key_heads_ * value_size_});
      case 2:
        SetSizes("QueryTensor", {1, batches_, queries_, query_heads_ * size_});
        return SetSizes("StackedKeyValueTensor", {batches_, fresh_, key_heads_, 2, size_});
      case 3:
        return SetSizes("StackedQueryKeyValueTensor", {batches_, queries_, query_heads_, 3, size_});
      default:
        return SetSizes("QueryTensor", queries);
    }
  }

  void DrawPast() {
    SetSizes("PastKeyTensor", {batches_, key_heads_, past_, size_});
    SetSizes("PastValueTensor", {1, batches_, key_heads_, past_, value_size_});
  }

  void DrawScores() {
    const float scales[] = {0.5f, 1.0f, 0.125f, -1.0f};
    Set(op_, "Scale", from_.OneIn(10) ? RandomFactor(from_) : from_.OneOf(scales));
    const float filters[] = {-10000.0f, -1.0f, 3.0f};
    Set(op_, "MaskFilterValue", from_.OneIn(6) ? RandomFactor(from_) : from_.OneOf(filters));
    const Sizes all = {batches_, query_heads_, queries_, keys()};
    if (from_.OneIn(3)) SetSizes("RelativePositionBiasTensor", all);
    if (from_.OneIn(2)) {
      SetSizes("BiasTensor", {1, query_heads_ * size_ + key_heads_ * (size_ + value_size_)});
    }
    const Sizes masks[] = {{}, {1, batches_}, {2, batches_}, {3 * batches_ + 2}, all};
    const uint32_t type = Number(0, 4);
    Set(op_, "MaskType", type);
    if (type > 0) SetSizes("MaskTensor", masks[type]);
  }

  const DescEntropy& from_;
  OperatorDesc& op_;
  uint32_t batches_ = 0;
  uint32_t queries_ = 0;
  uint32_t fresh_ = 0;
  uint32_t past_ = 0;
  uint32_t query_heads_ = 0;
  uint32_t key_heads_ = 0;
  uint32_t size_ = 0;
  uint32_t value_size_ = 0;
};

void DrawAttention(const DescEntropy& from, const Sizes&, OperatorDesc& op) {
  Drawer(from, op).Draw();
}

constexpr SizesRow kRows[] = {
    {"MULTIHEAD_ATTENTION", DrawAttention, true},
    {"MULTIHEAD_ATTENTION1", DrawAttention, true},
};

}  // namespace
}  // namespace attention_rows

std::span<const SizesRow> AttentionSizes() {
  return attention_rows::kRows;
}

}  // namespace dmlop
