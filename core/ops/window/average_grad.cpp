// DML_AVERAGE_POOLING_GRAD_OPERATOR_DESC: each window of AVERAGE_POOLING hands its gradient out to
// its present taps, in parts of 1 / count.
#include <cstdint>
#include <numeric>
#include <vector>

#include "core/base/checked_math.h"
#include "core/base/integer_division.h"
#include "core/engine/weighted/weighted_sum.h"
#include "core/ops/window/shared.h"

namespace dmlop {
namespace {

using namespace pooling;

constexpr const Field* kFields[] = {&kInputGradient, &kOutputGradient, &kDimensionCount,
                                    &kStrides,       &kWindowSize,     &kStartPadding,
                                    &kEndPadding,    &kIncludePadding};
constexpr SupportRow kRows[] = {{Level(3, 0), 4, 5, {types::kFloats}}};
constexpr SupportTable kSupport[] = {{kRows}};
constexpr Rule kRules[] = {
    kCounts,
    kNoZeros,
    kSameBatches,
    kFit,
    {"APG-1", "InputGradientTensor has the sizes that AVERAGE_POOLING makes of the output's"}};

void Infer(const OperatorDesc& op, Inference& infer) {
  InferGradient("APG-1", kOutputGradient, op, infer);
}

// The counts of windows along a dimension have a common multiple, which the parts are of; where it
// is very large, parts are off by less than 2^-127 of their own.
AxisTaps TapsWithCounts(const std::vector<int64_t>& offsets, const std::vector<int64_t>& counts) {
  CheckedU64 common = 1;
  for (const int64_t count : counts) {
    const uint64_t factor = static_cast<uint64_t>(count);
    if (common) common = CheckedMul(*common, factor / std::gcd(*common, factor));
  }
  const Dyadic whole = common ? Dyadic(*common) : Dyadic(1).TimesPowerOfTwo(160);
  AxisTaps taps{offsets, {}, whole};
  for (const int64_t count : counts) taps.parts.push_back(FloorQuotient(whole, Dyadic(count)));
  return taps;
}

TapFunction TapsOf(const PoolDim& dim, bool counts_padding, int64_t windows, int64_t stride) {
  return [=](int64_t index) {
    const Range reaching = dim.OutputsReaching({index, index + 1}, windows);
    std::vector<int64_t> offsets, counts;
    for (int64_t window = reaching.begin; window < reaching.end; ++window) {
      offsets.push_back(window * stride);
      counts.push_back(counts_padding ? dim.CountedTaps(window) : dim.PresentTaps(window).count());
    }
    return TapsWithCounts(offsets, counts);
  };
}

WeightedSource Weights(const OperatorDesc& op, const ConstTensorView& input) {
  const PoolDims dims = DimsOf(op, kOutputGradient);
  const Layout& gradient = input.layout;
  WeightedSource source{input, {}, WeightedSource::kRound};
  for (size_t d = 0; d < dims.size(); ++d) {
    source.axes.push_back(
        TapsOf(dims[d], op[kIncludePadding], gradient.sizes[d], gradient.strides[d]));
  }
  return source;
}

void Run(const OperatorDesc& op, InputViews inputs, const Dims& begin, OutputViews outputs) {
  SumTaps(Weights(op, inputs[0]), begin, outputs[0]);
}

std::vector<SourceMap> Sources(const OperatorDesc& op) {
  return {ReachingSources(DimsOf(op, kOutputGradient), op.sizes(kInputGradient), 0)};
}

constexpr OperatorInfo kOperators[] = {
    {.name = "AVERAGE_POOLING_GRAD",
     .summary = "the gradient of AVERAGE_POOLING: windows hand out parts of theirs",
     .fields = kFields,
     .support = kSupport,
     .type_rule = "POOL-1",
     .rules = kRules,
     .infer = Infer,
     .family = Placed{.run = Run, .sources = Sources, .weights = Weights}},
};

}  // namespace

std::span<const OperatorInfo> PoolAverageGradOperators() {
  return kOperators;
}

}  // namespace dmlop
