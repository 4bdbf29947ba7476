// SPDX-License-Identifier: Apache-2.0
// Sizes and windows of poolings and the like, sizes of operators on regions and of attention, and
// fields of convolutions, normalizations and recurrent networks.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>
#include <string_view>

#include "core/engine/window/window_axis.h"
#include "core/fuzz/field_value.h"
#include "core/fuzz/random_desc.h"

namespace dmlop {
namespace {

// --- windows -------------------------------------------------------------------------------------

// Draws few taps usually; paddings may be longer than windows.
void DrawWindows(const DescEntropy& from, size_t count, OperatorDesc& op) {
  for (const char* taps : {"WindowSize", "WindowSizes"}) {
    if (HasField(op, taps)) Set(op, taps, from.Few(count, count > 3 ? 2 : 3, 9));
  }
  Set(op, "Strides", from.Few(count, from.OneIn(3) ? 1 : 3, 9));
  if (HasField(op, "Dilations")) Set(op, "Dilations", from.Few(count, 3, 7));
  const uint64_t padding = from.OneIn(3) ? 0 : from.OneIn(5) ? 9 : 2;
  Set(op, "StartPadding", from.Numbers(count, 0, padding));
  Set(op, "EndPadding", from.Numbers(count, 0, padding));
}

// --- poolings ------------------------------------------------------------------------------------

// The sizes that windows make of a tensor's sizes, perhaps one more if there is a remainder.
Sizes Pooled(const DescEntropy& from, const OperatorDesc& op, const Sizes& sizes) {
  const auto number = [&](std::string_view field, size_t d) {
    return int64_t{Get<Sizes>(op, field)[d]};
  };
  Sizes pooled = sizes;
  for (size_t d = 0; d + 2 < sizes.size(); ++d) {
    const WindowAxis axis{sizes[d + 2],
                          number("WindowSize", d),
                          number("Strides", d),
                          HasField(op, "Dilations") ? number("Dilations", d) : 1,
                          number("StartPadding", d),
                          number("EndPadding", d)};
    const bool has_rest = (axis.PaddedSize() - axis.Extent()) % axis.stride != 0;
    pooled[d + 2] = axis.Fits() ? static_cast<uint32_t>(axis.Outputs()) : 1;
    if (has_rest && from.OneIn(2)) ++pooled[d + 2];
  }
  return pooled;
}

void DrawPooling(const DescEntropy& from, const Sizes& sizes, OperatorDesc& op) {
  DrawWindows(from, sizes.size() - 2, op);
  SetSizes(op, "InputTensor", sizes);
  if (from.OneIn(2)) SetSizes(op, "OutputTensor", Pooled(from, op, sizes));
}

void DrawNorm(const DescEntropy& from, const Sizes& sizes, OperatorDesc& op) {
  DrawPooling(from, sizes, op);
  Set(op, "P", from.OneIn(8) ? from.Number(1, UINT32_MAX) : from.Number(1, 5));
}

// For one operator, the output's sizes follow from its InputTensor.
void DrawGradient(const DescEntropy& from, const Sizes& sizes, OperatorDesc& op) {
  DrawWindows(from, sizes.size() - 2, op);
  SetSizes(op, "InputGradientTensor", Pooled(from, op, sizes));
  if (HasField(op, "InputTensor")) SetSizes(op, "InputTensor", sizes);
  SetSizes(op, "OutputGradientTensor", sizes);
}

// --- regions -------------------------------------------------------------------------------------

// Puts some sizes of 1 in front, up to four dimensions.
Sizes BehindOnes(const DescEntropy& from, Sizes sizes) {
  const size_t rank = static_cast<size_t>(from.Between(sizes.size(), 4));
  sizes.insert(sizes.begin(), rank - sizes.size(), 1);
  return sizes;
}

float DrawRegionScale(const DescEntropy& from) {
  const float plain[] = {1.0f, 0.5f, 0.0625f, 0.3f, 2.0f, -1.0f};
  return from.OneIn(12) ? from.Factor() : from.OneOf(plain);
}

void DrawRegionPooling(const DescEntropy& from, const Sizes&, OperatorDesc& op) {
  Sizes image = from.Few(4, 7, 12);
  image[2] = from.SmallSize(7, 17);
  image[3] = from.SmallSize(7, 33);
  SetSizes(op, "InputTensor", image);
  SetSizes(op, "ROITensor", {1, 1, from.Few(4, 17), 5});
  const Sizes pooled = from.Few(2, 6, 9);
  Set(op, "PooledSize", Size2d{pooled[0], pooled[1]});
  Set(op, "SpatialScale", DrawRegionScale(from));
}

// Few samples, because the reference visits them all.
void DrawSamples(const DescEntropy& from, OperatorDesc& op) {
  constexpr uint32_t kAverage = 2;
  constexpr uint32_t kMax = 7;
  Set(op, "ReductionFunction", from.OneIn(2) ? kAverage : kMax);
  Set(op, "SpatialScaleX", DrawRegionScale(from));
  Set(op, "SpatialScaleY", DrawRegionScale(from));
  const uint32_t least = from.Number(1, 3);
  Set(op, "MinimumSamplesPerOutput", least);
  Set(op, "MaximumSamplesPerOutput", least + from.Number(1, 3) - 1);
  if (op.name() == "ROI_ALIGN") return;
  const float offsets[] = {0.0f, 0.5f, -0.5f, 0.25f, 1.0f};
  Set(op, "InputPixelOffset", from.OneIn(12) ? from.Factor() : from.OneOf(offsets));
  Set(op, "OutputPixelOffset", from.OneIn(12) ? from.Factor() : from.OneOf(offsets));
}

// Sets the sizes of the image, the output and one region for each output.
void DrawAlignment(const DescEntropy& from, const Sizes&, OperatorDesc& op) {
  const bool is_gradient = op.name() == "ROI_ALIGN_GRAD";
  Sizes image = from.Few(4, 6, 12);
  image[3] = from.SmallSize(6, 17);
  Sizes output = from.Few(4, 3, 9);
  output[1] = image[1];
  DrawSamples(from, op);
  SetSizes(op, "ROITensor", BehindOnes(from, {output[0], 4}));
  SetSizes(op, "BatchIndicesTensor", BehindOnes(from, {output[0]}));
  SetSizes(op, is_gradient ? "InputGradientTensor" : "OutputTensor", output);
  if (!is_gradient) return SetSizes(op, "InputTensor", image);
  if (from.OneIn(4)) {
    Set(op, "ReductionFunction", uint32_t{2});
    return SetSizes(op, "OutputGradientTensor", image);
  }
  SetSizes(op, "InputTensor", image);
  if (from.OneIn(2)) SetSizes(op, "OutputROIGradientTensor", BehindOnes(from, {output[0], 4}));
  if (from.OneIn(2)) SetSizes(op, "OutputGradientTensor", image);
}

// --- normalizations ------------------------------------------------------------------------------

// Usually no divisor is 0 or negative.
void DrawLocalResponse(const DescEntropy& from, const Sizes&, OperatorDesc& op) {
  const float factors[] = {1.0f, 1e-4f, 0.5f, 0.0f, 2.0f};
  const float powers[] = {0.75f, 0.5f, 1.0f, 0.0f, -1.0f, 2.5f};
  const bool is_plain = !from.OneIn(8);
  Set(op, "Alpha", is_plain ? from.OneOf(factors) : from.Factor());
  Set(op, "Beta", is_plain ? from.OneOf(powers) : static_cast<float>(from.Int(-3, 3)));
  Set(op, "Bias", is_plain ? from.OneOf(factors) : from.Factor());
}

// Draws an activation whose result is within the same bounds as its argument.
void DrawFusedActivation(const DescEntropy& from, const Sizes&, OperatorDesc& op) {
  const auto* const name = from.OneIn(2) ? "ACTIVATION_IDENTITY" : "ACTIVATION_RELU";
  op.set(kFusedActivation, std::vector{ActivationNamed(name)});
}

// Draws decays of moments, mostly usual ones.
void DrawDecays(const DescEntropy& from, const Sizes&, OperatorDesc& op) {
  for (const char* beta : {"Beta1", "Beta2"}) {
    const float plain[] = {0.0f, 0.5f, 0.9f, 0.999f, 1.0f, 0x1.fffffep-1f, 1e-30f};
    Set(op, beta, from.OneOf(plain));
  }
}

// --- convolutions --------------------------------------------------------------------------------

// Makes windows fit into the input and, backward, leave an output, which is sometimes larger than
// necessary.
void DrawConvolution(const DescEntropy& from, const Sizes& sizes, OperatorDesc& op) {
  const size_t count = sizes.size() - 2;
  const bool is_backward = HasField(op, "Direction") && Get<uint32_t>(op, "Direction") == 1;
  DrawWindows(from, count, op);
  Sizes input = sizes;
  Sizes more(count, 0);
  for (size_t d = 0; d < count; ++d) {
    const auto number = [&](const char* field) -> uint32_t& {
      return std::get<Sizes>(ValueOf(op, field))[d];
    };
    const auto taps = NumberAt(op, fmt::format("FilterTensor/Sizes/{}", d + 2)).value_or(1);
    const auto steps = static_cast<uint32_t>(taps - 1);
    uint32_t& dilation = number("Dilations");
    if (dilation * steps >= input[d + 2] && from.OneIn(2)) dilation = 1;
    if (!is_backward) input[d + 2] = std::max(input[d + 2], dilation * steps + 1);
    const uint32_t padding = number("StartPadding") + number("EndPadding");
    const bool leaves_none = is_backward && padding > dilation * steps;
    if (leaves_none) number("StartPadding") = number("EndPadding") = 0;
    if (from.OneIn(4)) more[d] = from.Number(1, 3);
  }
  SetSizes(op, "InputTensor", input);
  if (HasField(op, "OutputPadding")) Set(op, "OutputPadding", more);
}

// --- UNFOLD and FOLD -----------------------------------------------------------------------------

// The sizes of UNFOLD's output for the windows of a descriptor; null if no window fits.
std::optional<Sizes> Unfolded(const OperatorDesc& op, const Sizes& sizes) {
  OperatorDesc unfold = OperatorNamed("UNFOLD");
  for (const char* field : {"WindowSizes", "Strides", "Dilations", "StartPadding", "EndPadding"}) {
    Set(unfold, field, Get<Sizes>(op, field));
  }
  SetSizes(unfold, "InputTensor", sizes);
  unfold.at(kInputTensor).data_type = DataType::kFloat32;
  Complete(unfold);
  return unfold[kOutputTensor].sizes;
}

void DrawUnfold(const DescEntropy& from, const Sizes& sizes, OperatorDesc& op) {
  DrawWindows(from, sizes.size() - 2, op);
  if (from.OneIn(2)) return;
  // An output may also have the input's rank, with leading 1s.
  const auto unfolded = Unfolded(op, sizes);
  if (!unfolded) return;
  Sizes output(sizes.size() - 3, 1);
  output.insert(output.end(), unfolded->begin(), unfolded->end());
  SetSizes(op, "OutputTensor", output);
}

// The columns that UNFOLD would make of the output, perhaps with leading 1s.
void DrawFold(const DescEntropy& from, const Sizes& sizes, OperatorDesc& op) {
  DrawWindows(from, sizes.size() - 2, op);
  auto columns = Unfolded(op, sizes);
  if (!columns) return;
  if (from.OneIn(2)) columns->insert(columns->begin(), sizes.size() - 3, 1);
  SetSizes(op, "InputTensor", *columns);
  SetSizes(op, "OutputTensor", sizes);
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

// RNN has one function, GRU two and LSTM three, in each direction.
void DrawNetwork(const DescEntropy& from, const Sizes&, OperatorDesc& op) {
  constexpr uint32_t kBidirectional = 2;
  const size_t functions = op.name() == "RNN" ? 1 : op.name() == "GRU" ? 2 : 3;
  std::vector<OperatorDesc> activations;
  while (activations.size() <
         (Get<uint32_t>(op, "Direction") == kBidirectional ? 2 : 1) * functions) {
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

constexpr SizesRow kWindowRows[] = {
    {"AVERAGE_POOLING_GRAD MAX_POOLING_GRAD", DrawGradient},
    {"*LP_POOLING", DrawNorm},
    {"*AVERAGE_POOLING *MAX_POOLING", DrawPooling},
    {"*LOCAL_RESPONSE", DrawLocalResponse},
    {"ROI_ALIGN ROI_ALIGN1", DrawAlignment},
    {"ROI_ALIGN_GRAD", DrawAlignment, true},
    {"ROI_POOLING", DrawRegionPooling},
    {"ADAM_OPTIMIZER", DrawDecays},
    {"BATCH_NORMALIZATION BATCH_NORMALIZATION_TRAINING *MEAN_VARIANCE", DrawFusedActivation},
    {"UNFOLD", DrawUnfold},
    {"FOLD", DrawFold},
    {"*CONVOLUTION", DrawConvolution},
    {"GRU LSTM RNN", DrawNetwork},
    {"*MULTIHEAD", DrawAttention, true},
};

}  // namespace

std::span<const SizesRow> WindowSizes() {
  return kWindowRows;
}

}  // namespace dmlop
