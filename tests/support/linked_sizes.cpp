// SPDX-License-Identifier: Apache-2.0
#include "tests/support/linked_sizes.h"

#include <algorithm>
#include <optional>
#include <string_view>
#include <utility>

#include "tests/support/desc.h"
#include "tests/support/random_desc.h"

namespace dmlop {
namespace {

using Sizes = std::vector<uint32_t>;

uint32_t NumberIn(const Entropy& from, uint64_t low, uint64_t high) {
  return static_cast<uint32_t>(from.Between(low, high));
}

TensorDesc TensorOf(Sizes sizes) {
  TensorDesc desc;
  desc.sizes = std::move(sizes);
  return desc;
}

// --- JOIN and SPLIT ------------------------------------------------------------------------------

// Parts that differ only along one axis, and the whole of them.
void DrawParts(const Entropy& from, Sizes sizes, std::string_view parts_field,
               std::string_view whole_field, OperatorDesc& op) {
  const uint32_t axis = static_cast<uint32_t>(from.Index(sizes.size()));
  const uint64_t count = from.OneIn(8) ? 1 : from.Between(2, 5);
  const uint64_t longest = from.OneIn(6) ? 70 : 3;
  std::vector<TensorDesc> parts;
  uint32_t sum = 0;
  while (parts.size() < count) {
    sizes[axis] = NumberIn(from, 1, longest);
    sum += sizes[axis];
    parts.push_back(TensorOf(sizes));
  }
  sizes[axis] = sum;
  Set(op, "Axis", axis);
  Set(op, parts_field, parts);
  Set(op, whole_field, TensorOf(sizes));
}

void DrawJoin(const Entropy& from, const Sizes& sizes, OperatorDesc& op) {
  DrawParts(from, sizes, "InputTensors", "OutputTensor", op);
}

void DrawSplit(const Entropy& from, const Sizes& sizes, OperatorDesc& op) {
  DrawParts(from, sizes, "OutputTensors", "InputTensor", op);
}

// --- windows -------------------------------------------------------------------------------------

Sizes Numbers(const Entropy& from, size_t count, uint64_t low, uint64_t high) {
  Sizes numbers(count);
  for (uint32_t& number : numbers) number = NumberIn(from, low, high);
  return numbers;
}

void DrawWindows(const Entropy& from, size_t count, OperatorDesc& op) {
  Set(op, "WindowSizes", Numbers(from, count, 1, count > 3 ? 2 : 4));
  Set(op, "Strides", Numbers(from, count, 1, 3));
  Set(op, "Dilations", Numbers(from, count, 1, 3));
  const uint64_t padding = from.OneIn(3) ? 0 : from.OneIn(4) ? 12 : 3;
  Set(op, "StartPadding", Numbers(from, count, 0, padding));
  Set(op, "EndPadding", Numbers(from, count, 0, padding));
}

// The sizes of UNFOLD's output for the windows of a descriptor; null if no window fits.
std::optional<Sizes> Unfolded(const OperatorDesc& op, const Sizes& sizes) {
  OperatorDesc unfold = OperatorNamed("UNFOLD");
  for (const char* field : {"WindowSizes", "Strides", "Dilations", "StartPadding", "EndPadding"}) {
    Set(unfold, field, Get<Sizes>(op, field));
  }
  TensorDesc input = TensorOf(sizes);
  input.data_type = DataType::kFloat32;
  unfold.set(kInputTensor, input);
  Complete(unfold);
  return unfold[kOutputTensor].sizes;
}

void DrawUnfold(const Entropy& from, const Sizes& sizes, OperatorDesc& op) {
  DrawWindows(from, sizes.size() - 2, op);
  if (from.OneIn(2)) return;
  // An output may also have the input's rank, with leading 1s.
  const auto unfolded = Unfolded(op, sizes);
  if (!unfolded) return;
  Sizes output(sizes.size() - 3, 1);
  output.insert(output.end(), unfolded->begin(), unfolded->end());
  Set(op, "OutputTensor", TensorOf(output));
}

// The columns that UNFOLD would make of the output, perhaps with leading 1s.
void DrawFold(const Entropy& from, const Sizes& sizes, OperatorDesc& op) {
  DrawWindows(from, sizes.size() - 2, op);
  auto columns = Unfolded(op, sizes);
  if (!columns) return;
  if (from.OneIn(2)) columns->insert(columns->begin(), sizes.size() - 3, 1);
  Set(op, "InputTensor", TensorOf(*columns));
  Set(op, "OutputTensor", TensorOf(sizes));
}

// --- matrix products -----------------------------------------------------------------------------

// Sets a tensor's sizes; it has the output's type.
void SetSizes(OperatorDesc& op, std::string_view field, Sizes sizes) {
  TensorDesc desc = TensorOf(std::move(sizes));
  desc.data_type = Get<TensorDesc>(op, "OutputTensor").data_type;
  Set(op, field, desc);
}

// Draws sizes that match those of C and the output, sometimes with several chains of products.
void DrawGemm(const Entropy& from, const Sizes& sizes, OperatorDesc& op) {
  Sizes a = sizes;
  Sizes b = sizes;
  const size_t m = sizes.size() - 2;
  const size_t n = sizes.size() - 1;
  const uint32_t length = from.OneIn(20) ? NumberIn(from, 250, 600) : NumberIn(from, 1, 9);
  a[n] = length;
  b[m] = length;
  if (Get<uint32_t>(op, "TransA") == 1) std::swap(a[m], a[n]);
  if (Get<uint32_t>(op, "TransB") == 1) std::swap(b[m], b[n]);
  SetSizes(op, "ATensor", a);
  SetSizes(op, "BTensor", b);
}

// Draws a filter that fits in the input and, sometimes, a larger output than necessary.
void DrawConvolution(const Entropy& from, const Sizes& sizes, OperatorDesc& op) {
  const size_t rank = sizes.size() - 2;
  const uint32_t groups = from.OneIn(3) ? NumberIn(from, 1, 4) : 1;
  const bool is_forward = Get<uint32_t>(op, "Direction") == 0;
  Sizes input = sizes;
  input[1] = groups * NumberIn(from, 1, from.OneIn(20) ? 40 : 4);
  const uint32_t outputs = NumberIn(from, 1, from.OneIn(20) ? 26 : 3);
  Sizes filter = is_forward ? Sizes{outputs * groups, input[1] / groups} : Sizes{input[1], outputs};
  const Sizes kernel = Numbers(from, rank, 1, rank > 2 ? 2 : 4);
  const Sizes dilations = Numbers(from, rank, 1, 3);
  Sizes paddings = Numbers(from, rank, 0, from.OneIn(2) ? 0 : 3);
  Sizes more(rank, 0);
  for (size_t d = 0; d < rank; ++d) {
    filter.push_back(kernel[d]);
    const uint32_t window = dilations[d] * (kernel[d] - 1) + 1;
    if (is_forward) {
      input[d + 2] = std::max(input[d + 2], window);
    } else if (paddings[d] >= window) {
      paddings[d] = 0;
    }
    if (from.OneIn(4)) more[d] = NumberIn(from, 1, 3);
  }
  Set(op, "Strides", Numbers(from, rank, 1, 4));
  Set(op, "Dilations", dilations);
  Set(op, "StartPadding", paddings);
  Set(op, "EndPadding", is_forward ? Numbers(from, rank, 0, 3) : Sizes(rank, 0));
  Set(op, "OutputPadding", more);
  Set(op, "GroupCount", groups);
  SetSizes(op, "InputTensor", input);
  SetSizes(op, "FilterTensor", filter);
  if (from.OneIn(2)) return op.Remove(*op.fields()[2]);
  Sizes bias(sizes.size(), 1);
  bias[1] = outputs * groups;
  SetSizes(op, "BiasTensor", bias);
}

// --- SLICE, SLICE1 and SLICE_GRAD ----------------------------------------------------------------

struct Window {
  Sizes offsets, sizes, steps;
  Sizes most;  // most steps along each dimension
};

Window DrawWindow(const Entropy& from, const Sizes& sizes) {
  Window window;
  for (const uint32_t size : sizes) {
    window.sizes.push_back(NumberIn(from, 1, size));
    window.offsets.push_back(NumberIn(from, 0, size - window.sizes.back()));
    window.steps.push_back(NumberIn(from, 1, 4));
    window.most.push_back((window.sizes.back() - 1) / window.steps.back() + 1);
  }
  return window;
}

void DrawSlice(const Entropy& from, const Sizes& sizes, OperatorDesc& op) {
  const Window window = DrawWindow(from, sizes);
  Set(op, "Offsets", window.offsets);
  Set(op, "Sizes", window.most);
  Set(op, "Strides", window.steps);
}

// Draws the fields of a window in a tensor of these sizes, and returns the sizes of the result.
Sizes DrawSteps(const Entropy& from, const Sizes& sizes, OperatorDesc& op) {
  const Window window = DrawWindow(from, sizes);
  Sizes taken;
  std::vector<int32_t> strides;
  for (size_t d = 0; d < sizes.size(); ++d) {
    const int32_t step = static_cast<int32_t>(window.steps[d]);
    strides.push_back(from.OneIn(2) ? -step : step);
    taken.push_back(from.OneIn(5) ? NumberIn(from, 1, window.most[d]) : window.most[d]);
  }
  Set(op, "InputWindowOffsets", window.offsets);
  Set(op, "InputWindowSizes", window.sizes);
  Set(op, "InputWindowStrides", strides);
  return taken;
}

void DrawSlice1(const Entropy& from, const Sizes& sizes, OperatorDesc& op) {
  Set(op, "OutputTensor", TensorOf(DrawSteps(from, sizes, op)));
}

void DrawSliceGrad(const Entropy& from, const Sizes& sizes, OperatorDesc& op) {
  Set(op, "InputGradientTensor", TensorOf(DrawSteps(from, sizes, op)));
  Set(op, "OutputGradientTensor", TensorOf(sizes));
}

// --- RESAMPLE and its gradient -------------------------------------------------------------------

// Usually a quotient of small numbers, rounded to FLOAT32.
float DrawScale(const Entropy& from) {
  const float plain[] = {1.0f, 2.0f, 0.5f, 0.25f, 3.0f, 0.499f, 1.5f};
  if (from.OneIn(2)) return from.OneOf(plain);
  return static_cast<float>(NumberIn(from, 1, 9)) / static_cast<float>(NumberIn(from, 1, 9));
}

float DrawOffset(const Entropy& from) {
  const float plain[] = {0.5f, -0.5f, 0.0f, 1.0f, 0.3f, -2.75f, 1e-20f};
  return from.OneOf(plain);
}

// The other side's sizes are free, but usually near the scaled ones.
Sizes DrawFactors(const Entropy& from, const Sizes& sizes, OperatorDesc& op) {
  std::vector<float> scales, input_offsets, output_offsets;
  const bool has_centres = from.OneIn(2);
  Sizes scaled;
  for (const uint32_t size : sizes) {
    scales.push_back(from.OneIn(3) ? 1.0f : DrawScale(from));
    input_offsets.push_back(has_centres ? 0.5f : DrawOffset(from));
    output_offsets.push_back(has_centres ? -0.5f : DrawOffset(from));
    const float length = std::max(1.0f, static_cast<float>(size) * scales.back());
    scaled.push_back(static_cast<uint32_t>(length) + (from.OneIn(4) ? NumberIn(from, 0, 2) : 0));
  }
  Set(op, "Scales", scales);
  if (op.name() == "RESAMPLE") return scaled;
  Set(op, "InputPixelOffsets", input_offsets);
  Set(op, "OutputPixelOffsets", output_offsets);
  return scaled;
}

void DrawResample(const Entropy& from, const Sizes& sizes, OperatorDesc& op) {
  const Sizes scaled = DrawFactors(from, sizes, op);
  if (from.OneIn(2)) Set(op, "OutputTensor", TensorOf(scaled));
}

void DrawResampleGrad(const Entropy& from, const Sizes& sizes, OperatorDesc& op) {
  Set(op, "InputGradientTensor", TensorOf(DrawFactors(from, sizes, op)));
  Set(op, "OutputGradientTensor", TensorOf(sizes));
}

// --- PADDING and TILE ----------------------------------------------------------------------------

// Usually no padding, or a few elements; sometimes far more than the input has.
void DrawPadding(const Entropy& from, const Sizes& sizes, OperatorDesc& op) {
  for (const char* field : {"StartPadding", "EndPadding"}) {
    Sizes padding;
    for (size_t d = 0; d < sizes.size(); ++d) {
      padding.push_back(from.OneIn(2) ? 0 : NumberIn(from, 0, from.OneIn(6) ? 20 : 3));
    }
    Set(op, field, padding);
  }
}

void DrawTile(const Entropy& from, const Sizes& sizes, OperatorDesc& op) {
  Sizes repeats;
  for (size_t d = 0; d < sizes.size(); ++d) {
    repeats.push_back(from.OneIn(2) ? 1 : NumberIn(from, 1, from.OneIn(6) ? 20 : 3));
  }
  Set(op, "Repeats", repeats);
}

// --- blocks of planes ----------------------------------------------------------------------------

void DrawDepthToSpace(const Entropy& from, const Sizes& sizes, OperatorDesc& op) {
  const uint32_t block = NumberIn(from, 1, 4);
  Set(op, "BlockSize", block);
  Set(op, "InputTensor",
      TensorOf({sizes[0], NumberIn(from, 1, 4) * block * block, NumberIn(from, 1, 7),
                NumberIn(from, 1, 20)}));
}

void DrawSpaceToDepth(const Entropy& from, const Sizes& sizes, OperatorDesc& op) {
  const uint32_t block = NumberIn(from, 1, 4);
  Set(op, "BlockSize", block);
  Set(op, "InputTensor",
      TensorOf({sizes[0], NumberIn(from, 1, 4), NumberIn(from, 1, 7) * block,
                NumberIn(from, 1, 20) * block}));
}

// --- quantization --------------------------------------------------------------------------------

// Scales and zero points have one element.
void DrawQuantizedAdd(const Entropy& from, const Sizes& sizes, OperatorDesc& op) {
  for (const Field* field : TensorFieldsOf(op.info())) {
    if (field->optional && from.OneIn(2)) op.AddTensor(*field);
  }
  for (const MutableTensorSlot& slot : TensorSlots(op)) {
    if (slot.role() == TensorRole::kOutput) continue;
    const bool is_addend = slot.path == kATensor.name || slot.path == kBTensor.name;
    slot.desc->sizes = is_addend ? sizes : Sizes(sizes.size(), 1);
  }
}

uint32_t DivisorOf(const Entropy& from, uint32_t size) {
  Sizes divisors;
  for (uint32_t divisor = 1; divisor <= size; ++divisor) {
    if (size % divisor == 0) divisors.push_back(divisor);
  }
  return from.OneOf(divisors);
}

// Draws a scale, and perhaps a zero point, for each block of the input.
void DrawQuantization(const Entropy& from, const Sizes& sizes, OperatorDesc& op) {
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
void DrawValueScale(const Entropy& from, const Sizes& sizes, OperatorDesc& op) {
  std::vector<float> bias(sizes[1]);
  for (float& number : bias) number = RandomFactor(from);
  Set(op, "Bias", bias);
}

constexpr LinkedSizes kRows[] = {
    {"JOIN", DrawJoin},
    {"SPLIT", DrawSplit},
    {"UNFOLD", DrawUnfold},
    {"FOLD", DrawFold},
    {"GEMM", DrawGemm},
    {"CONVOLUTION", DrawConvolution},
    {"RESAMPLE", DrawResample},
    {"RESAMPLE1", DrawResample},
    {"RESAMPLE2", DrawResample},
    {"RESAMPLE3", DrawResample},
    {"RESAMPLE_GRAD", DrawResampleGrad},
    {"RESAMPLE_GRAD1", DrawResampleGrad},
    {"SLICE", DrawSlice},
    {"SLICE1", DrawSlice1},
    {"SLICE_GRAD", DrawSliceGrad},
    {"PADDING", DrawPadding},
    {"PADDING1", DrawPadding},
    {"TILE", DrawTile},
    {"DEPTH_TO_SPACE", DrawDepthToSpace},
    {"DEPTH_TO_SPACE1", DrawDepthToSpace},
    {"SPACE_TO_DEPTH", DrawSpaceToDepth},
    {"SPACE_TO_DEPTH1", DrawSpaceToDepth},
    {"ELEMENT_WISE_QUANTIZED_LINEAR_ADD", DrawQuantizedAdd},
    {"QUANTIZE", DrawQuantization},
    {"DEQUANTIZE", DrawQuantization},
    {"VALUE_SCALE_2D", DrawValueScale},
};

const LinkedSizes* RowOf(const OperatorDesc& op) {
  for (const auto rows : {std::span<const LinkedSizes>(kRows), AttentionSizes(), IndexingSizes(),
                          IntegerProductSizes(), NormalizationSizes(), RecurrentSizes(),
                          RegionSizes(), WindowSizes()}) {
    for (const LinkedSizes& row : rows) {
      if (row.name == op.name()) return &row;
    }
  }
  return nullptr;
}

}  // namespace

void DrawLinkedSizes(const Entropy& from, const Sizes& sizes, OperatorDesc& op) {
  if (const LinkedSizes* row = RowOf(op)) row->draw(from, sizes, op);
}

bool DrawsOptionalTensors(const OperatorDesc& op) {
  const LinkedSizes* row = RowOf(op);
  return row != nullptr && row->draws_tensors;
}

}  // namespace dmlop
