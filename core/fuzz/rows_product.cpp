// SPDX-License-Identifier: Apache-2.0
// Sizes for products and convolutions, for recurrent networks, and for attention.
#include <algorithm>
#include <array>
#include <optional>
#include <utility>

#include "core/fuzz/field_value.h"
#include "core/fuzz/random_desc.h"

namespace dmlop {
namespace {

bool HasTensor(const OperatorDesc& op, std::string_view name) {
  return std::ranges::count(TensorSlots(op), name, &TensorSlot::path) > 0;
}

void AddSomeTensors(const DescEntropy& from, OperatorDesc& op, DataType bias_type) {
  for (const Field* field : TensorFieldsOf(op.info())) {
    if (!field->optional || from.OneIn(2)) continue;
    op.AddTensor(*field);
    TensorDesc& added = std::get<TensorDesc>(ValueOf(op, field->name));
    if (field->name == "BiasTensor") {
      added.data_type = bias_type;
      continue;
    }
    for (const MutableTensorSlot& slot : TensorSlots(op)) {
      if (slot.type == field->type && slot.desc->data_type) added.data_type = slot.desc->data_type;
    }
  }
}

// One value, or one for each index of the dimension `from_last` before the last one.
Sizes ParameterSizes(const DescEntropy& from, size_t rank, size_t from_last, uint32_t count) {
  Sizes sizes(rank, 1);
  if (from.OneIn(2)) sizes[rank == 1 ? 0 : rank - 1 - from_last] = count;
  return sizes;
}

// A number that is set before the sizes are drawn stays.
uint32_t Groups(const OperatorDesc& op, uint32_t drawn) {
  const std::optional<int64_t> set = NumberAt(op, "GroupCount");
  return set && *set > 0 ? static_cast<uint32_t>(*set) : drawn;
}

// --- matrices of integers ------------------------------------------------------------------------

void DrawMatrices(const DescEntropy& from, const Sizes& sizes, OperatorDesc& op) {
  const DataType real = op.name() == "MATRIX_MULTIPLY_INTEGER_TO_FLOAT"
                            ? *Get<TensorDesc>(op, "AScaleTensor").data_type
                            : DataType::kFloat32;
  AddSomeTensors(from, op, real);
  Sizes a = sizes;
  const uint32_t most_matrices = from.OneIn(8) ? 9 : 3;
  for (size_t d = 0; d + 2 < a.size(); ++d) a[d] = std::min(a[d], most_matrices);
  const uint32_t longest = from.OneIn(4) ? 60 : 9;
  const uint32_t rows = from.Size(longest);
  const uint32_t columns = from.Size(longest);
  a[a.size() - 1] = from.Size(longest);
  a[a.size() - 2] = rows;
  Sizes b = a;
  b[b.size() - 2] = a.back();
  b.back() = columns;
  SetSizes(op, "ATensor", a);
  SetSizes(op, "BTensor", b);
  const size_t rank = from.OneIn(2) ? sizes.size() : from.Between(1, 4);
  for (const char* name :
       {"AScaleTensor", "AZeroPointTensor", "OutputScaleTensor", "OutputZeroPointTensor"}) {
    if (HasTensor(op, name)) SetSizes(op, name, ParameterSizes(from, rank, 1, rows));
  }
  for (const char* name : {"BScaleTensor", "BZeroPointTensor"}) {
    if (HasTensor(op, name)) SetSizes(op, name, ParameterSizes(from, rank, 0, columns));
  }
  if (!HasTensor(op, "BiasTensor")) return;
  b[b.size() - 2] = rows;
  SetSizes(op, "BiasTensor", b);
}

// --- convolutions of integers --------------------------------------------------------------------

// {1, O, 1, 1}, perhaps without leading or trailing 1s.
Sizes OutputSizes(const DescEntropy& from, size_t rank, uint32_t count) {
  Sizes sizes(rank, 1);
  if (from.OneIn(2)) sizes[rank == 1 || (rank < 4 && from.OneIn(2)) ? 0 : 1] = count;
  return sizes;
}

void DrawIntegerConvolution(const DescEntropy& from, const Sizes& sizes, OperatorDesc& op) {
  AddSomeTensors(from, op, DataType::kInt32);
  const size_t count = sizes.size() - 2;
  const uint32_t groups = Groups(op, from.Few(3, 12));
  const uint32_t most = groups > 3 ? 3 : 20;
  const uint32_t channels = from.SmallSize(3, most);
  const uint32_t outputs = groups * from.SmallSize(3, most);
  Sizes input = {from.Few(2, 5), groups * channels};
  Sizes filter = {outputs, channels};
  for (size_t d = 0; d < count; ++d) {
    input.push_back(from.SmallSize(8, 33));
    filter.push_back(from.Few(3, 9));
  }
  SetSizes(op, "InputTensor", input);
  SetSizes(op, "FilterTensor", filter);
  Set(op, "GroupCount", groups);
  Set(op, "Strides", from.Few(count, 3, 9));
  Set(op, "Dilations", from.Few(count, 3, 7));
  const uint64_t padding = from.OneIn(3) ? 0 : from.OneIn(4) ? 9 : 2;
  Set(op, "StartPadding", from.Numbers(count, 0, padding));
  Set(op, "EndPadding", from.Numbers(count, 0, padding));
  const size_t rank = from.Between(1, 4);
  for (const char* name :
       {"InputScaleTensor", "InputZeroPointTensor", "OutputScaleTensor", "OutputZeroPointTensor"}) {
    if (HasTensor(op, name)) SetSizes(op, name, Sizes(rank, 1));
  }
  for (const char* name : {"FilterScaleTensor", "FilterZeroPointTensor"}) {
    if (HasTensor(op, name)) SetSizes(op, name, OutputSizes(from, rank, outputs));
  }
  if (!HasTensor(op, "BiasTensor")) return;
  Sizes bias(sizes.size(), 1);
  bias[1] = outputs;
  SetSizes(op, "BiasTensor", bias);
}

// --- matrix products -----------------------------------------------------------------------------

// Draws sizes that match those of C and the output, sometimes with several chains of products.
void DrawGemm(const DescEntropy& from, const Sizes& sizes, OperatorDesc& op) {
  Sizes a = sizes;
  Sizes b = sizes;
  const size_t m = sizes.size() - 2;
  const size_t n = sizes.size() - 1;
  const uint32_t length = from.OneIn(20) ? from.Number(250, 600) : from.Size(64);
  a[n] = length;
  b[m] = length;
  if (Get<uint32_t>(op, "TransA") == 1) std::swap(a[m], a[n]);
  if (Get<uint32_t>(op, "TransB") == 1) std::swap(b[m], b[n]);
  SetSizes(op, "ATensor", a);
  SetSizes(op, "BTensor", b);
}

// Draws a filter that fits in the input and, sometimes, a larger output than necessary.
void DrawConvolution(const DescEntropy& from, const Sizes& sizes, OperatorDesc& op) {
  const size_t rank = sizes.size() - 2;
  const uint32_t groups = Groups(op, from.OneIn(3) ? from.Few(4, 16) : 1);
  const bool has_many = groups > 4;
  const bool is_forward = Get<uint32_t>(op, "Direction") == 0;
  Sizes input = sizes;
  input[1] = groups * from.SmallSize(has_many ? 2 : 4, has_many ? 4 : 40);
  const uint32_t outputs = from.SmallSize(3, has_many ? 4 : 32);
  Sizes filter = is_forward ? Sizes{outputs * groups, input[1] / groups} : Sizes{input[1], outputs};
  const Sizes kernel = from.Few(rank, rank > 2 ? 2 : 4, 9);
  const Sizes dilations = from.Few(rank, 3, 7);
  const uint64_t padding = from.OneIn(8) ? 9 : 3;
  Sizes paddings = from.Numbers(rank, 0, from.OneIn(2) ? 0 : padding);
  Sizes ends = from.Numbers(rank, 0, is_forward || from.OneIn(2) ? padding : 0);
  Sizes more(rank, 0);
  for (size_t d = 0; d < rank; ++d) {
    filter.push_back(kernel[d]);
    const uint32_t window = dilations[d] * (kernel[d] - 1) + 1;
    if (is_forward) {
      input[d + 2] = std::max(input[d + 2], window);
    } else if (paddings[d] + ends[d] >= window) {
      paddings[d] = 0;
      ends[d] = 0;
    }
    if (from.OneIn(4)) more[d] = from.Number(1, 3);
  }
  Set(op, "Strides", from.Few(rank, 4, 9));
  Set(op, "Dilations", dilations);
  Set(op, "StartPadding", paddings);
  Set(op, "EndPadding", ends);
  Set(op, "OutputPadding", more);
  Set(op, "GroupCount", groups);
  SetSizes(op, "InputTensor", input);
  SetSizes(op, "FilterTensor", filter);
  if (from.OneIn(2)) return op.Remove(*op.fields()[2]);
  Sizes bias(sizes.size(), 1);
  bias[1] = outputs * groups;
  SetSizes(op, "BiasTensor", bias);
}

// --- recurrent networks --------------------------------------------------------------------------

// Draws an activation whose results are exact to the last bit.
OperatorDesc DrawGateActivation(const DescEntropy& from) {
  const std::array names = {"ACTIVATION_SIGMOID",  "ACTIVATION_TANH",     "ACTIVATION_RELU",
                            "ACTIVATION_IDENTITY", "ACTIVATION_SOFTSIGN", "ACTIVATION_LEAKY_RELU"};
  OperatorDesc activation = ActivationNamed(from.OneOf(names));
  if (activation.name() == "ACTIVATION_LEAKY_RELU") Set(activation, "Alpha", from.Factor());
  return activation;
}

void DrawNetwork(const DescEntropy& from, const Sizes&, OperatorDesc& op) {
  const uint32_t gates = op.name() == "RNN" ? 1 : op.name() == "GRU" ? 3 : 4;
  const uint32_t steps = from.Few(3, 12);
  const uint32_t items = from.SmallSize(3, 18);
  const uint32_t inputs = from.SmallSize(5, 33);
  const uint32_t units = from.SmallSize(3, 18);
  const uint32_t directions = Get<uint32_t>(op, "Direction") == 2 ? 2 : 1;
  const uint32_t rows = gates * units;
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
  // RNN has one function, GRU two and LSTM three.
  const size_t activation_count = directions * std::max(gates - 1, 1u);
  std::vector<OperatorDesc> activations;
  while (activations.size() < activation_count) {
    activations.push_back(DrawGateActivation(from));
  }
  Set(op, "ActivationDescs", activations);
}

// --- attention -----------------------------------------------------------------------------------

// Draws sizes of queries, keys, values and the tensors that belong to them.
class AttentionDrawer {
 public:
  AttentionDrawer(const DescEntropy& from, OperatorDesc& op) : from_(from), op_(op) {}

  void Draw() {
    const bool is_grouped = op_.name() == "MULTIHEAD_ATTENTION1";
    const uint32_t form = from_.Number(0, 4);
    const bool are_stacked = form == 1 || form == 3;
    batches_ = from_.Few(3, 7);
    queries_ = from_.SmallSize(4, 33);
    fresh_ = are_stacked ? queries_ : form == 4 ? 0 : from_.SmallSize(5, 33);
    key_heads_ = from_.Few(2, 12);
    query_heads_ = is_grouped && !are_stacked ? key_heads_ * from_.Number(1, 2) : key_heads_;
    size_ = from_.SmallSize(5, 33);
    value_size_ = form == 0 || form == 1 || form == 4 ? from_.SmallSize(5, 33) : size_;
    DrawQueries(form);
    const bool has_past = form == 4 || from_.OneIn(2);
    past_ = has_past ? from_.SmallSize(3, 17) : 0;
    if (has_past) DrawPast();
    const bool has_lengths = is_grouped && from_.OneIn(2);
    if (has_lengths) {
      const DataType common = *Get<TensorDesc>(op_, "OutputTensor").data_type;
      TensorDesc lengths;
      lengths.sizes = Sizes{batches_};
      lengths.data_type = from_.OneIn(2) ? DataType::kInt32 : common;
      Set(op_, "PastSequenceLengthsTensor", lengths);
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
  uint32_t keys() const { return past_ + fresh_; }
  Sizes Cache(uint32_t size) const { return {batches_, key_heads_, keys(), size}; }

  void SetSizes(std::string_view tensor, const Sizes& sizes) {
    dmlop::SetSizes(op_, tensor, sizes);
  }

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
    const uint32_t type = from_.Number(0, 4);
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
  AttentionDrawer(from, op).Draw();
}

// --- all of them ---------------------------------------------------------------------------------

constexpr SizesRow kProductRows[] = {
    {"CONVOLUTION", DrawConvolution},
    {"CONVOLUTION_INTEGER", DrawIntegerConvolution},
    {"GEMM", DrawGemm},
    {"MATRIX_MULTIPLY_INTEGER", DrawMatrices},
    {"MATRIX_MULTIPLY_INTEGER_TO_FLOAT", DrawMatrices},
    {"QUANTIZED_LINEAR_CONVOLUTION", DrawIntegerConvolution},
    {"QUANTIZED_LINEAR_MATRIX_MULTIPLY", DrawMatrices},
    {"GRU", DrawNetwork},
    {"LSTM", DrawNetwork},
    {"RNN", DrawNetwork},
    {"MULTIHEAD_ATTENTION", DrawAttention, true},
    {"MULTIHEAD_ATTENTION1", DrawAttention, true},
};

}  // namespace

std::span<const SizesRow> ProductSizes() {
  return kProductRows;
}

}  // namespace dmlop
