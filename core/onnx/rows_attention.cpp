// SPDX-License-Identifier: Apache-2.0
// Attention in the forms of ONNX and of com.microsoft.
#include <algorithm>
#include <cmath>
#include <limits>

#include "core/onnx/onnx_families.h"
#include "core/onnx/onnx_steps.h"

namespace dmlop::onnx_attention {
namespace {

constexpr std::string_view kContrib = "com.microsoft";
const OnnxType kInt32 = OnnxTypeOf(DataType::kInt32, /*is_bool=*/false);

// The numbers of an attention: of batch items, query heads, queries, and past and new keys.
struct Counts {
  int64_t batch, heads, queries, keys;

  OnnxSizes Scores() const { return {batch, heads, queries, keys}; }
};

void RequireRank(const OnnxCall& call, const OnnxValue& value, size_t rank) {
  if (value.rank() == rank) return;
  call.Refuse("ONX-3", "'{}' is {}; expected {} dimensions", value.name, ToString(value.sizes),
              rank);
}

int64_t HeadsOf(const OnnxCall& call, std::string_view attribute) {
  const int64_t heads = call.Int(attribute, 0);
  if (heads < 1) call.Refuse("ONX-3", "{} is {}", attribute, heads);
  return heads;
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
  if (hidden.size() != 3 || hidden[0] != hidden[1] ||
      hidden[0] + hidden[1] + hidden[2] != columns || hidden[0] % counts.heads != 0) {
    call.Refuse("ONX-3", "qkv_hidden_sizes {} of {} columns", ToString(hidden), columns);
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

// --- MultiHeadAttention --------------------------------------------------------------------------

// What the tensors of queries, keys and values are, by the number of their dimensions.
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
  const int64_t head_size = query.sizes[2] / heads;
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
  return {key.sizes[1], 0, head_size, value.sizes[2] / heads};
}

// The inputs `past_key` and the next one, and outputs 1 and 2 as what follows from them.
void AddPastAndPresent(OnnxCall& call, size_t past_key, const OnnxType& type, int64_t batch,
                       int64_t heads, Heads& of, OnnxSettings& settings) {
  if (call.Has(past_key)) {
    RequireRank(call, call.In(past_key), 4);
    of.past_keys = call.In(past_key).sizes[2];
    if (of.past_keys > 0) {
      settings.emplace_back("PastKeyTensor", Packed(call.In(past_key)));
      settings.emplace_back("PastValueTensor", Packed(call.In(past_key + 1)));
    }
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
  RefuseInputs(call, {{9, "position_ids"}, {10, "attention_bias"}, {11, "head_sink"}});
  const OnnxValue& query = call.In(0);
  const OnnxValue& key = call.In(1);
  RequireRank(call, query, 3);
  RequireRank(call, key, 3);
  const int64_t heads = HeadsOf(call, "num_heads"), kv_heads = HeadsOf(call, "kv_num_heads");
  const int64_t batch = query.sizes[0], queries = query.sizes[1], head = query.sizes[2] / heads;
  const int64_t past = call.Has(3) ? call.In(3).sizes.at(2) : 0;
  const int64_t total = call.Integers(6).at(0);
  OnnxSettings settings = {{"QueryTensor", Wide(call, 0)},  {"KeyTensor", Wide(call, 1)},
                           {"ValueTensor", Wide(call, 2)},  {"QueryHeadCount", heads},
                           {"KeyValueHeadCount", kv_heads}, {"MaskType", "NONE"}};
  if (past > 0) {
    settings.emplace_back("PastKeyTensor", Wide(call, 3));
    settings.emplace_back("PastValueTensor", Wide(call, 4));
  }
  OnnxValue& zero = NumberOf(call, kInt32, 0);
  settings.emplace_back("PastSequenceLengthsTensor",
                        queries == 1 ? Reshaped(call.In(5), {batch}) : BroadcastTo(zero, {batch}));
  AddScale(call, head, settings);
  WideOutputs outputs(call, query.type);
  settings.emplace_back("OutputTensor", outputs.Out(0, {batch, queries, heads * head}));
  const OnnxSizes present = call.CheckedSizes({batch, kv_heads, std::max(past, total), head});
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
  const int64_t head = query.sizes.back() / (has_heads ? 1 : heads);
  const int64_t value_head = call.In(2).sizes.back() / (has_heads ? 1 : kv_heads);
  const size_t tokens = has_heads ? 2 : 1;
  const int64_t batch = query.sizes[0], queries = query.sizes[tokens];
  const int64_t past = call.Has(4) ? call.In(4).sizes.at(2) : 0;
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

// --- RotaryEmbedding -----------------------------------------------------------------------------

// The rows of a table for each token, {batch or 1, tokens, size}.
OnnxOperand RowsAt(OnnxCall& call, OnnxValue& table, OnnxValue& positions) {
  const OnnxSizes sizes = {positions.sizes[0], positions.sizes[1], table.sizes[1]};
  const OnnxOperand rows = call.Temporary(table.type, sizes);
  call.Emit("GATHER", {{"InputTensor", AtRank(table, 3)},
                       {"IndicesTensor", AtRank(positions, 3)},
                       {"OutputTensor", rows},
                       {"Axis", 1},
                       {"IndexDimensions", 2}});
  return rows;
}

// Positions of the tokens: those of the input, or all from its one number on.
OnnxValue& PositionsOf(OnnxCall& call, OnnxValue& given, int64_t tokens) {
  if (given.rank() == 2) return given;
  const OnnxSizes sizes = {1, tokens};
  const OnnxOperand counted = call.Temporary(given.type, sizes);
  call.Emit("FILL_VALUE_SEQUENCE", {{"OutputTensor", counted},
                                    {"ValueDataType", given.type.type},
                                    {"ValueStart", ScalarOf(given.type.type, 0)},
                                    {"ValueDelta", ScalarOf(given.type.type, 1)}});
  return *EmitBinary(call, "ELEMENT_WISE_ADD", counted, BroadcastTo(given, sizes),
                     call.Temporary(given.type, sizes))
              .value;
}

void RotaryEmbedding(OnnxCall& call) {
  OnnxValue& x = call.In(0);
  OnnxValue& cos_table = call.In(2);
  if (call.Float("scale", 1) != 1) call.Refuse("ONX-3", "no DirectML operator has scale");
  call.RequireInt("is_packed_batching", 0);
  if (x.rank() != 3 && x.rank() != 4) RequireRank(call, x, 3);
  RequireRank(call, cos_table, 2);
  const int64_t half = cos_table.sizes[1], rotated = 2 * half;
  const int64_t stated = call.Int("num_heads", 0);
  const bool has_heads = x.rank() == 4;
  const int64_t head = has_heads ? x.sizes[3] : stated > 0 ? x.sizes[2] / stated : rotated;
  if (head < rotated || x.sizes.back() % head != 0) {
    call.Refuse("ONX-4", "heads of {} with rows of {}", head, half);
  }
  const int64_t b = x.sizes[0], s = x.sizes[has_heads ? 2 : 1];
  const int64_t n = has_heads ? x.sizes[1] : x.sizes[2] / head;
  const OnnxSizes sizes = {b, s, n, head};
  const OnnxSizes strides =
      has_heads ? OnnxSizes{n * s * head, head, s * head, 1} : StridesOf(sizes);
  const OnnxOperand from = Strided(x, sizes, strides);
  const bool alternates = call.Int("interleaved", 0) != 0;
  const OnnxSizes part = {b, s, n, half};
  const OnnxOperand x1 = EmitPart(call, from, 3, 0, half, alternates ? 2 : 1);
  const OnnxOperand x2 = EmitPart(call, from, 3, alternates ? 1 : half, half, alternates ? 2 : 1);
  OnnxValue& positions = PositionsOf(call, call.In(1), s);
  const auto rows = [&](OnnxValue& table) {
    const OnnxOperand at = RowsAt(call, table, positions);
    return RepeatedTo(*at.value, {positions.sizes[0], s, 1, half}, part);
  };
  const OnnxOperand cos = rows(cos_table), sin = rows(call.In(3));
  const auto binary = [&](std::string_view op, const OnnxOperand& p, const OnnxOperand& q) {
    return EmitBinary(call, op, p, q, call.Temporary(x.type, part));
  };
  constexpr std::string_view kMultiply = "ELEMENT_WISE_MULTIPLY";
  const OnnxOperand y1 =
      binary("ELEMENT_WISE_SUBTRACT", binary(kMultiply, x1, cos), binary(kMultiply, x2, sin));
  const OnnxOperand y2 =
      binary("ELEMENT_WISE_ADD", binary(kMultiply, x2, cos), binary(kMultiply, x1, sin));
  const OnnxOperand out = call.Out(0, x.type, x.sizes);
  const OnnxOperand all = Strided(*out.value, sizes, strides);
  std::vector<OnnxOperand> parts = {y1, y2};
  if (alternates) {
    const OnnxSizes pair = {b * s * n, half, 1};
    const OnnxOperand joined = call.Temporary(x.type, {b, s, n, rotated});
    call.Emit("JOIN",
              {{"InputTensors", std::vector{Reshaped(*y1.value, pair), Reshaped(*y2.value, pair)}},
               {"OutputTensor", Reshaped(*joined.value, {b * s * n, half, 2})},
               {"Axis", 2}});
    parts = {joined};
  }
  if (head > rotated) parts.push_back(EmitPart(call, from, 3, rotated, head - rotated));
  call.Emit("JOIN", {{"InputTensors", parts}, {"OutputTensor", all}, {"Axis", 3}});
}

// --- EmbedLayerNormalization ---------------------------------------------------------------------

OnnxValue& AllPositions(OnnxCall& call, int64_t tokens) {
  const DataType type = DataType::kInt32;
  const OnnxOperand counted = call.Temporary(kInt32, {1, tokens});
  call.Emit("FILL_VALUE_SEQUENCE", {{"OutputTensor", counted},
                                    {"ValueDataType", type},
                                    {"ValueStart", ScalarOf(type, 0)},
                                    {"ValueDelta", ScalarOf(type, 1)}});
  return *counted.value;
}

// How many elements of the mask are 1 in each row.
void EmitMaskIndex(OnnxCall& call, const OnnxSizes& ids) {
  const OnnxSizes sizes = {ids[0]};
  const OnnxOperand out = call.Out(1, kInt32, sizes);
  if (!call.Has(7)) {
    call.Emit("FILL_VALUE_CONSTANT", {{"OutputTensor", out},
                                      {"ValueDataType", DataType::kInt32},
                                      {"Value", ScalarOf(DataType::kInt32, 0)}});
    return;
  }
  OnnxValue& mask = call.In(7);
  const OnnxOperand is_one = EmitBinary(call, "ELEMENT_WISE_LOGICAL_EQUALS", Packed(mask),
                                        BroadcastTo(NumberOf(call, mask.type, 1), mask.sizes),
                                        call.Temporary(kOnnxBool, mask.sizes));
  EmitReduce(call, "SUM", Packed(CastTo(call, *is_one.value, kInt32)), {1},
             Reshaped(*out.value, {ids[0], 1}));
}

void EmbedLayerNormalization(OnnxCall& call) {
  OnnxValue& ids = call.In(0);
  OnnxValue& words = call.In(2);
  RequireRank(call, ids, 2);
  const OnnxSizes sizes = {ids.sizes[0], ids.sizes[1], words.sizes.at(1)};
  const OnnxType type = words.type;
  OnnxValue& positions = call.Has(8) ? call.In(8) : AllPositions(call, ids.sizes[1]);
  const bool has_segments = call.Has(1) && call.Has(4);
  const bool is_wanted = call.Wants(2);
  const auto place = [&](bool is_last) {
    return is_last && is_wanted ? call.Out(2, type, sizes) : call.Temporary(type, sizes);
  };
  OnnxOperand sum = EmitBinary(call, "ELEMENT_WISE_ADD", RowsAt(call, words, ids),
                               BroadcastTo(*RowsAt(call, call.In(3), positions).value, sizes),
                               place(!has_segments));
  if (has_segments) {
    sum = EmitBinary(call, "ELEMENT_WISE_ADD", sum, RowsAt(call, call.In(4), call.In(1)),
                     place(true));
  }
  call.Emit("MEAN_VARIANCE_NORMALIZATION1", {{"InputTensor", sum},
                                             {"ScaleTensor", AtRank(call.In(5), 3)},
                                             {"BiasTensor", AtRank(call.In(6), 3)},
                                             {"OutputTensor", call.Out(0, type, sizes)},
                                             {"Axes", OnnxSizes{2}},
                                             {"NormalizeVariance", true},
                                             {"Epsilon", call.Float("epsilon", 1e-12F)}});
  if (call.Wants(1)) EmitMaskIndex(call, ids.sizes);
}

const OnnxRow kRows[] = {
    {"Attention", "23 24", "MULTIHEAD_ATTENTION1", StandardAttention, "without is_causal"},
    {"Attention", "1", "GEMM ELEMENT_WISE_IDENTITY MULTIHEAD_ATTENTION", Attention, "", kContrib},
    {"EmbedLayerNormalization", "1", "GATHER ELEMENT_WISE_ADD MEAN_VARIANCE_NORMALIZATION1",
     EmbedLayerNormalization, "", kContrib},
    {"GroupQueryAttention", "1", "MULTIHEAD_ATTENTION1", GroupQueryAttention, "in FLOAT32",
     kContrib},
    {"MultiHeadAttention", "1", "MULTIHEAD_ATTENTION", MultiHeadAttention, "", kContrib},
    {"QAttention", "1",
     "MATRIX_MULTIPLY_INTEGER_TO_FLOAT ELEMENT_WISE_IDENTITY MULTIHEAD_ATTENTION", Attention, "",
     kContrib},
    {"RotaryEmbedding", "1",
     "SLICE1 GATHER ELEMENT_WISE_MULTIPLY ELEMENT_WISE_SUBTRACT ELEMENT_WISE_ADD JOIN",
     RotaryEmbedding, "", kContrib},
};

}  // namespace

std::span<const OnnxRow> Rows() {
  return kRows;
}

}  // namespace dmlop::onnx_attention
