// DML_CONVOLUTION_OPERATOR_DESC: sums of products of a filter with windows of the input, or the
// transpose of that. For the channels c of a group and the taps k of the filter
//
//   FORWARD   Output[n, o, p] = Bias[o] + sum of Input[n, c, p * S - SP + k * L] * Filter[o, c, k]
//   BACKWARD  Output[n, o, p] = Bias[o] + sum of Input[n, c, i] * Filter[c, o, k]
//                               over p + SP - k * L = i * S
//
// with the strides S, dilations L and the start padding SP. In the mode CONVOLUTION the filter is
// turned around in every spatial dimension.
//
// BACKWARD is a forward convolution for each residue of p modulo S: those taps reach it whose k * L
// has the right residue, and the elements that they read are neighbours.
#include <algorithm>
#include <array>
#include <cstdint>
#include <memory>
#include <numeric>
#include <string_view>
#include <utility>

#include "core/base/checked_math.h"
#include "core/base/integer_division.h"
#include "core/base/machine.h"
#include "core/base/parallel.h"
#include "core/engine/matrix/matrix_product.h"
#include "core/engine/matrix/window_lines.h"
#include "core/ops/families.h"
#include "core/ops/inference.h"
#include "core/ops/rows.h"

namespace dmlop {
namespace {

enum Mode : uint32_t { kConvolution, kCrossCorrelation };
constexpr std::string_view kModeNames[] = {"CONVOLUTION", "CROSS_CORRELATION"};
enum Direction : uint32_t { kForward, kBackward };
constexpr std::string_view kDirectionNames[] = {"FORWARD", "BACKWARD"};

constexpr Limits Spatial(uint32_t min) {
  return {.min = min,
          .rule = min > 0 ? "CTR-5" : "",
          .min_count = 1,
          .max_count = 3,
          .count_rule = "CTR-4"};
}
constexpr auto kFilterTensor = field::Input("FilterTensor");
constexpr auto kBiasTensor = field::Optional(field::Input("BiasTensor"));
constexpr auto kMode = field::Enum("Mode", {"DML_CONVOLUTION_MODE_", kModeNames});
constexpr auto kDirection =
    field::Enum("Direction", {"DML_CONVOLUTION_DIRECTION_", kDirectionNames});
constexpr auto kStrides = field::Uints("Strides", Spatial(1));
constexpr auto kDilations = field::Uints("Dilations", Spatial(1));
constexpr auto kStartPadding = field::Uints("StartPadding", Spatial(0));
constexpr auto kEndPadding = field::Uints("EndPadding", Spatial(0));
constexpr auto kOutputPadding = field::Uints("OutputPadding", Spatial(0));
constexpr auto kGroupCount = field::Uint("GroupCount", {.min = 1, .rule = "CTR-5"});
constexpr auto kActivation = field::FusedActivation(ActivationHost::kConvolution);
constexpr const Field* kFields[] = {
    &kInputTensor, &kFilterTensor,   &kBiasTensor, &kOutputTensor, &kMode,
    &kDirection,   &kDimensionCount, &kStrides,    &kDilations,    &kStartPadding,
    &kEndPadding,  &kOutputPadding,  &kGroupCount, &kActivation};

constexpr SupportRow kRows[] = {
    {Level(1, 0), 4, 5, {types::kFloats}},
    {Level(4, 0), 3, 5, {types::kFloats}},
};
constexpr SupportTable kSupport[] = {{kRows}};
constexpr Rule kRules[] = {
    {"CONV-1", "the tensors agree in DataType and DimensionCount"},
    {"CONV-2",
     "GroupCount divides the channels; the filter is {O, C / G, K...} or, BACKWARD, {C, O / G, "
     "K...}, the bias {1, O, 1...}, the output {N, O, ...}"},
    {"CONV-4", "the padded input holds a window, and the output has a position for each"},
    {"CTR-4", "each array has an entry for each spatial dimension"},
    {"CTR-5", "Strides, Dilations and GroupCount are not 0"},
    kCanBeFused,
    kFusedHasNoTensors,
};

// --- sizes ---------------------------------------------------------------------------------------

bool IsForward(const OperatorDesc& op) {
  return op[kDirection] == kForward;
}

size_t SpatialRank(const OperatorDesc& op) {
  return op[kStrides].size();
}

int64_t KernelSize(const OperatorDesc& op, size_t d) {
  return op.sizes(kFilterTensor)[d + 2];
}

// step * (count - 1), or a number that is too large for any tensor.
int64_t Reach(uint32_t step, int64_t count) {
  constexpr uint64_t kFar = uint64_t{1} << 60;
  const CheckedU64 reach = CheckedMul(step, static_cast<uint64_t>(count - 1));
  return static_cast<int64_t>(std::min(reach.value_or(kFar), kFar));
}

int64_t Padding(const OperatorDesc& op, size_t d) {
  return int64_t{op[kStartPadding][d]} + op[kEndPadding][d];
}

// The positions of a dimension that have a window, without OutputPadding.
int64_t WindowPositions(const OperatorDesc& op, size_t d) {
  const int64_t input = op.sizes(kInputTensor)[d + 2];
  const int64_t window = Reach(op[kDilations][d], KernelSize(op, d)) + 1;
  if (IsForward(op)) return FloorDiv(input + Padding(op, d) - window, op[kStrides][d]) + 1;
  return Reach(op[kStrides][d], input) + window - Padding(op, d);
}

// --- rules ---------------------------------------------------------------------------------------

bool RequireCounts(const OperatorDesc& op, Inference& infer) {
  const size_t rank = op[kInputTensor].rank();
  return infer.Require(SpatialRank(op) + 2 == rank, "CTR-4", At(kStrides),
                       "{} entries; expected {}, two less than InputTensor has dimensions",
                       SpatialRank(op), static_cast<int64_t>(rank) - 2);
}

bool RequireChannels(const OperatorDesc& op, Inference& infer) {
  const TensorAt input = infer.tensor(kInputTensor);
  const TensorAt filter = infer.tensor(kFilterTensor);
  if (!infer.RequireSameRank("CONV-1", filter, input)) return false;
  const uint32_t groups = op[kGroupCount];
  const uint32_t channels = input.sizes()[1];
  if (!infer.Require(channels % groups == 0, "CONV-2", At(kGroupCount),
                     "{} does not divide the {} channels of InputTensor", groups, channels)) {
    return false;
  }
  const uint32_t first = filter.sizes()[0];
  if (!IsForward(op)) {
    return infer.Require(first == channels, "CONV-2", SizeAt(filter, 0),
                         "{}; expected {}, the channels of InputTensor", first, channels);
  }
  return infer.Require(first % groups == 0, "CONV-2", SizeAt(filter, 0),
                       "{} is no multiple of the {} groups", first, groups) &&
         infer.Require(filter.sizes()[1] == channels / groups, "CONV-2", SizeAt(filter, 1),
                       "{}; expected {}, the channels of a group", filter.sizes()[1],
                       channels / groups);
}

uint64_t OutputChannels(const OperatorDesc& op) {
  const Sizes& filter = op.sizes(kFilterTensor);
  return IsForward(op) ? filter[0] : uint64_t{filter[1]} * op[kGroupCount];
}

// The sizes of the output; empty where a window does not fit.
std::vector<uint64_t> InferPositions(const OperatorDesc& op, Inference& infer) {
  std::vector<uint64_t> sizes = {op.sizes(kInputTensor)[0], OutputChannels(op)};
  bool all_fit = true;
  for (size_t d = 0; d < SpatialRank(op); ++d) {
    const int64_t windows = WindowPositions(op, d);
    if (IsForward(op)) {
      all_fit &= infer.Require(windows > 0, "CONV-4", SizeAt(infer.tensor(kFilterTensor), d + 2),
                               "a window of {} with a dilation of {} does not fit into the padded "
                               "size {}",
                               KernelSize(op, d), op[kDilations][d],
                               op.sizes(kInputTensor)[d + 2] + Padding(op, d));
    }
    const int64_t size = windows + op[kOutputPadding][d];
    all_fit &= infer.Require(IsForward(op) || size > 0, "CONV-4", At(kStartPadding, d),
                             "the paddings leave {} positions", size);
    sizes.push_back(static_cast<uint64_t>(std::max<int64_t>(size, 0)));
  }
  return all_fit ? sizes : std::vector<uint64_t>();
}

// BACKWARD, without OutputPadding, several sizes have the same windows forward.
bool MayBeLarger(const OperatorDesc& op, size_t d) {
  return !IsForward(op) && op[kOutputPadding][d] == 0;
}

void InferOutput(const OperatorDesc& op, std::vector<uint64_t> sizes, Inference& infer) {
  if (op[kOutputTensor].sizes && op[kOutputTensor].rank() == sizes.size()) {
    const TensorAt output = infer.tensor(kOutputTensor);
    for (size_t d = 0; d < SpatialRank(op); ++d) {
      if (!MayBeLarger(op, d)) continue;
      const uint64_t least = sizes[d + 2];
      const uint64_t most = least + std::max(op[kStrides][d], op[kDilations][d]) - 1;
      const uint64_t stated = output.sizes()[d + 2];
      if (!infer.Require(least <= stated && stated <= most, "CONV-4", SizeAt(output, d + 2),
                         "{}; expected {} to {}", stated, least, most)) {
        return;
      }
      sizes[d + 2] = stated;
    }
  }
  const bool has_rule_of_size =
      !op[kOutputTensor].sizes || op[kOutputTensor].rank() != sizes.size() ||
      (op.sizes(kOutputTensor)[0] == sizes[0] && op.sizes(kOutputTensor)[1] == sizes[1]);
  infer.Output(has_rule_of_size ? "CONV-4" : "CONV-2", kOutputTensor, sizes);
}

void Infer(const OperatorDesc& op, Inference& infer) {
  if (op[kInputTensor].rank() < 3) return;  // no level supports it
  if (!RequireCounts(op, infer) || !RequireChannels(op, infer)) return;
  if (op.Has(kBiasTensor) &&
      infer.RequireSameRank("CONV-1", infer.tensor(kBiasTensor), infer.tensor(kInputTensor))) {
    Sizes bias(op[kInputTensor].rank(), 1);
    bias[1] = static_cast<uint32_t>(OutputChannels(op));
    infer.RequireSizes("CONV-2", infer.tensor(kBiasTensor), bias);
  }
  const std::vector<uint64_t> sizes = InferPositions(op, infer);
  if (!sizes.empty()) InferOutput(op, sizes, infer);
}

// --- one dimension -------------------------------------------------------------------------------

// Positions of a part of the output that the same taps reach: `first`, and every step-th after it.
// The taps are those of the filter from `first_tap` on, with steps between them, too.
struct Residue {
  int64_t first, step;
  WindowAxis axis;
  int64_t first_tap, tap_step;
};

class Dimension {
 public:
  Dimension(const OperatorDesc& op, size_t d)
      : input_(op.sizes(kInputTensor)[d + 2]),
        kernel_(KernelSize(op, d)),
        stride_(op[kStrides][d]),
        dilation_(op[kDilations][d]),
        start_padding_(op[kStartPadding][d]),
        windows_(WindowPositions(op, d)),
        is_forward_(IsForward(op)),
        is_turned_(op[kMode] == kConvolution) {}

  int64_t kernel() const { return kernel_; }

  // Of the positions [begin, begin + size) of the output.
  std::vector<Residue> Residues(int64_t begin, int64_t size) const {
    if (is_forward_) return {Forward(begin, size)};
    std::vector<Residue> residues;
    for (int64_t first = 0; first < std::min(size, stride_); ++first) {
      residues.push_back(Backward(begin, size, first));
    }
    return residues;
  }

  // The elements of the input that a tap takes to positions; empty where it takes none.
  IndexRange ElementsOf(int64_t tap, int64_t begin, int64_t size) const {
    const int64_t last = begin + size - 1;
    int64_t first_element, last_element;
    if (is_forward_) {
      const int64_t offset = tap * dilation_ - start_padding_;
      // Positions whose elements lie in the padding come before and after the others.
      const int64_t from = std::max(begin, CeilDiv(-offset, stride_));
      const int64_t to = std::min({last, windows_ - 1, FloorDiv(input_ - 1 - offset, stride_)});
      if (from > to) return {0, 0};
      first_element = from * stride_ + offset;
      last_element = to * stride_ + offset;
    } else {
      const int64_t offset = start_padding_ - tap * dilation_;
      first_element = std::max<int64_t>(0, CeilDiv(begin + offset, stride_));
      last_element = std::min(input_ - 1, FloorDiv(last + offset, stride_));
    }
    return {first_element, std::max<int64_t>(0, last_element - first_element + 1)};
  }

  // Where the filter has a tap.
  int64_t InFilter(int64_t tap) const { return is_turned_ ? kernel_ - 1 - tap : tap; }

 private:
  Residue Forward(int64_t begin, int64_t size) const {
    const WindowAxis axis{input_,  size,      kernel_,         begin * stride_ - start_padding_,
                          stride_, dilation_, windows_ - begin};
    return {0, 1, axis, InFilter(0), is_turned_ ? -1 : 1};
  }

  // Without taps where none reaches the positions.
  Residue Backward(int64_t begin, int64_t size, int64_t first) const {
    const int64_t place = begin + first + start_padding_;
    const int64_t divisor = std::gcd(stride_, dilation_);
    const int64_t step = stride_ / divisor;
    int64_t tap = 0;
    while (tap < std::min(step, kernel_) && (place - tap * dilation_) % stride_ != 0) ++tap;
    const bool has_taps = tap < std::min(step, kernel_);
    const int64_t positions = (size - 1 - first) / stride_ + 1;
    const WindowAxis axis{input_,
                          positions,
                          has_taps ? (kernel_ - 1 - tap) / step + 1 : 0,
                          (place - tap * dilation_) / stride_,
                          1,
                          -dilation_ / divisor,
                          positions};
    return {first, stride_, axis, InFilter(tap), is_turned_ ? -step : step};
  }

  int64_t input_, kernel_, stride_, dilation_, start_padding_;
  int64_t windows_;  // positions that have one, FORWARD
  bool is_forward_, is_turned_;
};

std::vector<Dimension> DimensionsOf(const OperatorDesc& op) {
  std::vector<Dimension> dimensions;
  for (size_t d = 0; d < SpatialRank(op); ++d) dimensions.emplace_back(op, d);
  return dimensions;
}

// --- groups --------------------------------------------------------------------------------------

struct Channels {
  int64_t inputs, outputs;  // of a group
};

Channels ChannelsOf(const OperatorDesc& op) {
  const int64_t groups = op[kGroupCount];
  return {op.sizes(kInputTensor)[1] / groups, static_cast<int64_t>(OutputChannels(op)) / groups};
}

// --- sources -------------------------------------------------------------------------------------

// The tensors of a descriptor that hold what a part of the output is computed from by one tap.
class TapSources {
 public:
  TapSources(const OperatorDesc& op, int64_t tap)
      : op_(op), dimensions_(DimensionsOf(op)), channels_(ChannelsOf(op)) {
    Dims kernel;
    for (const Dimension& dimension : dimensions_) kernel.push_back(dimension.kernel());
    tap_ = IndexOf(kernel, tap);
  }

  std::optional<Region> InInput(const Region& output) const {
    const IndexRange groups = GroupsOf(output);
    Region region{0,
                  {output.begin[0], groups.begin * channels_.inputs},
                  {output.sizes[0], groups.count * channels_.inputs}};
    for (size_t d = 0; d < dimensions_.size(); ++d) {
      const IndexRange elements =
          dimensions_[d].ElementsOf(tap_[d], output.begin[d + 2], output.sizes[d + 2]);
      if (elements.count == 0) return std::nullopt;
      region.begin.push_back(elements.begin);
      region.sizes.push_back(elements.count);
    }
    return region;
  }

  std::optional<Region> InFilter(const Region& output) const {
    if (!InInput(output)) return std::nullopt;
    const IndexRange groups = GroupsOf(output);
    Region region{1, {output.begin[1], 0}, {output.sizes[1], channels_.inputs}};
    if (!IsForward(op_)) {
      const bool is_one = groups.count == 1;
      region.begin = {groups.begin * channels_.inputs,
                      is_one ? output.begin[1] % channels_.outputs : 0};
      region.sizes = {groups.count * channels_.inputs,
                      is_one ? output.sizes[1] : channels_.outputs};
    }
    for (size_t d = 0; d < dimensions_.size(); ++d) {
      region.begin.push_back(dimensions_[d].InFilter(tap_[d]));
      region.sizes.push_back(1);
    }
    return region;
  }

 private:
  IndexRange GroupsOf(const Region& output) const {
    const int64_t first = output.begin[1] / channels_.outputs;
    const int64_t last = (output.begin[1] + output.sizes[1] - 1) / channels_.outputs;
    return {first, last - first + 1};
  }

  const OperatorDesc& op_;
  std::vector<Dimension> dimensions_;
  Channels channels_;
  Dims tap_;
};

int64_t TapCount(const OperatorDesc& op) {
  int64_t count = 1;
  for (size_t d = 0; d < SpatialRank(op); ++d) count *= KernelSize(op, d);
  return count;
}

std::vector<SourceMap> Sources(const OperatorDesc& op) {
  std::vector<SourceMap> maps;
  for (int64_t tap = 0; tap < TapCount(op); ++tap) {
    const auto sources = std::make_shared<const TapSources>(op, tap);
    maps.push_back([sources](const Region& output) { return sources->InInput(output); });
    maps.push_back([sources](const Region& output) { return sources->InFilter(output); });
  }
  if (op.Has(kBiasTensor)) {
    maps.push_back([](const Region& output) {
      Region region{2, Dims::Filled(output.begin.size(), 0), Dims::Filled(output.begin.size(), 1)};
      region.begin[1] = output.begin[1];
      region.sizes[1] = output.sizes[1];
      return std::optional<Region>(region);
    });
  }
  return maps;
}

ProductSum Products(const OperatorDesc& op, const Dims& output_index) {
  const Region output{0, output_index, Dims::Filled(output_index.size(), 1)};
  const size_t channel_of_filter = IsForward(op) ? 1 : 0;
  ProductSum sum;
  for (int64_t tap = 0; tap < TapCount(op); ++tap) {
    const TapSources sources(op, tap);
    const std::optional<Region> from = sources.InInput(output);
    if (!from) continue;
    const Region weights = *sources.InFilter(output);
    for (int64_t c = 0; c < from->sizes[1]; ++c) {
      InputElement element{0, from->begin};
      element.index[1] += c;
      InputElement weight{1, weights.begin};
      weight.index[channel_of_filter] += c;
      sum.products.emplace_back(element, weight);
    }
  }
  if (op.Has(kBiasTensor)) {
    sum.addend = InputElement{2, Dims::Filled(output_index.size(), 0)};
    sum.addend->index[1] = output_index[1];
  }
  return sum;
}

int64_t Operations(const OperatorDesc& op) {
  const Channels channels = ChannelsOf(op);
  const Sizes& places = op.sizes(IsForward(op) ? kOutputTensor : kInputTensor);
  const int64_t products = IsForward(op) ? channels.inputs : channels.outputs;
  return Product(Dims(places.begin(), places.end())) * products * TapCount(op);
}

// --- products ------------------------------------------------------------------------------------

alignas(float) constexpr std::array<std::byte, sizeof(float)> kZero{};

// The part of the output that one product of matrices computes: output channels of one group, and
// a residue in each dimension.
struct ProductPart {
  IndexRange channels;  // of the output, as the operator has them
  std::vector<Residue> residues;
};

class Convolution {
 public:
  Convolution(const OperatorDesc& op, InputViews inputs, const Dims& begin,
              const TensorView& output)
      : op_(op), inputs_(inputs), begin_(begin), output_(output), channels_(ChannelsOf(op)) {}

  void Run() const {
    const std::vector<ProductPart> parts = Parts();
    const int64_t count = static_cast<int64_t>(parts.size());
    const int64_t work = output_.layout.element_count() / count * channels_.inputs * TapCount(op_);
    // Large products run on all threads one after another.
    const int64_t grain = count < ThreadCount() ? count : kParallelElements / (work + 1) + 1;
    ParallelFor(count, grain, output_.element_bytes(), [&](int64_t first, int64_t last) {
      for (int64_t i = first; i < last; ++i) Multiply(parts[static_cast<size_t>(i)]);
    });
  }

 private:
  std::vector<ProductPart> Parts() const {
    std::vector<std::vector<Residue>> residues;
    Dims counts;
    for (size_t d = 0; d < SpatialRank(op_); ++d) {
      residues.push_back(Dimension(op_, d).Residues(begin_[d + 2], output_.layout.sizes[d + 2]));
      counts.push_back(static_cast<int64_t>(residues.back().size()));
    }
    std::vector<ProductPart> parts;
    const int64_t end = begin_[1] + output_.layout.sizes[1];
    for (int64_t channel = begin_[1]; channel < end;) {
      const int64_t group_end = (channel / channels_.outputs + 1) * channels_.outputs;
      const int64_t next = std::min(end, group_end);
      for (int64_t i = 0; i < Product(counts); ++i) {
        ProductPart part{{channel, next - channel}, {}};
        const Dims number = IndexOf(counts, i);
        for (size_t d = 0; d < number.size(); ++d) {
          part.residues.push_back(residues[d][static_cast<size_t>(number[d])]);
        }
        parts.push_back(std::move(part));
      }
      channel = next;
    }
    return parts;
  }

  void Multiply(const ProductPart& part) const {
    const MatrixOutput to = OutputOf(part);
    MatrixTerms terms;
    if (inputs_.size() > 2) terms.addends.push_back({BiasOf(part, to.columns)});
    const bool has_taps = std::all_of(part.residues.begin(), part.residues.end(),
                                      [](const Residue& one) { return one.axis.taps > 0; });
    if (!has_taps) return MultiplyZeros(terms, to);
    const ViewLines rows(FilterOf(part));
    ConstTensorView input = inputs_[0];
    input = input.Slice(0, begin_[0], output_.layout.sizes[0]);
    input = input.Slice(1, part.channels.begin / channels_.outputs * channels_.inputs,
                        channels_.inputs);
    if (TakesEachElement(part)) {
      const ViewLines columns(ElementsOf(input, part));
      return MultiplyMatrices(rows, columns, terms, to);
    }
    std::vector<WindowAxis> axes;
    for (const Residue& residue : part.residues) axes.push_back(residue.axis);
    const WindowLines columns(input, std::move(axes));
    MultiplyMatrices(rows, columns, terms, to);
  }

  // The sum of no products is +0.
  void MultiplyZeros(const MatrixTerms& terms, const MatrixOutput& to) const {
    const auto zeros = [&](const Layout& lines) {
      return MatrixView{kZero.data(),
                        output_.type,
                        {lines.sizes, Dims::Filled(lines.rank(), 0)},
                        PackedLayout({1})};
    };
    const ViewLines rows(zeros(to.rows));
    const ViewLines columns(zeros(to.columns));
    MultiplyMatrices(rows, columns, terms, to);
  }

  // Whether windows are single elements, none of them in the padding.
  static bool TakesEachElement(const ProductPart& part) {
    return std::all_of(part.residues.begin(), part.residues.end(), [](const Residue& residue) {
      const WindowAxis& axis = residue.axis;
      return axis.taps == 1 && axis.Has(0, 0) && axis.Has(axis.positions - 1, 0);
    });
  }

  static MatrixView ElementsOf(const ConstTensorView& input, const ProductPart& part) {
    const Layout& layout = input.layout;
    MatrixView view{input.data,
                    input.type,
                    {{layout.sizes[0]}, {layout.strides[0]}},
                    {{layout.sizes[1]}, {layout.strides[1]}}};
    int64_t offset = 0;
    for (size_t d = 0; d < part.residues.size(); ++d) {
      const WindowAxis& axis = part.residues[d].axis;
      offset += axis.first * layout.strides[d + 2];
      view.lines.sizes.push_back(axis.positions);
      view.lines.strides.push_back(axis.position_step * layout.strides[d + 2]);
    }
    view.data += offset * static_cast<int64_t>(ByteWidth(input.type));
    return view;
  }

  // Output channels, each with the taps of the part, and the channels of the group within them.
  MatrixView FilterOf(const ProductPart& part) const {
    const ConstTensorView& filter = inputs_[1];
    const Dims& strides = filter.layout.strides;
    const int64_t group = part.channels.begin / channels_.outputs;
    const size_t output_dim = IsForward(op_) ? 0 : 1;
    const int64_t first_output =
        IsForward(op_) ? part.channels.begin : part.channels.begin % channels_.outputs;
    const int64_t first_input = IsForward(op_) ? 0 : group * channels_.inputs;
    int64_t offset = first_output * strides[output_dim] + first_input * strides[1 - output_dim];
    MatrixView view{filter.data, filter.type, {{part.channels.count}, {strides[output_dim]}}, {}};
    for (size_t d = 0; d < part.residues.size(); ++d) {
      const Residue& residue = part.residues[d];
      offset += residue.first_tap * strides[d + 2];
      view.inner.sizes.push_back(residue.axis.taps);
      view.inner.strides.push_back(residue.tap_step * strides[d + 2]);
    }
    view.inner.sizes.push_back(channels_.inputs);
    view.inner.strides.push_back(strides[1 - output_dim]);
    view.data += offset * static_cast<int64_t>(ByteWidth(filter.type));
    return view;
  }

  MatrixOutput OutputOf(const ProductPart& part) const {
    const Layout& layout = output_.layout;
    const int64_t first_channel = part.channels.begin - begin_[1];
    int64_t offset = first_channel * layout.strides[1];
    MatrixOutput to{output_.data,
                    output_.type,
                    {{part.channels.count}, {layout.strides[1]}},
                    {{layout.sizes[0]}, {layout.strides[0]}}};
    for (size_t d = 0; d < part.residues.size(); ++d) {
      const Residue& residue = part.residues[d];
      offset += residue.first * layout.strides[d + 2];
      to.columns.sizes.push_back(residue.axis.positions);
      to.columns.strides.push_back(residue.step * layout.strides[d + 2]);
    }
    to.data += offset * static_cast<int64_t>(ByteWidth(output_.type));
    return to;
  }

  BasicMatrixPlaces<const std::byte> BiasOf(const ProductPart& part, const Layout& columns) const {
    const ConstTensorView bias = inputs_[2].Slice(1, part.channels.begin, part.channels.count);
    return {bias.data,
            bias.type,
            {{part.channels.count}, {bias.layout.strides[1]}},
            {columns.sizes, Dims::Filled(columns.rank(), 0)}};
  }

  const OperatorDesc& op_;
  InputViews inputs_;
  const Dims& begin_;
  const TensorView& output_;
  Channels channels_;
};

void Run(const OperatorDesc& op, InputViews inputs, const Dims& begin, OutputViews outputs) {
  Convolution(op, inputs, begin, outputs[0]).Run();
}

constexpr OperatorInfo kOperators[] = {
    {.name = "CONVOLUTION",
     .summary = "sums of products of a filter with windows, or the transpose of that",
     .fields = kFields,
     .support = kSupport,
     .type_rule = "CONV-1",
     .rules = kRules,
     .infer = Infer,
     .family = Placed{Run, Sources, Operations, Products}},
};

}  // namespace

std::span<const OperatorInfo> ConvolutionOperators() {
  return kOperators;
}

}  // namespace dmlop
