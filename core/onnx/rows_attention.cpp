// SPDX-License-Identifier: Apache-2.0
// Attention in the forms of ONNX and of com.microsoft.
#include <algorithm>
#include <cmath>
#include <limits>

#include "core/base/text.h"
#include "core/onnx/onnx_steps.h"

namespace dmlop::onnx_attention {
namespace {

// The numbers of an attention: of batch items, query heads, queries, and past and new keys.
struct Counts {
  int64_t batch, heads, queries, keys;

  OnnxSizes Scores() const { return {batch, heads, queries, keys}; }
};

int64_t HeadsOf(const OnnxCall& call, std::string_view attribute) {
  const int64_t heads = call.Int(attribute, 0);
  if (heads < 1 || heads > kMostSize) call.Refuse("ONX-3", "{} is {}", attribute, heads);
  return heads;
}

// The size of each head in rows of so many columns.
int64_t HeadSize(const OnnxCall& call, int64_t columns, int64_t heads) {
  if (columns % heads != 0) {
    call.Refuse("ONX-4", "{} cannot be split into {}", Counted(columns, "column"),
                Counted(heads, "head"));
  }
  return columns / heads;
}

// Returns how many keys and values a past of {batch, heads, keys, size} has, if it is given.
int64_t PastKeys(const OnnxCall& call, size_t input) {
  if (!call.Has(input)) return 0;
  RequireRank(call, call.In(input), 4);
  return call.In(input).sizes[2];
}

// Refuses inputs that are given though no descriptor takes them.
void RefuseInputs(const OnnxCall& call,
                  std::initializer_list<std::pair<size_t, std::string_view>> inputs) {
  for (const auto& [input, what] : inputs) {
    if (call.Has(input)) call.Refuse("ONX-3", "no DirectML operator has {}", what);
  }
}

// --- what is added to scores, and what masks them ------------------------------------------------

// A mask in one of the forms of com.microsoft: lengths of keys, or 0 where a key does not count.
void AddMask(const OnnxCall& call, size_t input, const Counts& counts, OnnxSettings& settings) {
  if (!call.Has(input)) return settings.emplace_back("MaskType", "NONE"), void();
  OnnxValue& mask = call.In(input);
  const int64_t count = CountOf(mask.sizes), b = counts.batch;
  const auto add = [&](std::string_view type, OnnxOperand operand) {
    settings.emplace_back("MaskType", type);
    settings.emplace_back("MaskTensor", std::move(operand));
  };
  if (mask.rank() == 1 && count == b) return add("KEY_SEQUENCE_LENGTH", Reshaped(mask, {1, b}));
  if (mask.rank() == 1 && count == 2 * b)
    return add("KEY_SEQUENCE_END_START", Reshaped(mask, {2, b}));
  if (mask.rank() == 1 && count == 3 * b + 2) {
    return add("KEY_QUERY_SEQUENCE_LENGTH_START_END", Reshaped(mask, {1, count}));
  }
  if (mask.rank() < 2 || mask.rank() > 4 || mask.sizes[0] != b || mask.sizes.back() < counts.keys) {
    call.Refuse("ONX-3", "the mask {}", ToString(mask.sizes));
  }
  const int64_t row = mask.sizes.back();
  const int64_t all = mask.rank() == 2 ? row : row * mask.sizes[mask.rank() - 2];
  add("BOOLEAN", Strided(mask, counts.Scores(), {all, 0, mask.rank() == 2 ? 0 : row, 1}));
}

void AddBias(const OnnxCall& call, size_t input, const Counts& counts, OnnxSettings& settings) {
  if (!call.Has(input)) return;
  settings.emplace_back("RelativePositionBiasTensor", BroadcastTo(call.In(input), counts.Scores()));
}

void AddScale(const OnnxCall& call, int64_t head_size, OnnxSettings& settings) {
  const float given = call.Float("scale", 0);
  settings.emplace_back("Scale", given != 0 ? static_cast<double>(given)
                                            : 1 / std::sqrt(static_cast<double>(head_size)));
  settings.emplace_back("MaskFilterValue", call.Float("mask_filter_value", -10000));
}

// --- Attention and QAttention of com.microsoft ---------------------------------------------------

// Queries, keys and values side by side, {batch, tokens, columns}.
OnnxOperand ProjectedByGemm(OnnxCall& call, const OnnxSizes& sizes) {
  OnnxValue& x = call.In(0);
  OnnxValue& weights = call.In(1);
  const OnnxSizes of_batch = {sizes[0], weights.sizes[0], weights.sizes[1]};
  OnnxSettings settings = {{"ATensor", Packed(x)}, {"BTensor", BroadcastTo(weights, of_batch)},
                           {"TransA", "NONE"},     {"TransB", "NONE"},
                           {"Alpha", 1},           {"Beta", 1}};
  if (call.Has(2)) settings.emplace_back("CTensor", BroadcastTo(call.In(2), sizes));
  const OnnxOperand out = call.Temporary(x.type, sizes);
  settings.emplace_back("OutputTensor", out);
  call.Emit("GEMM", settings);
  return out;
}

OnnxOperand ProjectedByIntegers(OnnxCall& call, const OnnxSizes& sizes) {
  OnnxValue& weights = call.In(1);
  const auto number = [&](size_t input, size_t dim) {
    return CountOf(call.In(input).sizes) == 1 ? Reshaped(call.In(input), {1, 1, 1})
                                              : Along(call.In(input), dim, 3);
  };
  OnnxSettings settings = {
      {"ATensor", Packed(call.In(0))},
      {"AScaleTensor", number(3, 1)},
      {"BTensor", BroadcastTo(weights, {sizes[0], weights.sizes[0], weights.sizes[1]})},
      {"BScaleTensor", number(4, 2)}};
  if (call.Has(6)) settings.emplace_back("AZeroPointTensor", number(6, 1));
  if (call.Has(7)) settings.emplace_back("BZeroPointTensor", number(7, 2));
  if (call.Has(2)) settings.emplace_back("BiasTensor", BroadcastTo(call.In(2), sizes));
  const OnnxOperand out = call.Temporary(call.In(3).type, sizes);
  settings.emplace_back("OutputTensor", out);
  call.Emit("MATRIX_MULTIPLY_INTEGER_TO_FLOAT", settings);
  return out;
}

// Takes stacked queries, keys and values of one head size apart, or those of two.
void AddProjected(OnnxCall& call, const OnnxOperand& projected, const Counts& counts,
                  const OnnxSizes& hidden, OnnxSettings& settings) {
  const int64_t head = hidden[0] / counts.heads, width = projected.value->sizes[2];
  if (hidden[2] == hidden[0]) {
    const OnnxOperand stacked = call.Temporary(
        projected.value->type, {counts.batch, counts.queries, counts.heads, 3, head});
    EmitUnary(call, "ELEMENT_WISE_IDENTITY",
              Strided(*projected.value, stacked.value->sizes,
                      {counts.queries * width, width, head, hidden[0], 1}),
              stacked);
    return settings.emplace_back("StackedQueryKeyValueTensor", stacked), void();
  }
  settings.emplace_back("QueryTensor", EmitPart(call, projected, 2, 0, hidden[0]));
  settings.emplace_back("KeyTensor", EmitPart(call, projected, 2, hidden[0], hidden[1]));
  settings.emplace_back("ValueTensor",
                        EmitPart(call, projected, 2, hidden[0] + hidden[1], hidden[2]));
}

void Attention(OnnxCall& call) {
  const bool is_quantized = call.name() == "QAttention";
  OnnxValue& x = call.In(0);
  RequireRank(call, x, 3);
  RequireRank(call, call.In(1), 2);
  call.RequireInt("unidirectional", 0);
  call.RequireInt("do_rotary", 0);
  if (is_quantized) RefuseInputs(call, {{8, "past"}});
  if (!is_quantized) RefuseInputs(call, {{4, "past"}, {6, "past_sequence_length"}});
  if (call.Wants(1)) call.Refuse("ONX-3", "no DirectML operator has its output 'present'");
  const int64_t columns = call.In(1).sizes[1];
  const Counts counts{x.sizes[0], HeadsOf(call, "num_heads"), x.sizes[1], x.sizes[1]};
  const OnnxSizes hidden = call.Ints("qkv_hidden_sizes").value_or(OnnxSizes(3, columns / 3));
  const bool are_right =
      hidden.size() == 3 && hidden[0] == hidden[1] &&
      std::ranges::all_of(hidden, [&](int64_t size) { return 0 <= size && size <= columns; }) &&
      hidden[0] + hidden[1] + hidden[2] == columns && hidden[0] % counts.heads == 0;
  if (!are_right) {
    call.Refuse("ONX-3", "qkv_hidden_sizes {} of {}", ToString(hidden), Counted(columns, "column"));
  }
  const OnnxSizes sizes = {counts.batch, counts.queries, columns};
  const OnnxOperand projected =
      is_quantized ? ProjectedByIntegers(call, sizes) : ProjectedByGemm(call, sizes);
  const OnnxSizes result = {counts.batch, counts.queries, hidden[2]};
  OnnxSettings settings = {{"OutputTensor", call.Out(0, projected.value->type, result)},
                           {"HeadCount", counts.heads}};
  AddProjected(call, projected, counts, hidden, settings);
  AddMask(call, is_quantized ? 5 : 3, counts, settings);
  if (!is_quantized) AddBias(call, 5, counts, settings);
  AddScale(call, hidden[0] / counts.heads, settings);
  call.Emit("MULTIHEAD_ATTENTION", settings);
}

// The forms of queries, keys and values, by the number of their dimensions.
struct Heads {
  int64_t new_keys = 0, past_keys = 0, head_size = 0, value_size = 0;
};

Heads AddQueryKeyValue(OnnxCall& call, int64_t heads, OnnxSettings& settings) {
  OnnxValue& query = call.In(0);
  if (query.rank() == 5) {
    settings.emplace_back("StackedQueryKeyValueTensor", Packed(query));
    return {query.sizes[1], 0, query.sizes[4], query.sizes[4]};
  }
  RequireRank(call, query, 3);
  settings.emplace_back("QueryTensor", Packed(query));
  OnnxValue& key = call.In(1);
  const int64_t head_size = HeadSize(call, query.sizes[2], heads);
  if (key.rank() == 5) {
    settings.emplace_back("StackedKeyValueTensor", Packed(key));
    return {key.sizes[1], 0, head_size, key.sizes[4]};
  }
  OnnxValue& value = call.In(2);
  RequireRank(call, value, key.rank());
  if (key.rank() == 4) {
    settings.emplace_back("PastKeyTensor", Packed(key));
    settings.emplace_back("PastValueTensor", Packed(value));
    return {0, key.sizes[2], head_size, value.sizes[3]};
  }
  RequireRank(call, key, 3);
  settings.emplace_back("KeyTensor", Packed(key));
  settings.emplace_back("ValueTensor", Packed(value));
  return {key.sizes[1], 0, head_size, HeadSize(call, value.sizes[2], heads)};
}

// The inputs `past_key` and the next one, and outputs 1 and 2 as what follows from them.
void AddPastAndPresent(OnnxCall& call, size_t past_key, const OnnxType& type, int64_t batch,
                       int64_t heads, Heads& of, OnnxSettings& settings) {
  if (call.Has(past_key)) of.past_keys = PastKeys(call, past_key);
  if (call.Has(past_key) && of.past_keys > 0) {
    settings.emplace_back("PastKeyTensor", Packed(call.In(past_key)));
    settings.emplace_back("PastValueTensor", Packed(call.In(past_key + 1)));
  }
  const int64_t keys = of.past_keys + of.new_keys;
  if (call.Wants(1)) {
    settings.emplace_back("OutputPresentKeyTensor",
                          call.Out(1, type, {batch, heads, keys, of.head_size}));
  }
  if (call.Wants(2)) {
    settings.emplace_back("OutputPresentValueTensor",
                          call.Out(2, type, {batch, heads, keys, of.value_size}));
  }
}

void MultiHeadAttention(OnnxCall& call) {
  call.RequireInt("unidirectional", 0);
  RefuseInputs(call, {{8, "past_sequence_length"}, {9, "cache_indirection"}});
  const OnnxValue& query = call.In(0);
  const int64_t heads = HeadsOf(call, "num_heads");
  OnnxSettings settings = {{"HeadCount", heads}};
  Heads of = AddQueryKeyValue(call, heads, settings);
  AddPastAndPresent(call, 6, query.type, query.sizes[0], heads, of, settings);
  if (call.Has(3)) settings.emplace_back("BiasTensor", Packed(call.In(3)));
  const Counts counts{query.sizes[0], heads, query.sizes[1], of.past_keys + of.new_keys};
  AddMask(call, 4, counts, settings);
  AddBias(call, 5, counts, settings);
  AddScale(call, of.head_size, settings);
  settings.emplace_back(
      "OutputTensor",
      call.Out(0, query.type, {counts.batch, counts.queries, heads * of.value_size}));
  call.Emit("MULTIHEAD_ATTENTION", settings);
}

// --- in FLOAT32 ----------------------------------------------------------------------------------

// Outputs that are computed in FLOAT32 and cast to the node's type behind.
class WideOutputs {
 public:
  WideOutputs(OnnxCall& call, const OnnxType& type) : call_(call), type_(type) {}

  OnnxOperand Out(size_t output, const OnnxSizes& sizes) {
    if (type_.number == kOnnxFloat.number) return call_.Out(output, type_, sizes);
    return wide_.emplace_back(output, call_.Temporary(kOnnxFloat, sizes)).second;
  }

  void Finish() {
    for (const auto& [output, wide] : wide_) {
      EmitUnary(call_, "CAST", wide, call_.Out(output, type_, wide.value->sizes));
    }
  }

 private:
  OnnxCall& call_;
  OnnxType type_;
  std::vector<std::pair<size_t, OnnxOperand>> wide_;
};

OnnxOperand Wide(OnnxCall& call, size_t input) {
  return Packed(CastTo(call, call.In(input), kOnnxFloat));
}

void GroupQueryAttention(OnnxCall& call) {
  if (!call.Has(1) || !call.Has(2))
    call.Refuse("ONX-3", "no DirectML operator has packed queries, keys and values");
  call.RequireInt("do_rotary", 0);
  call.RequireInt("local_window_size", -1);
  call.RequireInt("smooth_softmax", 0);
  if (call.Float("softcap", 0) != 0) call.Refuse("ONX-3", "no DirectML operator has softcap");
  for (size_t i = 9; i < call.input_count(); ++i)
    RefuseInputs(call, {{i, "positions, biases, sinks or norms of queries"}});
  const OnnxValue& query = call.In(0);
  const OnnxValue& key = call.In(1);
  RequireRank(call, query, 3);
  RequireRank(call, key, 3);
  const int64_t heads = HeadsOf(call, "num_heads"), kv_heads = HeadsOf(call, "kv_num_heads");
  const int64_t batch = query.sizes[0], queries = query.sizes[1],
                head = HeadSize(call, query.sizes[2], heads);
  const int64_t past = PastKeys(call, 3);
  const int64_t total = call.Value(6).Integer(0);
  OnnxSettings settings = {{"QueryTensor", Wide(call, 0)},  {"KeyTensor", Wide(call, 1)},
                           {"ValueTensor", Wide(call, 2)},  {"QueryHeadCount", heads},
                           {"KeyValueHeadCount", kv_heads}, {"MaskType", "NONE"}};
  if (past > 0) {
    settings.emplace_back("PastKeyTensor", Wide(call, 3));
    settings.emplace_back("PastValueTensor", Wide(call, 4));
  }
  OnnxValue& zero = NumberOf(call, kOnnxInt32, 0);
  settings.emplace_back("PastSequenceLengthsTensor",
                        queries == 1 ? Reshaped(call.In(5), {batch}) : BroadcastTo(zero, {batch}));
  AddScale(call, head, settings);
  WideOutputs outputs(call, query.type);
  settings.emplace_back("OutputTensor", outputs.Out(0, {batch, queries, heads * head}));
  const OnnxSizes present = RequireSizes({batch, kv_heads, std::max(past, total), head});
  if (call.Wants(1)) settings.emplace_back("OutputPresentKeyTensor", outputs.Out(1, present));
  if (call.Wants(2)) settings.emplace_back("OutputPresentValueTensor", outputs.Out(2, present));
  call.Emit("MULTIHEAD_ATTENTION1", settings);
  outputs.Finish();
}

// --- Attention of ONNX ---------------------------------------------------------------------------

// Heads and tokens exchanged: {batch, heads, tokens, size} as {batch, tokens, heads * size}.
OnnxOperand BesideEachOther(OnnxCall& call, OnnxValue& x) {
  const OnnxSizes& s = x.sizes;
  const OnnxSizes exchanged = {s[0], s[2], s[1], s[3]};
  const OnnxOperand out = call.Temporary(x.type, exchanged);
  EmitUnary(call, "ELEMENT_WISE_IDENTITY",
            Strided(x, exchanged, {s[1] * s[2] * s[3], s[3], s[2] * s[3], 1}), out);
  return Reshaped(*out.value, {s[0], s[2], s[1] * s[3]});
}

// Numbers for a mask: those that are added to scores, or -inf where it is false.
OnnxOperand AddedMask(OnnxCall& call, OnnxValue& mask, const Counts& counts) {
  const OnnxSizes sizes = counts.Scores();
  if (!mask.type.is_bool()) return BroadcastTo(CastTo(call, mask, kOnnxFloat), sizes);
  const auto number = [&](double value) {
    return BroadcastTo(NumberOf(call, kOnnxFloat, value), sizes);
  };
  const OnnxOperand added = call.Temporary(kOnnxFloat, sizes);
  call.Emit("ELEMENT_WISE_IF", {{"ConditionTensor", BroadcastTo(mask, sizes)},
                                {"ATensor", number(0)},
                                {"BTensor", number(-std::numeric_limits<double>::infinity())},
                                {"OutputTensor", added}});
  return added;
}

void StandardAttention(OnnxCall& call) {
  call.RequireInt("is_causal", 0);
  if (call.Float("softcap", 0) != 0) call.Refuse("ONX-3", "no DirectML operator has softcap");
  if (call.Wants(3)) call.Refuse("ONX-3", "no DirectML operator has its output qk_matmul_output");
  RefuseInputs(call, {{6, "nonpad_kv_seqlen"}});
  OnnxValue& query = call.In(0);
  const bool has_heads = query.rank() == 4;
  for (const size_t input : {size_t{0}, size_t{1}, size_t{2}})
    RequireRank(call, call.In(input), has_heads ? 4 : 3);
  const int64_t heads = has_heads ? query.sizes[1] : HeadsOf(call, "q_num_heads");
  const int64_t kv_heads = has_heads ? call.In(1).sizes[1] : HeadsOf(call, "kv_num_heads");
  const auto laid_out = [&](size_t input) {
    OnnxValue& wide = CastTo(call, call.In(input), kOnnxFloat);
    return has_heads ? BesideEachOther(call, wide) : Packed(wide);
  };
  const OnnxOperand q = laid_out(0), k = laid_out(1), v = laid_out(2);
  const int64_t head = HeadSize(call, query.sizes.back(), has_heads ? 1 : heads);
  const int64_t value_head = HeadSize(call, call.In(2).sizes.back(), has_heads ? 1 : kv_heads);
  const size_t tokens = has_heads ? 2 : 1;
  const int64_t batch = query.sizes[0], queries = query.sizes[tokens];
  const int64_t past = PastKeys(call, 4);
  const Counts counts{batch, heads, queries, past + call.In(1).sizes[tokens]};
  OnnxSettings settings = {{"QueryTensor", q},
                           {"KeyTensor", k},
                           {"ValueTensor", v},
                           {"QueryHeadCount", heads},
                           {"KeyValueHeadCount", kv_heads},
                           {"MaskType", "NONE"}};
  if (past > 0) {
    settings.emplace_back("PastKeyTensor", Wide(call, 4));
    settings.emplace_back("PastValueTensor", Wide(call, 5));
  }
  if (call.Has(3)) {
    settings.emplace_back("RelativePositionBiasTensor", AddedMask(call, call.In(3), counts));
  }
  AddScale(call, head, settings);
  WideOutputs outputs(call, query.type);
  const OnnxSizes beside = {batch, queries, heads * value_head};
  const OnnxOperand result =
      has_heads ? call.Temporary(kOnnxFloat, beside) : outputs.Out(0, beside);
  settings.emplace_back("OutputTensor", result);
  if (call.Wants(1))
    settings.emplace_back("OutputPresentKeyTensor",
                          outputs.Out(1, {batch, kv_heads, counts.keys, head}));
  if (call.Wants(2))
    settings.emplace_back("OutputPresentValueTensor",
                          outputs.Out(2, {batch, kv_heads, counts.keys, value_head}));
  call.Emit("MULTIHEAD_ATTENTION1", settings);
  if (has_heads) {
    const OnnxSizes sizes = {batch, heads, queries, value_head};
    EmitUnary(call, "ELEMENT_WISE_IDENTITY",
              Strided(*result.value, sizes,
                      {queries * heads * value_head, value_head, heads * value_head, 1}),
              outputs.Out(0, sizes));
  }
  outputs.Finish();
}

const OnnxRow kRows[] = {
    {"Attention", "23 24", "MULTIHEAD_ATTENTION1", StandardAttention, "without is_causal"},
    {"Attention", "1", "GEMM ELEMENT_WISE_IDENTITY MULTIHEAD_ATTENTION", Attention, "", kContrib},
    {"GroupQueryAttention", "1", "MULTIHEAD_ATTENTION1", GroupQueryAttention, "in FLOAT32",
     kContrib},
    {"MultiHeadAttention", "1", "MULTIHEAD_ATTENTION", MultiHeadAttention, "", kContrib},
    {"QAttention", "1",
     "MATRIX_MULTIPLY_INTEGER_TO_FLOAT ELEMENT_WISE_IDENTITY MULTIHEAD_ATTENTION", Attention, "",
     kContrib},
};

}  // namespace

extern const std::span<const OnnxRow> kOnnxRows = kRows;

}  // namespace dmlop::onnx_attention
