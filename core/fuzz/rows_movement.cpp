// SPDX-License-Identifier: Apache-2.0
// Sizes for operators that move elements, to fixed places or to those that values say.
#include <algorithm>
#include <string_view>
#include <utility>

#include "core/fuzz/field_value.h"
#include "core/fuzz/random_desc.h"

namespace dmlop {
namespace {

// --- JOIN and SPLIT ------------------------------------------------------------------------------

// Parts that differ only along one axis, and the whole of them.
void DrawParts(const DescEntropy& from, Sizes sizes, std::string_view parts_field,
               std::string_view whole_field, OperatorDesc& op) {
  const uint32_t axis = from.Number(0, sizes.size() - 1);
  const uint64_t count = from.OneIn(8) ? 1 : 1 + from.Few(4, 16);
  const uint64_t longest = from.OneIn(6) ? 70 : 3;
  std::vector<TensorDesc> parts;
  uint32_t sum = 0;
  while (parts.size() < count) {
    sizes[axis] = from.Size(longest);
    sum += sizes[axis];
    parts.emplace_back().sizes = sizes;
  }
  sizes[axis] = sum;
  Set(op, "Axis", axis);
  Set(op, parts_field, parts);
  SetSizes(op, whole_field, sizes);
}

void DrawJoin(const DescEntropy& from, const Sizes& sizes, OperatorDesc& op) {
  DrawParts(from, sizes, "InputTensors", "OutputTensor", op);
}

void DrawSplit(const DescEntropy& from, const Sizes& sizes, OperatorDesc& op) {
  DrawParts(from, sizes, "OutputTensors", "InputTensor", op);
}

// --- SLICE, SLICE1 and SLICE_GRAD ----------------------------------------------------------------

struct Window {
  Sizes offsets, sizes, steps;
  Sizes most;  // most steps along each dimension
};

Window DrawWindow(const DescEntropy& from, const Sizes& sizes) {
  Window window;
  for (const uint32_t size : sizes) {
    window.sizes.push_back(from.Number(1, size));
    window.offsets.push_back(from.Number(0, size - window.sizes.back()));
    window.steps.push_back(from.Few(4, 17));
    window.most.push_back((window.sizes.back() - 1) / window.steps.back() + 1);
  }
  return window;
}

void DrawSlice(const DescEntropy& from, const Sizes& sizes, OperatorDesc& op) {
  const Window window = DrawWindow(from, sizes);
  Set(op, "Offsets", window.offsets);
  Set(op, "Sizes", window.most);
  Set(op, "Strides", window.steps);
}

// Draws the fields of a window in a tensor of these sizes, and returns the sizes of the result.
Sizes DrawSteps(const DescEntropy& from, const Sizes& sizes, OperatorDesc& op) {
  const Window window = DrawWindow(from, sizes);
  Sizes taken;
  std::vector<int32_t> strides;
  for (size_t d = 0; d < sizes.size(); ++d) {
    const int32_t step = static_cast<int32_t>(window.steps[d]);
    strides.push_back(from.OneIn(2) ? -step : step);
    taken.push_back(from.OneIn(5) ? from.Number(1, window.most[d]) : window.most[d]);
  }
  Set(op, "InputWindowOffsets", window.offsets);
  Set(op, "InputWindowSizes", window.sizes);
  Set(op, "InputWindowStrides", strides);
  return taken;
}

void DrawSlice1(const DescEntropy& from, const Sizes& sizes, OperatorDesc& op) {
  SetSizes(op, "OutputTensor", DrawSteps(from, sizes, op));
}

void DrawSliceGrad(const DescEntropy& from, const Sizes& sizes, OperatorDesc& op) {
  SetSizes(op, "InputGradientTensor", DrawSteps(from, sizes, op));
  SetSizes(op, "OutputGradientTensor", sizes);
}

// --- RESAMPLE and its gradient -------------------------------------------------------------------

// Draws a quotient of small numbers usually, rounded to FLOAT32.
float DrawScale(const DescEntropy& from) {
  const float plain[] = {1.0f, 2.0f, 0.5f, 0.25f, 3.0f, 0.499f, 1.5f};
  if (from.OneIn(2)) return from.OneOf(plain);
  return static_cast<float>(from.Number(1, 9)) / static_cast<float>(from.Number(1, 9));
}

float DrawOffset(const DescEntropy& from) {
  const float plain[] = {0.5f, -0.5f, 0.0f, 1.0f, 0.3f, -2.75f, 1e-20f};
  return from.OneOf(plain);
}

// The other side's sizes are free, but usually near the scaled ones.
Sizes DrawFactors(const DescEntropy& from, const Sizes& sizes, OperatorDesc& op) {
  std::vector<float> scales, input_offsets, output_offsets;
  const bool has_centres = from.OneIn(2);
  Sizes scaled;
  for (const uint32_t size : sizes) {
    scales.push_back(from.OneIn(3) ? 1.0f : DrawScale(from));
    input_offsets.push_back(has_centres ? 0.5f : DrawOffset(from));
    output_offsets.push_back(has_centres ? -0.5f : DrawOffset(from));
    const float length = std::max(1.0f, static_cast<float>(size) * scales.back());
    scaled.push_back(static_cast<uint32_t>(length) + (from.OneIn(4) ? from.Number(0, 2) : 0));
  }
  Set(op, "Scales", scales);
  if (op.name() == "RESAMPLE") return scaled;
  Set(op, "InputPixelOffsets", input_offsets);
  Set(op, "OutputPixelOffsets", output_offsets);
  return scaled;
}

void DrawResample(const DescEntropy& from, const Sizes& sizes, OperatorDesc& op) {
  const Sizes scaled = DrawFactors(from, sizes, op);
  if (from.OneIn(2)) SetSizes(op, "OutputTensor", scaled);
}

void DrawResampleGrad(const DescEntropy& from, const Sizes& sizes, OperatorDesc& op) {
  SetSizes(op, "InputGradientTensor", DrawFactors(from, sizes, op));
  SetSizes(op, "OutputGradientTensor", sizes);
}

// --- PADDING and TILE ----------------------------------------------------------------------------

// Draws no padding usually, or a few elements; sometimes far more than the input has.
void DrawPadding(const DescEntropy& from, const Sizes& sizes, OperatorDesc& op) {
  for (const char* field : {"StartPadding", "EndPadding"}) {
    Sizes padding;
    for (size_t d = 0; d < sizes.size(); ++d) {
      padding.push_back(from.OneIn(2) ? 0 : from.Number(0, from.OneIn(6) ? 20 : 3));
    }
    Set(op, field, padding);
  }
}

void DrawTile(const DescEntropy& from, const Sizes& sizes, OperatorDesc& op) {
  Sizes repeats;
  for (size_t d = 0; d < sizes.size(); ++d) {
    repeats.push_back(from.OneIn(2) ? 1 : from.Number(1, from.OneIn(6) ? 20 : 3));
  }
  Set(op, "Repeats", repeats);
}

// --- blocks of planes ----------------------------------------------------------------------------

void DrawDepthToSpace(const DescEntropy& from, const Sizes& sizes, OperatorDesc& op) {
  const uint32_t block = from.Few(4, 8);
  Set(op, "BlockSize", block);
  SetSizes(op, "InputTensor",
           {sizes[0], from.Number(1, 4) * block * block, from.Number(1, 7), from.Number(1, 20)});
}

void DrawSpaceToDepth(const DescEntropy& from, const Sizes& sizes, OperatorDesc& op) {
  const uint32_t block = from.Few(4, 8);
  Set(op, "BlockSize", block);
  SetSizes(op, "InputTensor",
           {sizes[0], from.Number(1, 4), from.Number(1, 7) * block, from.Number(1, 20) * block});
}

// --- quantization --------------------------------------------------------------------------------

uint32_t DivisorOf(const DescEntropy& from, uint32_t size) {
  Sizes divisors;
  for (uint32_t divisor = 1; divisor <= size; ++divisor) {
    if (size % divisor == 0) divisors.push_back(divisor);
  }
  return from.OneOf(divisors);
}

// Draws a scale, and perhaps a zero point, for each block of the input.
void DrawQuantization(const DescEntropy& from, const Sizes& sizes, OperatorDesc& op) {
  TensorDesc scale = Get<TensorDesc>(op, "InputTensor");
  TensorDesc zero_point = Get<TensorDesc>(op, "OutputTensor");
  if (!IsFloat(*scale.data_type)) std::swap(scale, zero_point);
  Sizes blocks;
  for (const uint32_t size : sizes) blocks.push_back(DivisorOf(from, size));
  scale.sizes = blocks;
  zero_point.sizes = blocks;
  std::vector<TensorDesc> tensors = {scale};
  if (Get<uint32_t>(op, "QuantizationType") == 2) tensors.push_back(zero_point);
  Set(op, "QuantizationTensors", tensors);
}

// --- VALUE_SCALE_2D ------------------------------------------------------------------------------

// Draws a bias for each channel.
void DrawValueScale(const DescEntropy& from, const Sizes& sizes, OperatorDesc& op) {
  std::vector<float> bias(sizes[1]);
  for (float& number : bias) number = from.Factor();
  Set(op, "Bias", bias);
}

// --- places that depend on values ----------------------------------------------------------------

uint32_t DrawAxis(const DescEntropy& from, const Sizes& sizes, OperatorDesc& op) {
  const uint32_t axis = from.Number(0, sizes.size() - 1);
  Set(op, "Axis", axis);
  return axis;
}

Sizes WithAxis(Sizes sizes, uint32_t axis, uint32_t size) {
  sizes[axis] = size;
  return sizes;
}

// `count` sizes after leading 1s.
Sizes LastOf(const DescEntropy& from, size_t rank, size_t count, uint32_t most) {
  Sizes sizes(rank, 1);
  for (size_t d = rank - count; d < rank; ++d) sizes[d] = from.SmallSize(most, 4 * most);
  return sizes;
}

// Leading 1s make room for more dimensions of the indices.
void DrawGather(const DescEntropy& from, const Sizes& sizes, OperatorDesc& op) {
  Sizes input = sizes;
  const size_t ones = from.Index(input.size());
  std::fill_n(input.begin(), ones, 1u);
  const size_t most = std::min(ones + 1, input.size());
  const size_t count = static_cast<size_t>(from.Between(0, most));
  SetSizes(op, "InputTensor", input);
  SetSizes(op, "IndicesTensor", LastOf(from, input.size(), count, count > 4 ? 2 : 5));
  Set(op, "Axis", from.Number(ones, input.size() - 1));
  Set(op, "IndexDimensions", static_cast<uint32_t>(count));
}

void DrawElements(const DescEntropy& from, const Sizes& sizes, OperatorDesc& op) {
  const uint32_t axis = DrawAxis(from, sizes, op);
  // Updates of one element may not be the same, unless it does not matter which of them wins.
  const bool are_free = from.limits().open || op.name() != "SCATTER";
  const uint32_t most = are_free ? 33 : sizes[axis];
  const Sizes indices = WithAxis(sizes, axis, from.SmallSize(std::min(9u, most), most));
  SetSizes(op, "InputTensor", sizes);
  SetSizes(op, "IndicesTensor", indices);
  if (op.name() == "SCATTER") SetSizes(op, "UpdatesTensor", indices);
}

uint64_t ProductOf(const Sizes& sizes, size_t begin, size_t end) {
  uint64_t product = 1;
  for (size_t d = begin; d < end; ++d) product *= sizes[d];
  return product;
}

// Leaves at most as many tuples as the first dimensions of the input have places.
void LimitTuples(const Sizes& input, size_t input_dims, Sizes& indices) {
  const size_t first = input.size() - input_dims;
  const uint64_t most = ProductOf(input, first, first + indices.back());
  for (size_t d = 0; d + 1 < indices.size(); ++d) {
    if (ProductOf(indices, 0, indices.size() - 1) > most) indices[d] = 1;
  }
}

void DrawTuples(const DescEntropy& from, const Sizes& sizes, OperatorDesc& op) {
  const size_t rank = sizes.size();
  const size_t input_dims = static_cast<size_t>(from.Between(1, rank));
  Sizes input(rank, 1);
  std::copy(sizes.begin(), sizes.begin() + static_cast<ptrdiff_t>(input_dims),
            input.end() - static_cast<ptrdiff_t>(input_dims));
  const size_t index_dims = static_cast<size_t>(from.Between(1, rank));
  const bool has_batches = op.name() == "GATHER_ND1";
  const size_t batch_dims = has_batches ? from.Index(std::min(input_dims, index_dims)) : 0;
  Sizes indices = LastOf(from, rank, index_dims, 4);
  const size_t chosen = static_cast<size_t>(from.Between(1, input_dims - batch_dims));
  for (size_t b = 0; b < batch_dims; ++b) {
    indices[rank - index_dims + b] = input[rank - input_dims + b];
  }
  indices.back() = static_cast<uint32_t>(chosen);
  if (op.name() == "SCATTER_ND" && !from.limits().open) LimitTuples(input, input_dims, indices);
  SetSizes(op, "InputTensor", input);
  SetSizes(op, "IndicesTensor", indices);
  Set(op, "InputDimensionCount", static_cast<uint32_t>(input_dims));
  Set(op, "IndicesDimensionCount", static_cast<uint32_t>(index_dims));
  if (has_batches) Set(op, "BatchDimensionCount", static_cast<uint32_t>(batch_dims));
  if (op.name() != "SCATTER_ND") return;
  Sizes updates(indices.begin() + static_cast<ptrdiff_t>(rank - index_dims), indices.end() - 1);
  updates.insert(updates.end(), input.end() - static_cast<ptrdiff_t>(input_dims - chosen),
                 input.end());
  while (updates.size() < rank) updates.insert(updates.begin(), 1);
  SetSizes(op, "UpdatesTensor", updates);
}

void DrawReversed(const DescEntropy& from, const Sizes& sizes, OperatorDesc& op) {
  SetSizes(op, "InputTensor", sizes);
  SetSizes(op, "SequenceLengthsTensor", WithAxis(sizes, DrawAxis(from, sizes, op), 1));
}

// At least two values, along any dimension.
void DrawOneHot(const DescEntropy& from, const Sizes& sizes, OperatorDesc& op) {
  const uint32_t axis = DrawAxis(from, sizes, op);
  const Sizes ones(sizes.size(), 1);
  SetSizes(op, "IndicesTensor", WithAxis(sizes, axis, 1));
  const uint32_t values_axis = from.Number(0, sizes.size() - 1);
  SetSizes(op, "ValuesTensor", WithAxis(ones, values_axis, from.Number(2, 4)));
  SetSizes(op, "OutputTensor", sizes);
}

void DrawUnpooling(const DescEntropy& from, const Sizes& sizes, OperatorDesc& op) {
  const size_t rank = sizes.size();
  const Sizes input = LastOf(from, rank, rank, 4);
  SetSizes(op, "InputTensor", input);
  SetSizes(op, "IndicesTensor", input);
  Sizes output = LastOf(from, rank, rank, 5);
  // No two elements have the same place, unless it does not matter which of them wins.
  while (!from.limits().open && ProductOf(output, 0, rank) < ProductOf(input, 0, rank)) {
    ++output.back();
  }
  SetSizes(op, "OutputTensor", output);
}

// The output's sizes are drawn, because they do not follow from the state.
void DrawGenerator(const DescEntropy& from, const Sizes& sizes, OperatorDesc& op) {
  Sizes state(static_cast<size_t>(from.Between(1, kMaxRank)), 1);
  state.back() = 6;
  SetSizes(op, "InputStateTensor", state);
  SetSizes(op, "OutputTensor", sizes);
}

void DrawSelection(const DescEntropy& from, const Sizes& sizes, OperatorDesc& op) {
  const uint32_t axis = DrawAxis(from, sizes, op);
  SetSizes(op, "InputTensor", sizes);
  Set(op, "K", from.Number(1, sizes[axis]));
}

// At least as many coordinates as the input has dimensions after its leading 1s.
void DrawNonzero(const DescEntropy& from, const Sizes& sizes, OperatorDesc& op) {
  Sizes input = sizes;
  constexpr uint32_t kMost = 200;  // in elements
  uint32_t room = kMost;
  for (uint32_t& size : input) {
    size = std::min(size, room);
    room /= size;
  }
  SetSizes(op, "InputTensor", input);
  const auto first = std::find_if(input.begin(), input.end(), [](uint32_t n) { return n != 1; });
  const auto least = static_cast<uint64_t>(std::max<int64_t>(1, input.end() - first));
  if (from.OneIn(3)) return;
  SetSizes(op, "OutputCountTensor", Sizes(static_cast<size_t>(from.Between(1, kMaxRank)), 1));
  Sizes coordinates(static_cast<size_t>(from.Between(2, kMaxRank)), 1);
  coordinates.end()[-1] = from.Number(least, input.size());
  uint32_t elements = 1;
  for (const uint32_t size : input) elements *= size;
  coordinates.end()[-2] = elements;
  SetSizes(op, "OutputCoordinatesTensor", coordinates);
}

// --- all of them ---------------------------------------------------------------------------------

constexpr SizesRow kMovementRows[] = {
    {"JOIN", DrawJoin},
    {"SPLIT", DrawSplit},
    {"RESAMPLE RESAMPLE1 RESAMPLE2 RESAMPLE3", DrawResample},
    {"RESAMPLE_GRAD RESAMPLE_GRAD1", DrawResampleGrad},
    {"SLICE", DrawSlice},
    {"SLICE1", DrawSlice1},
    {"SLICE_GRAD", DrawSliceGrad},
    {"PADDING PADDING1", DrawPadding},
    {"TILE", DrawTile},
    {"DEPTH_TO_SPACE DEPTH_TO_SPACE1", DrawDepthToSpace},
    {"SPACE_TO_DEPTH SPACE_TO_DEPTH1", DrawSpaceToDepth},
    {"QUANTIZE DEQUANTIZE", DrawQuantization},
    {"VALUE_SCALE_2D", DrawValueScale},
    {"GATHER", DrawGather},
    {"GATHER_ELEMENTS SCATTER", DrawElements},
    {"GATHER_ND GATHER_ND1 SCATTER_ND", DrawTuples},
    {"MAX_UNPOOLING", DrawUnpooling},
    {"NONZERO_COORDINATES", DrawNonzero},
    {"ONE_HOT", DrawOneHot},
    {"RANDOM_GENERATOR", DrawGenerator},
    {"REVERSE_SUBSEQUENCES", DrawReversed},
    {"TOP_K TOP_K1", DrawSelection},
};

}  // namespace

std::span<const SizesRow> MovementSizes() {
  return kMovementRows;
}

}  // namespace dmlop
