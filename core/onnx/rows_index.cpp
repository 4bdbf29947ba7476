// SPDX-License-Identifier: Apache-2.0
// Operators that take elements by indices, or put them elsewhere.
#include <algorithm>
#include <cmath>
#include <limits>

#include "core/base/text.h"
#include "core/onnx/onnx_steps.h"

namespace dmlop::onnx_index {
namespace {

constexpr int64_t kLeastInt = std::numeric_limits<int32_t>::min();
constexpr int64_t kMostInt = std::numeric_limits<int32_t>::max();

// --- gathers -------------------------------------------------------------------------------------

void Gather(OnnxCall& call) {
  OnnxValue& x = call.In(0);
  OnnxValue& indices = call.In(1);
  const size_t axis = call.Axis(call.Int("axis", 0), x.rank());
  OnnxSizes sizes(x.sizes.begin(), x.sizes.begin() + static_cast<std::ptrdiff_t>(axis));
  sizes.insert(sizes.end(), indices.sizes.begin(), indices.sizes.end());
  sizes.insert(sizes.end(), x.sizes.begin() + static_cast<std::ptrdiff_t>(axis) + 1, x.sizes.end());
  const size_t rank = std::max({x.rank(), indices.rank(), sizes.size()});
  call.Emit("GATHER", {{"InputTensor", AtRank(x, rank)},
                       {"IndicesTensor", AtRank(indices, rank)},
                       {"OutputTensor", call.Out(0, x.type, sizes, BehindOnes(sizes, rank))},
                       {"Axis", axis + rank - x.rank()},
                       {"IndexDimensions", indices.rank()}});
}

// If there are fewer indices than elements in other dimensions, the first elements count.
void GatherElements(OnnxCall& call) {
  OnnxValue& x = call.In(0);
  OnnxValue& indices = call.In(1);
  const size_t axis = call.Axis(call.Int("axis", 0), x.rank());
  OnnxSizes sizes = indices.sizes;
  if (sizes.size() != x.rank()) {
    call.Refuse("ONX-4", "{} and indices {}", ToString(x.sizes), ToString(sizes));
  }
  for (size_t d = 0; d < sizes.size(); ++d)
    sizes[d] = d == axis ? x.sizes[d] : std::min(sizes[d], x.sizes[d]);
  const OnnxOperand input = sizes == x.sizes ? Packed(x) : Strided(x, sizes, StridesOf(x.sizes));
  call.Emit("GATHER_ELEMENTS", {{"InputTensor", input},
                                {"IndicesTensor", Packed(indices)},
                                {"OutputTensor", call.Out(0, x.type, indices.sizes)},
                                {"Axis", axis}});
}

// The number of indices of a tuple; refuses what has none.
int64_t TupleSize(const OnnxCall& call, const OnnxValue& indices, size_t most) {
  const int64_t size = indices.rank() == 0 ? 0 : indices.sizes.back();
  if (size < 1 || size > static_cast<int64_t>(most)) {
    call.Refuse("ONX-4", "the indices {} have tuples of {} for {}", ToString(indices.sizes), size,
                Counted(most, "dimension"));
  }
  return size;
}

void GatherNd(OnnxCall& call) {
  OnnxValue& x = call.In(0);
  OnnxValue& indices = call.In(1);
  const int64_t batch = call.Int("batch_dims", 0);
  if (batch < 0 || batch >= static_cast<int64_t>(std::min(x.rank(), indices.rank()))) {
    call.Refuse("ONX-3", "batch_dims {}", batch);
  }
  const int64_t tuple = TupleSize(call, indices, x.rank() - static_cast<size_t>(batch));
  OnnxSizes sizes(indices.sizes.begin(), indices.sizes.end() - 1);
  sizes.insert(sizes.end(), x.sizes.begin() + batch + tuple, x.sizes.end());
  const size_t rank = std::max({x.rank(), indices.rank(), sizes.size()});
  call.Emit("GATHER_ND1", {{"InputTensor", AtRank(x, rank)},
                           {"IndicesTensor", AtRank(indices, rank)},
                           {"OutputTensor", call.Out(0, x.type, sizes, BehindOnes(sizes, rank))},
                           {"InputDimensionCount", x.rank()},
                           {"IndicesDimensionCount", indices.rank()},
                           {"BatchDimensionCount", batch}});
}

// --- scatters ------------------------------------------------------------------------------------

void Scatter(OnnxCall& call) {
  OnnxValue& x = call.In(0);
  OnnxValue& indices = call.In(1);
  call.RequireText("reduction", "none");
  const size_t axis = call.Axis(call.Int("axis", 0), x.rank());
  const OnnxOperand output = call.Out(0, x.type, x.sizes);
  if (indices.empty()) {
    EmitUnary(call, "ELEMENT_WISE_IDENTITY", Packed(x), output);
    return;
  }
  call.Emit("SCATTER", {{"InputTensor", Packed(x)},
                        {"IndicesTensor", Packed(indices)},
                        {"UpdatesTensor", Packed(call.In(2))},
                        {"OutputTensor", output},
                        {"Axis", axis}});
}

void ScatterNd(OnnxCall& call) {
  OnnxValue& x = call.In(0);
  OnnxValue& indices = call.In(1);
  OnnxValue& updates = call.In(2);
  call.RequireText("reduction", "none");
  const size_t rank = std::max({x.rank(), indices.rank(), updates.rank()});
  const OnnxOperand output = call.Out(0, x.type, x.sizes, BehindOnes(x.sizes, rank));
  if (indices.empty()) {
    EmitUnary(call, "ELEMENT_WISE_IDENTITY", AtRank(x, rank), output);
    return;
  }
  call.Emit("SCATTER_ND", {{"InputTensor", AtRank(x, rank)},
                           {"IndicesTensor", AtRank(indices, rank)},
                           {"UpdatesTensor", AtRank(updates, rank)},
                           {"OutputTensor", output},
                           {"InputDimensionCount", x.rank()},
                           {"IndicesDimensionCount", indices.rank()}});
}

// --- coordinates ---------------------------------------------------------------------------------

void OneHot(OnnxCall& call) {
  OnnxValue& given = call.In(0);
  OnnxValue& indices = IsFloat(given.type.type) ? CastTo(call, given, kOnnxInt64) : given;
  OnnxValue& values = call.In(2);
  const std::vector<double> depth = call.Numbers(1);
  if (depth.size() != 1 || !(depth[0] >= 0)) call.Refuse("ONX-4", "there is no one depth");
  const size_t rank = indices.rank() + 1;
  const auto axis = static_cast<std::ptrdiff_t>(call.Axis(call.Int("axis", -1), rank));
  OnnxSizes single = indices.sizes, sizes = indices.sizes;
  single.insert(single.begin() + axis, 1);
  sizes.insert(sizes.begin() + axis, static_cast<int64_t>(depth[0]));
  call.Emit("ONE_HOT", {{"IndicesTensor", Reshaped(indices, single)},
                        {"ValuesTensor", AtRank(values, rank)},
                        {"OutputTensor", call.Out(0, values.type, RequireSizes(sizes))},
                        {"Axis", axis}});
}

// The coordinates are told only of elements that are known while the model is read, because they
// are as many as those that are not 0.
void NonZero(OnnxCall& call) {
  OnnxValue& x = call.In(0);
  const KnownElements known = call.Values(0);
  const OnnxSizes sizes = x.rank() == 0 ? OnnxSizes{1} : x.sizes;
  std::vector<int64_t> found;
  for (int64_t i = 0; i < known.count; ++i) {
    if (known.Number(i) != 0) found.push_back(i);
  }
  std::vector<int64_t> coordinates;
  for (const int64_t stride : StridesOf(sizes)) {
    const size_t axis = coordinates.size() / std::max<size_t>(found.size(), 1);
    for (const int64_t element : found) coordinates.push_back(element / stride % sizes[axis]);
  }
  call.OutKnown(0, kOnnxInt64,
                {static_cast<int64_t>(sizes.size()), static_cast<int64_t>(found.size())},
                std::as_bytes(std::span(coordinates)));
}

void ReverseSequence(OnnxCall& call) {
  OnnxValue& x = call.In(0);
  const size_t time = call.Axis(call.Int("time_axis", 0), x.rank());
  const size_t batch = call.Axis(call.Int("batch_axis", 1), x.rank());
  OnnxSizes sizes = x.sizes, strides(x.rank(), 0);
  sizes[time] = 1;
  strides[batch] = 1;
  if (x.rank() > 2)
    call.Note("ORT's DirectML provider packs the lengths, which is right for 2 dimensions");
  EmitElements(
      call, "REVERSE_SUBSEQUENCES", x.type,
      {{"SequenceLengthsTensor", AsType(Strided(call.In(1), sizes, strides), DataType::kUint64)},
       {"Axis", time}});
}

// --- places --------------------------------------------------------------------------------------

// No product of it with other sizes overflows.
int64_t BlockSize(const OnnxCall& call) {
  const int64_t block = call.Int("blocksize", 0);
  if (block < 1 || block > 0x7FFF) call.Refuse("ONX-3", "blocksize {}", block);
  return block;
}

OnnxSizes ImageSizes(const OnnxCall& call, const OnnxValue& x) {
  if (x.rank() != 4) call.Refuse("ONX-4", "{} is no image", ToString(x.sizes));
  return x.sizes;
}

void DepthToSpace(OnnxCall& call) {
  OnnxValue& x = call.In(0);
  const int64_t block = BlockSize(call);
  OnnxSizes sizes = ImageSizes(call, x);
  sizes = {sizes[0], sizes[1] / (block * block), sizes[2] * block, sizes[3] * block};
  const bool is_crd = call.Text("mode", "DCR") == "CRD";
  if (!is_crd) call.RequireText("mode", "DCR");
  EmitUnary(call, "DEPTH_TO_SPACE1", Packed(x), call.Out(0, x.type, RequireSizes(sizes)),
            {{"BlockSize", block}, {"Order", is_crd ? "COLUMN_ROW_DEPTH" : "DEPTH_COLUMN_ROW"}});
}

void SpaceToDepth(OnnxCall& call) {
  OnnxValue& x = call.In(0);
  const int64_t block = BlockSize(call);
  OnnxSizes sizes = ImageSizes(call, x);
  sizes = {sizes[0], sizes[1] * block * block, sizes[2] / block, sizes[3] / block};
  EmitUnary(call, "SPACE_TO_DEPTH", Packed(x), call.Out(0, x.type, RequireSizes(sizes)),
            {{"BlockSize", block}});
}

void Tile(OnnxCall& call) {
  OnnxValue& x = call.In(0);
  OnnxSizes repeats = call.Integers(1);
  if (repeats.size() != x.rank()) {
    call.Refuse("ONX-4", "{} for {}", Counted(repeats.size(), "repeat"), ToString(x.sizes));
  }
  RequireSizes(repeats);
  OnnxSizes sizes;
  for (size_t d = 0; d < repeats.size(); ++d) sizes.push_back(repeats[d] * x.sizes[d]);
  if (repeats.empty()) repeats.push_back(1);
  EmitUnary(call, "TILE", Packed(x), call.Out(0, x.type, RequireSizes(sizes)),
            {{"Repeats", repeats}});
}

struct PadMode {
  std::string_view onnx, mode;
};

constexpr PadMode kPadModes[] = {
    {"constant", "CONSTANT"}, {"edge", "EDGE"}, {"reflect", "REFLECTION"}, {"wrap", "WRAP"}};

std::string_view PadModeOf(const OnnxCall& call) {
  const std::string_view mode = call.Text("mode", "constant");
  const auto* found = std::ranges::find(kPadModes, mode, &PadMode::onnx);
  if (found == std::end(kPadModes)) call.Refuse("ONX-3", "mode '{}'", mode);
  if (mode == "wrap" && call.version() < 19) {
    call.Refuse("ONX-3", "mode '{}', which versions below 19 lack", mode);
  }
  return found->mode;
}

// The paddings at the start of each dimension, then those at the end.
OnnxSizes AllPadsOf(const OnnxCall& call, size_t rank) {
  const OnnxSizes given =
      call.version() < 11 ? call.Ints("pads").value_or(OnnxSizes()) : call.Integers(1);
  const bool has_axes = call.version() >= 18 && call.Has(3);
  const OnnxSizes axes =
      has_axes ? call.Integers(3) : CountedFrom(0, static_cast<int64_t>(rank) - 1);
  if (given.size() != 2 * axes.size()) {
    call.Refuse("ONX-4", "pads {} for {}", ToString(given), Counted(axes.size(), "axis"));
  }
  if (std::ranges::any_of(given, [](int64_t pad) { return pad < -kMostSize || pad > kMostSize; })) {
    call.Refuse("ONX-1", "pads {} are out of range [-{}, {}]", ToString(given), kMostSize,
                kMostSize);
  }
  const std::vector<size_t> padded = call.Axes(axes, rank);
  OnnxSizes pads(2 * rank, 0);
  for (size_t i = 0; i < padded.size(); ++i) {
    pads[padded[i]] = given[i];
    pads[rank + padded[i]] = given[padded.size() + i];
  }
  return pads;
}

Scalar PadValue(const OnnxCall& call, DataType type) {
  if (call.version() < 11) return ScalarOf(type, call.Float("value", 0));
  if (!call.Has(2) || call.In(2).empty()) return {type, {}};
  return {type, call.Value(2).Bytes(0)};
}

// Cuts off what negative paddings take away, and makes them 0.
OnnxValue& Cropped(OnnxCall& call, OnnxValue& x, OnnxSizes& pads) {
  if (std::ranges::none_of(pads, [](int64_t pad) { return pad < 0; })) return x;
  call.Note("ORT's DirectML provider computes something else for negative pads");
  OnnxSizes sizes = x.sizes, offsets(x.rank(), 0);
  for (size_t d = 0; d < x.rank(); ++d) {
    offsets[d] = std::max<int64_t>(-pads[d], 0);
    sizes[d] -= offsets[d] + std::max<int64_t>(-pads[x.rank() + d], 0);
  }
  for (int64_t& pad : pads) pad = std::max<int64_t>(pad, 0);
  return *EmitUnary(call, "SLICE1", Packed(x), call.Temporary(x.type, RequireSizes(sizes)),
                    {{"InputWindowOffsets", offsets},
                     {"InputWindowSizes", sizes},
                     {"InputWindowStrides", OnnxSizes(x.rank(), 1)}})
              .value;
}

void Pad(OnnxCall& call) {
  const OnnxType type = call.In(0).type;
  const std::string_view mode = PadModeOf(call);
  OnnxSizes pads = AllPadsOf(call, call.In(0).rank());
  OnnxValue& x = Cropped(call, call.In(0), pads);
  const auto middle = pads.begin() + static_cast<std::ptrdiff_t>(x.rank());
  OnnxSizes sizes = x.sizes;
  for (size_t d = 0; d < sizes.size(); ++d) sizes[d] += pads[d] + pads[x.rank() + d];
  const Scalar value = PadValue(call, type.type);
  const OnnxOperand output = call.Out(0, type, RequireSizes(sizes));
  if (x.rank() == 0) {
    EmitUnary(call, "ELEMENT_WISE_IDENTITY", Packed(x), output);
  } else if (x.empty() && mode == "CONSTANT") {
    EmitFill(call, output, value);
  } else {
    EmitUnary(call, "PADDING1", Packed(x), output,
              {{"PaddingMode", mode},
               {"PaddingValueDataType", type.type},
               {"PaddingValue", value},
               {"StartPadding", OnnxSizes(pads.begin(), middle)},
               {"EndPadding", OnnxSizes(middle, pads.end())}});
  }
}

// --- matrices and sequences that are made --------------------------------------------------------

// Matrices in front of which all dimensions are one, for operators of few dimensions.
OnnxSizes AsMatrices(const OnnxSizes& sizes) {
  if (sizes.size() <= 4) return sizes;
  const auto matrices = sizes.end() - 2;
  return {CountOf({sizes.begin(), matrices}), *matrices, *(matrices + 1)};
}

void Trilu(OnnxCall& call) {
  OnnxValue& x = call.In(0);
  if (x.rank() < 2) call.Refuse("ONX-4", "{} is no matrix", ToString(x.sizes));
  const int64_t k = call.Has(1) ? call.Value(1).Integer(0) : 0;
  const bool is_upper = call.Int("upper", 1) != 0;
  const int64_t begin =
      is_upper ? kLeastInt : std::clamp(std::min(k, kMostInt) + 1, kLeastInt, kMostInt);
  const int64_t end = is_upper ? std::clamp(k, kLeastInt, kMostInt) : kMostInt;
  const OnnxSizes laid_out = AsMatrices(x.sizes);
  EmitUnary(call, "DIAGONAL_MATRIX1", Reshaped(x, laid_out), call.Out(0, x.type, x.sizes, laid_out),
            {{"ValueDataType", x.type.type},
             {"Value", Scalar{x.type.type, {}}},
             {"DiagonalFillBegin", begin},
             {"DiagonalFillEnd", end}});
}

void EyeLike(OnnxCall& call) {
  const OnnxValue& x = call.In(0);
  const OnnxType type =
      call.HasAttribute("dtype") ? call.RequireType(call.Int("dtype", 0)) : x.type;
  if (x.rank() != 2) call.Refuse("ONX-4", "{} is no matrix", ToString(x.sizes));
  call.Emit("DIAGONAL_MATRIX", {{"OutputTensor", call.Out(0, type, x.sizes)},
                                {"Offset", std::clamp(call.Int("k", 0), kLeastInt, kMostInt)},
                                {"Value", 1}});
}

// Counts the steps that stay before the limit, exactly.
int64_t IntegerSteps(int64_t start, int64_t limit, int64_t delta) {
  const Int128 way = Int128{limit} - start;
  const Int128 size = delta < 0 ? -Int128{delta} : Int128{delta};
  const Int128 length = delta < 0 ? -way : way;
  return length <= 0
             ? 0
             : static_cast<int64_t>(std::min<Int128>((length + size - 1) / size, kMostInt + 1));
}

int64_t FloatSteps(long double start, long double limit, long double delta) {
  long double steps = std::ceil((limit - start) / delta);
  // The quotient is rounded.
  if (steps > 0 &&
      (delta > 0 ? start + (steps - 1) * delta >= limit : start + (steps - 1) * delta <= limit))
    --steps;
  if (!(steps < 0x1p31L)) return kMostInt + 1;
  return steps > 0 ? static_cast<int64_t>(steps) : 0;
}

void Range(OnnxCall& call) {
  const OnnxType type = call.In(0).type;
  const KnownElements start = call.Values(0), limit = call.Values(1), delta = call.Values(2);
  if (start.count != 1 || limit.count != 1 || delta.count != 1 || delta.Number(0) == 0) {
    call.Refuse("ONX-4", "start, limit and delta are no three numbers, or delta is 0");
  }
  const int64_t count = IsFloat(type.type)
                            ? FloatSteps(start.Number(0), limit.Number(0), delta.Number(0))
                            : IntegerSteps(start.Integer(0), limit.Integer(0), delta.Integer(0));
  EmitSequence(call, call.Out(0, type, {count}), {type.type, start.Bytes(0)},
               {type.type, delta.Bytes(0)});
}

const OnnxRow kRows[] = {
    {"DepthToSpace", "7 11 13", "DEPTH_TO_SPACE1", DepthToSpace},
    {"EyeLike", "9 22", "DIAGONAL_MATRIX", EyeLike},
    {"Gather", "7 11 13", "GATHER", Gather},
    {"GatherElements", "11 13", "GATHER_ELEMENTS", GatherElements},
    {"GatherND", "11 12 13", "GATHER_ND1", GatherNd},
    {"NonZero", "9 13", "", NonZero, "of values that are known while the model is read"},
    {"OneHot", "9 11", "ONE_HOT", OneHot},
    {"Pad", "7 11 13 18 19 21 23 24 25", "PADDING1", Pad, "SLICE1 for negative pads"},
    {"Range", "11 27", "FILL_VALUE_SEQUENCE", Range},
    {"ReverseSequence", "10", "REVERSE_SUBSEQUENCES", ReverseSequence},
    {"Scatter", "9 11", "SCATTER", Scatter},
    {"ScatterElements", "11 13 16 18", "SCATTER", Scatter, "reduction none"},
    {"ScatterND", "11 13 16 18", "SCATTER_ND", ScatterNd, "reduction none"},
    {"SpaceToDepth", "7 13", "SPACE_TO_DEPTH", SpaceToDepth},
    {"Tile", "7 13", "TILE", Tile},
    {"Trilu", "14", "DIAGONAL_MATRIX1", Trilu},
};

}  // namespace

extern const std::span<const OnnxRow> kOnnxRows = kRows;

}  // namespace dmlop::onnx_index
