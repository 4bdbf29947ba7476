// SPDX-License-Identifier: Apache-2.0
// Pools and other functions of windows, and regions of images.
#include <algorithm>
#include <cmath>

#include "core/base/text.h"
#include "core/onnx/onnx_steps.h"

namespace dmlop::onnx_window {
namespace {

constexpr size_t kLeastRank = 4;  // of DirectML's pools

OnnxSizes WithSpatial(const OnnxSizes& sizes, const OnnxSizes& spatial) {
  OnnxSizes all = {sizes[0], sizes[1]};
  all.insert(all.end(), spatial.begin(), spatial.end());
  return all;
}

bool HasGaps(const OnnxWindows& windows) {
  return std::ranges::any_of(windows.dilations, [](int64_t n) { return n != 1; });
}

// A pool's tensors, with ranks that DirectML has, and its windows.
struct Pool {
  OnnxOperand input, output;
  OnnxSettings windows;
  bool has_gaps;
};

Pool PoolOf(OnnxCall& call, const OnnxSizes& kernel, OnnxValue& x) {
  OnnxWindows windows = WindowsOf(call, SpatialSizes(call, x), kernel);
  const OnnxSizes sizes = WithSpatial(x.sizes, windows.output);
  const bool has_gaps = HasGaps(windows);
  windows.Fill(kLeastRank - 2);
  Pool pool{Reshaped(x, SpatialOnes(x.sizes, kLeastRank)),
            call.Out(0, x.type, sizes, SpatialOnes(sizes, kLeastRank)),
            {{"Strides", windows.strides},
             {"WindowSize", windows.sizes},
             {"StartPadding", windows.starts},
             {"EndPadding", windows.ends}},
            has_gaps};
  if (has_gaps) pool.windows.emplace_back("Dilations", windows.dilations);
  return pool;
}

// The windows of the attributes, or for global pools of whole images.
Pool PoolOf(OnnxCall& call) {
  OnnxValue& x = call.In(0);
  const OnnxSizes spatial = SpatialSizes(call, x);
  const bool is_global = call.name().starts_with("Global");
  return PoolOf(call, is_global ? spatial : KernelShape(call, spatial.size(), nullptr), x);
}

void AveragePool(OnnxCall& call) {
  Pool pool = PoolOf(call);
  pool.windows.emplace_back("IncludePadding", call.Int("count_include_pad", 0) != 0);
  EmitUnary(call, pool.has_gaps ? "AVERAGE_POOLING1" : "AVERAGE_POOLING", pool.input, pool.output,
            pool.windows);
}

void LpPool(OnnxCall& call) {
  Pool pool = PoolOf(call);
  pool.windows.emplace_back("P", call.Int("p", 2));
  EmitUnary(call, pool.has_gaps ? "LP_POOLING1" : "LP_POOLING", pool.input, pool.output,
            pool.windows);
}

void MaxPool(OnnxCall& call) {
  Pool pool = PoolOf(call);
  const bool has_indices = call.Wants(1);
  if (has_indices) call.RequireInt("storage_order", 0);
  const bool is_plain = !has_indices && !pool.has_gaps && IsFloat(call.In(0).type.type);
  if (is_plain) {
    EmitUnary(call, "MAX_POOLING", pool.input, pool.output, pool.windows);
    return;
  }
  if (has_indices) {
    const OnnxOperand indices = call.Out(1, kOnnxInt64, pool.output.value->sizes,
                                         SpatialOnes(pool.output.value->sizes, kLeastRank));
    pool.windows.insert(pool.windows.begin(),
                        {"OutputIndicesTensor", AsType(indices, DataType::kUint64)});
  }
  if (!pool.has_gaps) {
    pool.windows.emplace_back("Dilations", OnnxSizes(pool.input.desc.sizes->size() - 2, 1));
  }
  EmitUnary(call, "MAX_POOLING2", pool.input, pool.output, pool.windows);
}

void MaxUnpool(OnnxCall& call) {
  OnnxValue& x = call.In(0);
  const OnnxSizes spatial = SpatialSizes(call, x);
  const OnnxSizes kernel = KernelShape(call, spatial.size(), nullptr);
  const OnnxSizes strides = SpatialNumbers(call, "strides", spatial.size());
  const OnnxSizes pads = PadsOf(call, spatial.size());
  OnnxSizes output;
  for (size_t d = 0; d < spatial.size(); ++d) {
    output.push_back((spatial[d] - 1) * strides[d] - pads[d] - pads[d + spatial.size()] +
                     kernel[d]);
  }
  const OnnxSizes sizes = RequireSizes(WithSpatial(x.sizes, output));
  if (call.Has(2)) {
    const OnnxSizes given = call.Integers(2);
    if (given != sizes) {
      call.Refuse("ONX-3",
                  "output_shape is {}, and indices count in the inferred {}, which no DirectML "
                  "operator tells apart",
                  ToString(given), ToString(sizes));
    }
  }
  if (call.In(1).sizes != x.sizes) {
    call.Refuse("ONX-4", "indices of {} for {}", ToString(call.In(1).sizes), ToString(x.sizes));
  }
  call.Emit(
      "MAX_UNPOOLING",
      {{"InputTensor", Reshaped(x, SpatialOnes(x.sizes, kLeastRank))},
       {"IndicesTensor",
        AsType(Reshaped(call.In(1), SpatialOnes(call.In(1).sizes, kLeastRank)), DataType::kUint64)},
       {"OutputTensor", call.Out(0, x.type, sizes, SpatialOnes(sizes, kLeastRank))}});
}

// --- transposed convolutions ---------------------------------------------------------------------

// The numbers of elements that a transposed convolution cuts off at both ends of a spatial
// dimension and adds to it, and the size that results.
struct Cut {
  int64_t start, end, added, output;
};

// `full` is what all windows cover together, and `output` the size that is asked for.
Cut CutTo(int64_t full, int64_t added, int64_t output, bool upper) {
  const int64_t total = full + added - output;
  if (total < 0) return {0, 0, output - full, output};
  const int64_t start = upper ? total / 2 : (total + 1) / 2;
  return {start, total - start, added, output};
}

std::optional<OnnxSizes> OutputShape(const OnnxCall& call, size_t spatial) {
  auto shape = call.Ints("output_shape");
  if (!shape) return std::nullopt;
  if (shape->size() < spatial) {
    call.Refuse("ONX-3", "output_shape {} for {}", ToString(*shape), Counted(spatial, "dimension"));
  }
  return OnnxSizes(shape->end() - static_cast<std::ptrdiff_t>(spatial), shape->end());
}

std::vector<Cut> CutsOf(OnnxCall& call, const OnnxSizes& input, const OnnxSizes& strides,
                        const OnnxSizes& extents) {
  const size_t count = input.size();
  const auto shape = OutputShape(call, count);
  const OnnxSizes pads = PadsOf(call, count);
  const auto added = call.Ints("output_padding").value_or(OnnxSizes(count, 0));
  if (added.size() != count) call.Refuse("ONX-3", "output_padding {}", ToString(added));
  const std::string_view auto_pad = call.Text("auto_pad", "NOTSET");
  const bool is_same = auto_pad.starts_with("SAME");
  std::vector<Cut> cuts;
  for (size_t d = 0; d < count; ++d) {
    const int64_t full = strides[d] * (input[d] - 1) + extents[d];
    if (shape || is_same) {
      const int64_t output = shape ? (*shape)[d] : input[d] * strides[d];
      cuts.push_back(CutTo(full, added[d], output, auto_pad == "SAME_UPPER"));
    } else {
      const bool is_valid = auto_pad == "VALID";
      const int64_t start = is_valid ? 0 : pads[d], end = is_valid ? 0 : pads[d + count];
      cuts.push_back({start, end, added[d], full + added[d] - start - end});
    }
  }
  if (shape || is_same) {
    call.Note("ORT's DirectML provider pads by the formula of Conv here, and forgets dilations");
  }
  return cuts;
}

OnnxSizes PartOfCuts(const std::vector<Cut>& cuts, int64_t Cut::*member) {
  OnnxSizes numbers;
  for (const Cut& cut : cuts) numbers.push_back(cut.*member);
  return numbers;
}

void EmitTransposed(OnnxCall& call, const std::vector<Cut>& cuts, const OnnxSizes& strides,
                    const OnnxSizes& dilations, size_t bias) {
  OnnxValue& x = call.In(0);
  OnnxValue& filter = call.In(1);
  const int64_t groups = call.Int("group", 1);
  if (groups < 1 || groups > x.sizes[1]) call.Refuse("ONX-3", "group {}", groups);
  const OnnxSizes output = PartOfCuts(cuts, &Cut::output);
  const OnnxSizes sizes = RequireSizes(WithSpatial({x.sizes[0], filter.sizes[1] * groups}, output));
  OnnxSettings settings = {{"InputTensor", Packed(x)},
                           {"FilterTensor", Packed(filter)},
                           {"OutputTensor", call.Out(0, x.type, sizes)},
                           {"Mode", "CROSS_CORRELATION"},
                           {"Direction", "BACKWARD"},
                           {"Strides", strides},
                           {"Dilations", dilations},
                           {"StartPadding", PartOfCuts(cuts, &Cut::start)},
                           {"EndPadding", PartOfCuts(cuts, &Cut::end)},
                           {"OutputPadding", PartOfCuts(cuts, &Cut::added)},
                           {"GroupCount", groups}};
  if (call.Has(bias)) {
    settings.insert(settings.begin() + 2, {"BiasTensor", Along(call.In(bias), 1, x.rank())});
  }
  call.Emit("CONVOLUTION", settings);
}

void ConvTranspose(OnnxCall& call) {
  const OnnxSizes input = SpatialSizes(call, call.In(0));
  const OnnxSizes taps = SpatialSizes(call, call.In(1));
  if (taps.size() != input.size()) {
    call.Refuse("ONX-4", "the filter {} is none for {}", ToString(call.In(1).sizes),
                ToString(call.In(0).sizes));
  }
  const OnnxSizes kernel = KernelShape(call, input.size(), &taps);
  const OnnxSizes strides = SpatialNumbers(call, "strides", input.size());
  const OnnxSizes dilations = SpatialNumbers(call, "dilations", input.size());
  OnnxSizes extents;
  for (size_t d = 0; d < kernel.size(); ++d) extents.push_back((kernel[d] - 1) * dilations[d] + 1);
  EmitTransposed(call, CutsOf(call, input, strides, extents), strides, dilations,
                 call.name() == kDynamicPads ? 3 : 2);
}

// --- regions -------------------------------------------------------------------------------------

void MaxRoiPool(OnnxCall& call) {
  OnnxValue& x = call.In(0);
  OnnxValue& regions = call.In(1);
  const auto pooled = call.Ints("pooled_shape").value_or(OnnxSizes());
  if (pooled.size() != 2 || x.rank() != 4 || regions.rank() != 2) {
    call.Refuse("ONX-3", "pooled_shape {} of {} and regions {}", ToString(pooled),
                ToString(x.sizes), ToString(regions.sizes));
  }
  const OnnxSizes sizes = {regions.sizes[0], x.sizes[1], pooled[0], pooled[1]};
  call.Emit(
      "ROI_POOLING",
      {{"InputTensor", Packed(x)},
       {"ROITensor", AtRank(regions, 4)},
       {"OutputTensor", call.Out(0, x.type, RequireSizes(sizes))},
       {"SpatialScale", call.Float("spatial_scale", 1)},
       {"PooledSize", Size2d{static_cast<uint32_t>(pooled[1]), static_cast<uint32_t>(pooled[0])}}});
}

// Returns the end of a region that is one pixel long; null if the type has no such number.
std::optional<ElementBytes> EndBehind(double begin, float scale, DataType type) {
  if (!IsFloat(type)) return std::nullopt;
  const ElementBytes end = ScalarOf(type, (begin + 1) / scale).bytes;
  const bool is_finite = std::isfinite(KnownElements{type, 1, end.data()}.Number(0));
  return is_finite ? std::optional(end) : std::nullopt;
}

// Regions {x1, y1, x2, y2}, each at least one pixel wide and high, as ONNX takes them where its
// coordinates are those of the output's pixels. Widens those that are known, unless the scale is so
// small that they would be infinite.
OnnxValue& WidenedRegions(OnnxCall& call, OnnxValue& regions, float scale) {
  const auto known = call.Known(1);
  if (!known) {
    call.Note("ONNX widens regions below one pixel to one, DirectML does not");
    return regions;
  }
  std::vector<std::byte> elements;
  bool is_widened = false;
  for (int64_t i = 0; i < known->count; ++i) {
    ElementBytes element = known->Bytes(i);
    const double begin = i % 4 < 2 ? 0 : known->Number(i - 2) * scale;
    const bool is_short = i % 4 >= 2 && known->Number(i) * scale - begin < 1 && scale > 0;
    const auto end = is_short ? EndBehind(begin, scale, regions.type.type) : std::nullopt;
    is_widened = is_widened || end;
    element = end.value_or(element);
    const auto width = static_cast<std::ptrdiff_t>(ByteWidth(regions.type.type));
    elements.insert(elements.end(), element.begin(), element.begin() + width);
  }
  return is_widened ? call.Constant(regions.type, regions.sizes, elements) : regions;
}

void RoiAlign(OnnxCall& call) {
  OnnxValue& x = call.In(0);
  OnnxValue& regions = call.In(1);
  if (x.rank() != 4 || regions.rank() != 2 || regions.sizes[1] != 4) {
    call.Refuse("ONX-4", "{} and regions {}", ToString(x.sizes), ToString(regions.sizes));
  }
  const OnnxSizes sizes = {regions.sizes[0], x.sizes[1], call.Int("output_height", 1),
                           call.Int("output_width", 1)};
  const std::string_view coordinates = call.Text(
      "coordinate_transformation_mode", call.version() < 16 ? "output_half_pixel" : "half_pixel");
  const bool is_half_pixel = coordinates == "half_pixel";
  if (!is_half_pixel && coordinates != "output_half_pixel") {
    call.Refuse("ONX-3", "coordinate_transformation_mode '{}'", coordinates);
  }
  const bool is_max = call.Text("mode", "avg") == "max";
  if (!is_max) call.RequireText("mode", "avg");
  const int64_t samples = call.Int("sampling_ratio", 0);
  const float scale = call.Float("spatial_scale", 1);
  OnnxValue& taken = is_half_pixel ? regions : WidenedRegions(call, regions, scale);
  if (call.version() < 16) call.Note("ORT's DirectML provider computes half_pixel here");
  if (is_max) call.Note("ONNX takes the maximum of weighted corners, DirectML that of samples");
  call.Emit("ROI_ALIGN1", {{"InputTensor", Packed(x)},
                           {"ROITensor", Packed(taken)},
                           {"BatchIndicesTensor", AsType(Packed(call.In(2)), DataType::kUint64)},
                           {"OutputTensor", call.Out(0, x.type, RequireSizes(sizes))},
                           {"ReductionFunction", is_max ? "MAX" : "AVERAGE"},
                           {"InterpolationMode", "LINEAR"},
                           {"SpatialScaleX", scale},
                           {"SpatialScaleY", scale},
                           {"InputPixelOffset", is_half_pixel ? 0.5 : 0.0},
                           {"OutputPixelOffset", -0.5},
                           {"OutOfBoundsInputValue", 0},
                           {"MinimumSamplesPerOutput", std::max<int64_t>(samples, 1)},
                           {"MaximumSamplesPerOutput", samples > 0 ? samples : int64_t{0xFFFFFFFF}},
                           {"AlignRegionsToCorners", false}});
}

// --- others --------------------------------------------------------------------------------------

// Only the channels are neighbors, so all other dimensions may become one.
void Lrn(OnnxCall& call) {
  OnnxValue& x = call.In(0);
  if (x.rank() < 2) call.Refuse("ONX-4", "{} has no channels", ToString(x.sizes));
  const OnnxSizes laid_out =
      x.rank() == 4
          ? x.sizes
          : OnnxSizes{x.sizes[0], x.sizes[1], CountOf({x.sizes.begin() + 2, x.sizes.end()}), 1};
  EmitUnary(call, "LOCAL_RESPONSE_NORMALIZATION", Reshaped(x, laid_out),
            call.Out(0, x.type, x.sizes, laid_out),
            {{"CrossChannel", true},
             {"LocalSize", call.Int("size", 1)},
             {"Alpha", call.Float("alpha", 0.0001F)},
             {"Beta", call.Float("beta", 0.75F)},
             {"Bias", call.Float("bias", 1)}});
}

void Col2Im(OnnxCall& call) {
  OnnxValue& x = call.In(0);
  const OnnxSizes image = call.Integers(1);
  const OnnxSizes block = call.Integers(2);
  if (x.rank() != 3 || block.size() != image.size() || CountOf(block) <= 0) {
    call.Refuse("ONX-4", "{} with blocks {} is no image {}", ToString(x.sizes), ToString(block),
                ToString(image));
  }
  const OnnxSizes pads = PadsOf(call, image.size());
  const auto middle = pads.begin() + static_cast<std::ptrdiff_t>(image.size());
  const OnnxSizes sizes = WithSpatial({x.sizes[0], x.sizes[1] / CountOf(block)}, image);
  const OnnxSizes starts(pads.begin(), middle), ends(middle, pads.end());
  if (starts != ends) call.Note("ORT's DirectML provider takes the padding in front for both ends");
  EmitUnary(call, "FOLD", Packed(x), call.Out(0, x.type, RequireSizes(sizes)),
            {{"WindowSizes", block},
             {"Strides", SpatialNumbers(call, "strides", image.size())},
             {"Dilations", SpatialNumbers(call, "dilations", image.size())},
             {"StartPadding", starts},
             {"EndPadding", ends}});
}

const OnnxRow kRows[] = {
    {"AveragePool", "7 10 11 19 22", "AVERAGE_POOLING AVERAGE_POOLING1", AveragePool,
     "AVERAGE_POOLING1 with dilations"},
    {"Col2Im", "18", "FOLD", Col2Im},
    {"ConvTranspose", "7 11 22", "CONVOLUTION", ConvTranspose,
     "Mode CROSS_CORRELATION, Direction BACKWARD"},
    {"GlobalAveragePool", "7 22", "AVERAGE_POOLING", AveragePool, "one window"},
    {"GlobalLpPool", "7 22", "LP_POOLING", LpPool, "one window"},
    {"GlobalMaxPool", "7 22", "MAX_POOLING", MaxPool, "one window"},
    {"LRN", "7 13", "LOCAL_RESPONSE_NORMALIZATION", Lrn, "CrossChannel true"},
    {"LpPool", "7 11 18 22", "LP_POOLING LP_POOLING1", LpPool, "LP_POOLING1 with dilations"},
    {"MaxPool", "7 8 10 11 12 22", "MAX_POOLING MAX_POOLING2", MaxPool,
     "MAX_POOLING2 with indices or dilations"},
    {"MaxRoiPool", "7 22", "ROI_POOLING", MaxRoiPool},
    {"MaxUnpool", "9 11 22", "MAX_UNPOOLING", MaxUnpool},
    {"RoiAlign", "10 16 22", "ROI_ALIGN1", RoiAlign, "InterpolationMode LINEAR"},
    {kDynamicPads, "1", "CONVOLUTION", ConvTranspose, "Direction BACKWARD", kContrib},
};

}  // namespace

extern const std::span<const OnnxRow> kOnnxRows = kRows;

}  // namespace dmlop::onnx_window
