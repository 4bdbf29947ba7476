// SPDX-License-Identifier: Apache-2.0
// Embeddings of com.microsoft: of positions by rotation, and of words.
#include "core/onnx/onnx_steps.h"

namespace dmlop::onnx_embedding {
namespace {

// --- RotaryEmbedding -----------------------------------------------------------------------------

// The rows of a table for each token, {batch or 1, tokens, size}.
OnnxOperand RowsAt(OnnxCall& call, OnnxValue& table, OnnxValue& positions) {
  for (const OnnxValue* matrix : {&table, &positions}) RequireRank(call, *matrix, 2);
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
  if (head < 1 || head < rotated || x.sizes.back() % head != 0) {
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
  const OnnxOperand counted = call.Temporary(kOnnxInt32, {1, tokens});
  call.Emit("FILL_VALUE_SEQUENCE", {{"OutputTensor", counted},
                                    {"ValueDataType", type},
                                    {"ValueStart", ScalarOf(type, 0)},
                                    {"ValueDelta", ScalarOf(type, 1)}});
  return *counted.value;
}

// Counts the elements of the mask that are 1 in each row.
void EmitMaskIndex(OnnxCall& call, const OnnxSizes& ids) {
  const OnnxSizes sizes = {ids[0]};
  const OnnxOperand out = call.Out(1, kOnnxInt32, sizes);
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
  EmitReduce(call, "SUM", Packed(CastTo(call, *is_one.value, kOnnxInt32)), {1},
             Reshaped(*out.value, {ids[0], 1}));
}

void EmbedLayerNormalization(OnnxCall& call) {
  OnnxValue& ids = call.In(0);
  OnnxValue& words = call.In(2);
  for (const OnnxValue* matrix : {&ids, &words}) RequireRank(call, *matrix, 2);
  const OnnxSizes sizes = {ids.sizes[0], ids.sizes[1], words.sizes[1]};
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
    {"EmbedLayerNormalization", "1", "GATHER ELEMENT_WISE_ADD MEAN_VARIANCE_NORMALIZATION1",
     EmbedLayerNormalization, "", kContrib},
    {"RotaryEmbedding", "1",
     "SLICE1 GATHER ELEMENT_WISE_MULTIPLY ELEMENT_WISE_SUBTRACT ELEMENT_WISE_ADD JOIN",
     RotaryEmbedding, "", kContrib},
};

}  // namespace

extern const std::span<const OnnxRow> kOnnxRows = kRows;

}  // namespace dmlop::onnx_embedding
