// SPDX-License-Identifier: Apache-2.0
// Operators whose output repeats elements of the input.
#include <algorithm>
#include <optional>
#include <utility>

#include "core/base/integers.h"
#include "core/ops/inference.h"
#include "core/tensor/element.h"

namespace dmlop::padding {
namespace {

enum Mode : uint32_t { kConstant, kEdge, kReflection, kSymmetric, kWrap };
constexpr std::string_view kModeNames[] = {"CONSTANT", "EDGE", "REFLECTION", "SYMMETRIC", "WRAP"};
constexpr FeatureLevel kModeLevels[] = {Level(1, 0), Level(1, 0), Level(1, 0), Level(3, 0),
                                        Level(6, 4)};

constexpr FieldLimits kPerDimension = {
    .min_count = 1, .max_count = kMaxRank, .count_rule = "MOV-4", .per_dimension = true};
constexpr auto kPaddingMode =
    field::Enum("PaddingMode", {"DML_PADDING_MODE_", kModeNames, kModeLevels, "PDG-5"});
constexpr auto kFloatValue = field::Float("PaddingValue");
constexpr auto kValueDataType = field::TypeOf("PaddingValueDataType", "VAL-2");
constexpr auto kTypedValue = field::ScalarOf("PaddingValue");
constexpr auto kStartPadding = field::Uints("StartPadding", kPerDimension);
constexpr auto kEndPadding = field::Uints("EndPadding", kPerDimension);
constexpr auto kPaddingFields = Fields(kInputTensor, kOutputTensor, kPaddingMode, kFloatValue,
                                       kDimensionCount, kStartPadding, kEndPadding);
constexpr auto kPadding1Fields = Fields(kInputTensor, kOutputTensor, kPaddingMode, kValueDataType,
                                        kTypedValue, kDimensionCount, kStartPadding, kEndPadding);

void InferPadding(const OperatorDesc& op, Inference& infer) {
  std::vector<uint64_t> sizes;
  for (size_t d = 0; d < op[kStartPadding].size(); ++d) {
    const uint64_t size = op.sizes(kInputTensor)[d];
    sizes.push_back(IsUnknown(size) ? size : size + op[kStartPadding][d] + op[kEndPadding][d]);
  }
  infer.Output("PDG-1", kOutputTensor, sizes);
}

// --- segments of one axis ------------------------------------------------------------------------

// Consecutive elements of the output, and copies of them every `period` elements.
struct Segment {
  int64_t begin, size;
  int64_t from, step;  // place of the first in the input, and the step to the next
  int64_t repeats = 1;
  int64_t period = 0;

  // Returns the elements from number `first` up to, but without, `last`.
  Segment Part(int64_t first, int64_t last) const {
    return {begin + first, last - first, from + first * step, step};
  }
};

// Divides an axis of the output, which has `size` elements, into segments.
class Axis {
 public:
  Axis(Mode mode, int64_t input_size, int64_t start, int64_t size) : size_(size) {
    const int64_t n = input_size;
    if (mode == kReflection && n == 1) mode = kEdge;
    switch (mode) {
      case kConstant:
        Add({start, n, 0, 1});
        break;
      case kEdge:
        Add({0, start, 0, 0});
        Add({start, n, 0, 1});
        Add({start + n, size - start - n, n - 1, 0});
        break;
      case kReflection:
        AddPeriodic({start, n, 0, 1}, 2 * n - 2);
        AddPeriodic({start + n, n - 2, n - 2, -1}, 2 * n - 2);
        break;
      case kSymmetric:
        AddPeriodic({start, n, 0, 1}, 2 * n);
        AddPeriodic({start + n, n, n - 1, -1}, 2 * n);
        break;
      case kWrap:
        AddPeriodic({start, n, 0, 1}, n);
        break;
    }
  }

  const std::vector<Segment>& segments() const { return segments_; }

 private:
  void Add(const Segment& segment) {
    if (segment.size > 0) segments_.push_back(segment);
  }

  // Adds the segment and its copies every `period` elements, in both directions, as far as the axis
  // goes. Only the first and the last can be cut.
  void AddPeriodic(Segment one, int64_t period) {
    int64_t count = FloorDiv(size_ - 1 - one.begin, period) + 1;  // copies that begin on the axis
    const int64_t before = FloorDiv(one.begin + one.size - 1, period);
    one.begin -= before * period;
    count += before;
    if (count > 0 && one.begin < 0) {
      Add(one.Part(-one.begin, std::min(one.size, size_ - one.begin)));
      one.begin += period;
      --count;
    }
    const int64_t last = one.begin + (count - 1) * period;
    if (count > 0 && last + one.size > size_) {
      Segment cut = one;
      cut.begin = last;
      Add(cut.Part(0, size_ - last));
      --count;
    }
    one.repeats = count;
    one.period = period;
    if (count > 0) Add(one);
  }

  int64_t size_;
  std::vector<Segment> segments_;
};

// --- all axes ------------------------------------------------------------------------------------

void Narrow(const Segment& segment, size_t axis, const ConstTensorView& input,
            const TensorView& output, TensorMove& move) {
  const int64_t from_stride = input.layout.strides[axis];
  const int64_t to_stride = output.layout.strides[axis];
  const int64_t width = static_cast<int64_t>(ByteWidth(input.type));
  move.from.data += segment.from * from_stride * width;
  move.to.data += segment.begin * to_stride * width;
  if (segment.repeats > 1) move.PushDim(segment.repeats, 0, segment.period * to_stride);
  move.PushDim(segment.size, segment.step * from_stride, to_stride);
}

// Combines each segment of an axis with each of the others; an axis has at most four.
std::vector<TensorMove> Pad(const OperatorDesc& op, InputViews inputs, OutputViews outputs) {
  TensorMove whole{0, inputs[0], 0, outputs[0]};
  whole.from.layout = {};
  whole.to.layout = {};
  std::vector<TensorMove> moves = {whole};
  for (size_t d = 0; d < op[kStartPadding].size(); ++d) {
    const Axis axis(static_cast<Mode>(op[kPaddingMode]), inputs[0].layout.sizes[d],
                    op[kStartPadding][d], outputs[0].layout.sizes[d]);
    std::vector<TensorMove> narrowed;
    for (const TensorMove& move : moves) {
      for (const Segment& segment : axis.segments()) {
        narrowed.push_back(move);
        Narrow(segment, d, inputs[0], outputs[0], narrowed.back());
      }
    }
    moves = std::move(narrowed);
  }
  return moves;
}

std::optional<ElementBytes> FloatValue(const OperatorDesc& op) {
  if (op[kPaddingMode] != kConstant) return std::nullopt;
  return ConvertElement(op[kFloatValue], *op[kInputTensor].data_type);
}

std::optional<ElementBytes> TypedValue(const OperatorDesc& op) {
  if (op[kPaddingMode] != kConstant) return std::nullopt;
  return op[kTypedValue].bytes;
}

// --- TILE ----------------------------------------------------------------------------------------

// DML_TILE_OPERATOR_DESC: repeats the input Repeats times along each dimension.

constexpr auto kRepeatsCount = field::Count("RepeatsCount");
constexpr auto kRepeats = field::Uints("Repeats", {.min = 1,
                                                   .rule = "TIL-1",
                                                   .min_count = 1,
                                                   .max_count = kMaxRank,
                                                   .count_rule = "TIL-1",
                                                   .per_dimension = true});
constexpr auto kTileFields = Fields(kInputTensor, kOutputTensor, kRepeatsCount, kRepeats);

void InferTile(const OperatorDesc& op, Inference& infer) {
  std::vector<uint64_t> sizes;
  for (size_t d = 0; d < op[kRepeats].size(); ++d) {
    sizes.push_back(uint64_t{op.sizes(kInputTensor)[d]} * op[kRepeats][d]);
  }
  infer.Output("TIL-1", kOutputTensor, sizes);
}

std::vector<TensorMove> Tile(const OperatorDesc& op, InputViews inputs, OutputViews outputs) {
  TensorMove move{0, inputs[0], 0, outputs[0]};
  move.from.layout = {};
  move.to.layout = {};
  for (size_t d = 0; d < op[kRepeats].size(); ++d) {
    const int64_t size = inputs[0].layout.sizes[d];
    const int64_t stride = outputs[0].layout.strides[d];
    if (op[kRepeats][d] > 1) move.PushDim(op[kRepeats][d], 0, size * stride);
    move.PushDim(size, inputs[0].layout.strides[d], stride);
  }
  return {move};
}

constexpr OperatorInfo kOperators[] = {
    OperatorRow("PADDING", {kPaddingFields, "MOV-1", InferPadding},
                Movement{.moves = Pad, .fill = FloatValue}),
    OperatorRow("PADDING1", {kPadding1Fields, "MOV-1", InferPadding},
                Movement{.moves = Pad, .fill = TypedValue}),
    OperatorRow("TILE", {kTileFields, "MOV-1", InferTile}, Movement{Tile}),
};

}  // namespace

extern const std::span<const OperatorInfo> kOperatorRows = kOperators;

}  // namespace dmlop::padding
