// DML_SLICE1_OPERATOR_DESC: a window of a tensor, in steps. A negative stride starts at the last
// element of the window.
#include <algorithm>
#include <cstdlib>

#include "core/ops/inference.h"
#include "core/ops/rows.h"

namespace dmlop {
namespace {

constexpr Limits PerDimension(uint32_t min = 0) {
  return {.min = min,
          .rule = "SLW-1",
          .min_count = 1,
          .max_count = kMaxRank,
          .count_rule = "MOV-4",
          .per_dimension = true};
}
constexpr auto kOffsets = field::Uints("InputWindowOffsets", PerDimension());
constexpr auto kWindow = field::Uints("InputWindowSizes", PerDimension(1));
constexpr auto kStrides = field::Ints("InputWindowStrides", PerDimension());
constexpr const Field* kFields[] = {&kInputTensor, &kOutputTensor, &kDimensionCount,
                                    &kOffsets,     &kWindow,       &kStrides};

constexpr SupportRow kRows[] = {
    {Level(2, 1), 4, 5, {types::kUpTo32}},
    {Level(3, 0), 1, 8, {types::kUpTo32}},
    {Level(4, 1), 1, 8, {types::kAll}},
};
constexpr SupportTable kSupport[] = {{kRows}};
constexpr Rule kRules[] = {
    {"MOV-1", "input and output agree in DataType and DimensionCount"},
    {"MOV-4", "each array has an entry for each dimension of the input"},
    {"SLW-1", "the window has at least one element in each dimension and lies in the input"},
    {"SLW-2", "no stride is 0"},
    {"SLW-3",
     "the output has at most 1 + (InputWindowSizes - 1) / |InputWindowStrides| elements in each "
     "dimension"},
};

// Steps of the window's stride that stay in it, the first element included.
uint32_t StepsIn(const OperatorDesc& op, size_t d) {
  const int64_t stride = std::abs(int64_t{op[kStrides][d]});
  return static_cast<uint32_t>((op[kWindow][d] - 1) / stride + 1);
}

void Infer(const OperatorDesc& op, Inference& infer) {
  const Sizes& input = op.sizes(kInputTensor);
  Sizes most = input;
  bool strides_are_sound = true;
  for (size_t d = 0; d < input.size(); ++d) {
    const uint32_t offset = op[kOffsets][d];
    const uint32_t window = op[kWindow][d];
    infer.Require(uint64_t{offset} + window <= input[d], "SLW-1", At(kWindow, d),
                  "{} elements from {} on do not lie in a size of {}", window, offset, input[d]);
    strides_are_sound &=
        infer.Require(op[kStrides][d] != 0, "SLW-2", At(kStrides, d), "0 is not allowed");
    if (strides_are_sound) most[d] = StepsIn(op, d);
  }
  if (!strides_are_sound) return;
  if (!op[kOutputTensor].sizes) return infer.Output("SLW-3", kOutputTensor, most);
  const TensorAt output = infer.tensor(kOutputTensor);
  if (!infer.RequireSameRank("MOV-1", output, infer.tensor(kInputTensor))) return;
  for (size_t d = 0; d < most.size(); ++d) {
    infer.Require(output.sizes()[d] <= most[d], "SLW-3", SizeAt(output, d),
                  "{} elements; the window has at most {} steps of {}", output.sizes()[d], most[d],
                  op[kStrides][d]);
  }
}

std::vector<TensorMove> Window(const OperatorDesc& op, InputViews inputs, OutputViews outputs) {
  ConstTensorView window = inputs[0];
  for (size_t d = 0; d < window.layout.rank(); ++d) {
    const int64_t stride = op[kStrides][d];
    const int64_t last = int64_t{op[kWindow][d]} - 1;
    const int64_t begin = op[kOffsets][d] + (stride < 0 ? last : 0);
    window = window.Stepped(d, begin, outputs[0].layout.sizes[d], stride);
  }
  return {{0, window, 0, outputs[0]}};
}

constexpr OperatorInfo kOperators[] = {
    {.name = "SLICE1",
     .summary = "a window of a tensor, in steps",
     .fields = kFields,
     .support = kSupport,
     .type_rule = "MOV-1",
     .rules = kRules,
     .infer = Infer,
     .family = Movement{Window}},
};

}  // namespace

std::span<const OperatorInfo> SliceOperators() {
  return kOperators;
}

}  // namespace dmlop
