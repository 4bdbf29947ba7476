// SPDX-License-Identifier: Apache-2.0
// Sizes of queries, keys, values and the tensors that belong to them.

#include "core/fuzz/named_fields.h"
#include "core/fuzz/rows.h"

namespace dmlop {
namespace attention_rows {
namespace {

class Drawer {
 public:
  Drawer(const DescEntropy& from, OperatorDesc& op) : from_(from), op_(op) {}

  void Draw() {
    const bool is_grouped = op_.name() == "MULTIHEAD_ATTENTION1";
    const uint32_t form = Number(0, 4);
    const bool are_stacked = form == 1 || form == 3;
    batches_ = Number(1, 3);
    queries_ = from_.SmallSize(4, 33);
    fresh_ = are_stacked ? queries_ : form == 4 ? 0 : from_.SmallSize(5, 33);
    key_heads_ = from_.SmallSize(2, 5);
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
