// SPDX-License-Identifier: Apache-2.0
// Normalizations and softmax.
#include "core/onnx/onnx_steps.h"

namespace dmlop::onnx_normalization {
namespace {

// --- by the mean and the variance ----------------------------------------------------------------

void BatchNormalization(OnnxCall& call) {
  OnnxValue& x = call.In(0);
  if (x.rank() < 2) call.Refuse("ONX-4", "{} has no channels", ToString(x.sizes));
  if (call.Int("training_mode", 0) != 0 || call.Wants(1)) {
    call.Refuse("ONX-3", "no DirectML operator has training_mode 1");
  }
  if (call.version() < 9) call.RequireInt("spatial", 1);
  const auto parameter = [&](size_t input) {
    return Along(CastTo(call, call.In(input), x.type), 1, x.rank());
  };
  EmitElements(call, "BATCH_NORMALIZATION", x.type,
               {{"MeanTensor", parameter(3)},
                {"VarianceTensor", parameter(4)},
                {"ScaleTensor", parameter(1)},
                {"BiasTensor", parameter(2)},
                {"Spatial", true},
                {"Epsilon", call.Float("epsilon", 1e-5F)}});
}

void InstanceNormalization(OnnxCall& call) {
  OnnxValue& x = call.In(0);
  if (x.rank() < 3) call.Refuse("ONX-4", "{} has no places", ToString(x.sizes));
  EmitElements(call, "MEAN_VARIANCE_NORMALIZATION1", x.type,
               {{"ScaleTensor", Along(call.In(1), 1, x.rank())},
                {"BiasTensor", Along(call.In(2), 1, x.rank())},
                {"Axes", CountedFrom(2, static_cast<int64_t>(x.rank()) - 1)},
                {"NormalizeVariance", true},
                {"Epsilon", call.Float("epsilon", 1e-5F)}});
}

void MeanVarianceNormalization(OnnxCall& call) {
  OnnxValue& x = call.In(0);
  OnnxSizes axes;
  for (const int64_t axis : call.Ints("axes").value_or(OnnxSizes{0, 2, 3})) {
    axes.push_back(static_cast<int64_t>(call.Axis(axis, x.rank())));
  }
  call.Note(
      "ORT's DirectML provider has an Epsilon of 1e-5 here; ONNX adds 1e-9 to the deviation, "
      "which an Epsilon of 1e-18 comes next to");
  EmitElements(call, "MEAN_VARIANCE_NORMALIZATION1", x.type,
               {{"Axes", axes}, {"NormalizeVariance", true}, {"Epsilon", 1e-18}});
}

// The mean and the inverse deviation beside a layer's normalization.
void EmitLayerStatistics(OnnxCall& call, OnnxValue& x, const OnnxSizes& axes, float epsilon) {
  const OnnxSizes sizes = ReducedSizes(x.sizes, axes);
  const auto temporary = [&] { return call.Temporary(x.type, sizes); };
  const OnnxOperand mean = EmitReduce(call, "AVERAGE", Packed(x), axes,
                                      call.Wants(1) ? call.Out(1, x.type, sizes) : temporary());
  if (!call.Wants(2)) return;
  const OnnxOperand squares =
      EmitBinary(call, "ELEMENT_WISE_DIFFERENCE_SQUARE", Packed(x),
                 BroadcastTo(*mean.value, x.sizes), call.Temporary(x.type, x.sizes));
  const OnnxOperand variance = EmitReduce(call, "AVERAGE", squares, axes, temporary());
  const OnnxOperand sum =
      EmitBinary(call, "ELEMENT_WISE_ADD", variance,
                 BroadcastTo(NumberOf(call, x.type, epsilon), sizes), temporary());
  EmitUnary(call, "ELEMENT_WISE_CONSTANT_POW", sum, call.Out(2, x.type, sizes),
            {{"Exponent", -0.5}});
}

// A normalization along axes; scale and bias are right-aligned to the input. `bias` is the number
// of that input. It is computed in the scale's type.
void EmitLayer(OnnxCall& call, OnnxValue& given, const OnnxSizes& axes, size_t scale,
               std::optional<size_t> bias, float epsilon, bool has_mean) {
  const bool is_wide = given.type.number != kOnnxFloat.number && (call.Wants(1) || call.Wants(2));
  const OnnxType type = is_wide ? kOnnxFloat : call.Has(scale) ? call.In(scale).type : given.type;
  OnnxValue& x = CastTo(call, given, type);
  OnnxSettings settings = {{"InputTensor", Packed(x)}};
  if (call.Has(scale)) {
    settings.emplace_back("ScaleTensor", AtRank(CastTo(call, call.In(scale), type), x.rank()));
  }
  if (bias && call.Has(*bias)) {
    settings.emplace_back("BiasTensor", AtRank(CastTo(call, call.In(*bias), type), x.rank()));
  }
  const bool is_cast = type.number != given.type.number;
  const OnnxOperand output = is_cast ? call.Temporary(type, x.sizes) : call.Out(0, type, x.sizes);
  const OnnxSettings others = {{"OutputTensor", output},
                               {"Axes", axes},
                               {"UseMean", has_mean},
                               {"UseVariance", true},
                               {"Epsilon", epsilon}};
  settings.insert(settings.end(), others.begin(), others.end());
  call.Emit("MEAN_VARIANCE_NORMALIZATION2", settings);
  if (is_cast) EmitUnary(call, "CAST", output, call.Out(0, given.type, x.sizes));
  if (call.Wants(1) || call.Wants(2)) EmitLayerStatistics(call, x, axes, epsilon);
}

OnnxSizes AxesUpToLast(const OnnxCall& call, const OnnxValue& x) {
  const size_t axis = call.Axis(call.Int("axis", -1), x.rank());
  return CountedFrom(static_cast<int64_t>(axis), static_cast<int64_t>(x.rank()) - 1);
}

void LayerNormalization(OnnxCall& call) {
  if (call.Wants(1) || call.Wants(2))
    call.Note("ORT's DirectML provider has no Mean and InvStdDev");
  EmitLayer(call, call.In(0), AxesUpToLast(call, call.In(0)), 1, 2, call.Float("epsilon", 1e-5F),
            true);
}

void RmsNormalization(OnnxCall& call) {
  if (call.Wants(1)) call.Refuse("ONX-3", "the inverse deviation is wanted, too");
  EmitLayer(call, call.In(0), AxesUpToLast(call, call.In(0)), 1, std::nullopt,
            call.Float("epsilon", 1e-5F), false);
}

// --- of groups of channels -----------------------------------------------------------------------

// The places of a tensor as {batch, group, channel of it, place}.
struct Groups {
  OnnxSizes sizes, strides;
};

Groups GroupsOf(const OnnxCall& call, const OnnxValue& x, int64_t count, bool channels_last) {
  if (x.rank() < 2) call.Refuse("ONX-4", "{} has no channels", ToString(x.sizes));
  const size_t axis = channels_last ? x.rank() - 1 : 1;
  if (count < 1 || x.sizes[axis] % count != 0) {
    call.Refuse("ONX-4", "the channels of {} make no {} groups", ToString(x.sizes), count);
  }
  const int64_t channels = x.sizes[axis], each = channels / count;
  const int64_t rest = CountOf(x.sizes) / std::max<int64_t>(x.sizes[0] * channels, 1);
  const OnnxSizes sizes = {x.sizes[0], count, each, rest};
  if (!channels_last) return {sizes, StridesOf(sizes)};
  return {sizes, {channels * rest, each, 1, channels}};
}

// Normalizes each group in the type of the scale. The parameters are one a channel or, in an early
// version, one a group.
void EmitGroups(OnnxCall& call, const Groups& groups, bool is_per_group, const OnnxOperand& out) {
  OnnxValue& x = call.In(0);
  const OnnxType type = call.In(1).type;
  const bool is_cast = type.number != x.type.number;
  const OnnxOperand output = is_cast ? call.Temporary(type, x.sizes) : out;
  const OnnxSizes parameters = {1, groups.sizes[1], is_per_group ? 1 : groups.sizes[2], 1};
  call.Emit("MEAN_VARIANCE_NORMALIZATION1",
            {{"InputTensor", Strided(CastTo(call, x, type), groups.sizes, groups.strides)},
             {"ScaleTensor", Reshaped(call.In(1), parameters)},
             {"BiasTensor", Reshaped(call.In(2), parameters)},
             {"OutputTensor", Strided(*output.value, groups.sizes, groups.strides)},
             {"Axes", OnnxSizes{2, 3}},
             {"NormalizeVariance", true},
             {"Epsilon", call.Float("epsilon", 1e-5F)}});
  if (is_cast) EmitUnary(call, "CAST", output, out);
}

void GroupNormalization(OnnxCall& call) {
  const OnnxValue& x = call.In(0);
  EmitGroups(call, GroupsOf(call, x, call.Int("num_groups", 0), false), call.version() < 21,
             call.Out(0, x.type, x.sizes));
}

void GroupNorm(OnnxCall& call) {
  const OnnxValue& x = call.In(0);
  const bool channels_last = call.Int("channels_last", 1) != 0;
  const Groups groups = GroupsOf(call, x, call.Int("groups", 0), channels_last);
  const bool has_gate = call.Int("activation", 0) != 0;
  const OnnxOperand y = has_gate ? call.Temporary(x.type, x.sizes) : call.Out(0, x.type, x.sizes);
  EmitGroups(call, groups, false, y);
  if (!has_gate) return;
  const OnnxOperand gate =
      EmitUnary(call, "ACTIVATION_SIGMOID", y, call.Temporary(x.type, x.sizes));
  EmitBinary(call, "ELEMENT_WISE_MULTIPLY", y, gate, call.Out(0, x.type, x.sizes));
}

// --- com.microsoft -------------------------------------------------------------------------------

// The sum of the first two inputs and a bias, as output `output` of the node if it is wanted.
OnnxValue& SkippedSum(OnnxCall& call, std::optional<size_t> bias, size_t output) {
  OnnxValue& x = call.In(0);
  const auto place = [&](bool is_last) {
    return is_last && call.Wants(output) ? call.Out(output, x.type, x.sizes)
                                         : call.Temporary(x.type, x.sizes);
  };
  const bool has_bias = bias && call.Has(*bias);
  const OnnxOperand sum = EmitBinary(call, "ELEMENT_WISE_ADD", Packed(x),
                                     BroadcastTo(call.In(1), x.sizes), place(!has_bias));
  if (!has_bias) return *sum.value;
  return *EmitBinary(call, "ELEMENT_WISE_ADD", sum, BroadcastTo(call.In(*bias), x.sizes),
                     place(true))
              .value;
}

// The simplified form has neither a mean nor a bias.
void SkipLayer(OnnxCall& call) {
  const bool has_mean = call.name() == "SkipLayerNormalization";
  if (call.Wants(1) || call.Wants(2)) {
    call.Refuse("ONX-3", "no DirectML operator has its outputs 2 and 3");
  }
  OnnxValue& sum = SkippedSum(call, has_mean ? 4 : 3, 3);
  const auto last = static_cast<int64_t>(sum.rank()) - 1;
  const std::optional<size_t> bias = has_mean ? std::optional<size_t>(3) : std::nullopt;
  EmitLayer(call, sum, {last}, 2, bias, call.Float("epsilon", 1e-12F), has_mean);
}

// --- others --------------------------------------------------------------------------------------

void LpNormalization(OnnxCall& call) {
  OnnxValue& x = call.In(0);
  call.Note("ORT's DirectML provider has an Epsilon of 1e-5 here");
  EmitElements(call, "LP_NORMALIZATION", x.type,
               {{"Axis", call.Axis(call.Int("axis", -1), x.rank())},
                {"Epsilon", 0},
                {"P", call.Int("p", 2)}});
}

// Before version 13, the axis and all behind it are one.
void Softmax(OnnxCall& call) {
  OnnxValue& x = call.In(0);
  const bool is_old = call.version() < 13;
  const auto rank = static_cast<int64_t>(x.rank());
  const auto axis = static_cast<int64_t>(call.Axis(call.Int("axis", is_old ? 1 : -1), x.rank()));
  EmitElements(call, call.row().operators, x.type,
               {{"Axes", CountedFrom(axis, is_old ? rank - 1 : axis)}});
}

constexpr std::string_view kMvn1 = "MEAN_VARIANCE_NORMALIZATION1";
constexpr std::string_view kMvn2 = "MEAN_VARIANCE_NORMALIZATION2";

// --- embeddings of com.microsoft: of positions by rotation, and of words -------------------------

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

// The positions of all tokens, from 0 on.
OnnxOperand AllPositions(OnnxCall& call, const OnnxType& type, int64_t tokens) {
  const OnnxOperand counted = call.Temporary(type, {1, tokens});
  EmitSequence(call, counted, ScalarOf(type.type, 0), ScalarOf(type.type, 1));
  return counted;
}

// Positions of the tokens: those of the input, or all from its one number on.
OnnxValue& PositionsOf(OnnxCall& call, OnnxValue& given, int64_t tokens) {
  if (given.rank() == 2) return given;
  const OnnxOperand counted = AllPositions(call, given.type, tokens);
  const OnnxSizes sizes = {1, tokens};
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

// Counts the elements of the mask that are 1 in each row.
void EmitMaskIndex(OnnxCall& call, const OnnxSizes& ids) {
  const OnnxSizes sizes = {ids[0]};
  const OnnxOperand out = call.Out(1, kOnnxInt32, sizes);
  if (!call.Has(7)) return EmitFill(call, out, ScalarOf(DataType::kInt32, 0));
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
  OnnxValue& positions =
      call.Has(8) ? call.In(8) : *AllPositions(call, kOnnxInt32, ids.sizes[1]).value;
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
    {"BatchNormalization", "7 9 14 15", "BATCH_NORMALIZATION", BatchNormalization, "in inference"},
    {"GroupNormalization", "18 21", kMvn1, GroupNormalization},
    {"Hardmax", "7 11 13", "ACTIVATION_HARDMAX1", Softmax},
    {"InstanceNormalization", "7 22", kMvn1, InstanceNormalization},
    {"LayerNormalization", "1 17", kMvn2, LayerNormalization},
    {"LogSoftmax", "7 11 13", "ACTIVATION_LOG_SOFTMAX1", Softmax},
    {"LpNormalization", "7 22", "LP_NORMALIZATION", LpNormalization},
    {"MeanVarianceNormalization", "9 13", kMvn1, MeanVarianceNormalization, "Epsilon 1e-18"},
    {"RMSNormalization", "23", kMvn2, RmsNormalization, "UseMean false"},
    {"SimplifiedLayerNormalization", "1", kMvn2, RmsNormalization, "UseMean false"},
    {"Softmax", "7 11 13", "ACTIVATION_SOFTMAX1", Softmax},
    {"GroupNorm", "1", "MEAN_VARIANCE_NORMALIZATION1 ACTIVATION_SIGMOID ELEMENT_WISE_MULTIPLY",
     GroupNorm, "", kContrib},
    {"SimplifiedLayerNormalization", "1", kMvn2, RmsNormalization, "UseMean false", kContrib},
    {"SkipLayerNormalization", "1", "ELEMENT_WISE_ADD MEAN_VARIANCE_NORMALIZATION2", SkipLayer, "",
     kContrib},
    {"SkipSimplifiedLayerNormalization", "1", "ELEMENT_WISE_ADD MEAN_VARIANCE_NORMALIZATION2",
     SkipLayer, "UseMean false", kContrib},
    {"EmbedLayerNormalization", "1", "GATHER ELEMENT_WISE_ADD MEAN_VARIANCE_NORMALIZATION1",
     EmbedLayerNormalization, "", kContrib},
    {"RotaryEmbedding", "1",
     "SLICE1 GATHER ELEMENT_WISE_MULTIPLY ELEMENT_WISE_SUBTRACT ELEMENT_WISE_ADD JOIN",
     RotaryEmbedding, "", kContrib},
};

}  // namespace

extern const std::span<const OnnxRow> kOnnxRows = kRows;

}  // namespace dmlop::onnx_normalization
