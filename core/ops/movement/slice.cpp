// SPDX-License-Identifier: Apache-2.0
// Windows of tensors, taken in steps: forward in DML_SLICE_OPERATOR_DESC, and in
// DML_SLICE1_OPERATOR_DESC also backward from the window's last element.
// DML_SLICE_GRAD_OPERATOR_DESC puts what SLICE1 would take back in its place, among zeros.
#include <algorithm>
#include <cstdlib>
#include <optional>

#include "core/base/text.h"
#include "core/ops/inference.h"

namespace dmlop::slice {
namespace {

constexpr FieldLimits PerDimension(std::string_view rule, std::string_view count_rule,
                                   uint32_t min = 0) {
  return {.min = min,
          .rule = rule,
          .min_count = 1,
          .max_count = kMaxRank,
          .count_rule = count_rule,
          .per_dimension = true};
}

// --- SLICE ---------------------------------------------------------------------------------------

constexpr auto kOffsets = field::Uints("Offsets", PerDimension("SLC-1", "SLC-1"));
constexpr auto kSizes = field::Uints("Sizes", PerDimension("SLC-1", "SLC-1", 1));
constexpr auto kStrides = field::Uints("Strides", PerDimension("SLC-3", "SLC-1", 1));
constexpr auto kSliceFields =
    Fields(kInputTensor, kOutputTensor, kDimensionCount, kOffsets, kSizes, kStrides);

void InferSlice(const OperatorDesc& op, Inference& infer) {
  const Sizes& input = op.sizes(kInputTensor);
  for (size_t d = 0; d < input.size(); ++d) {
    const uint64_t last = op[kOffsets][d] + (op[kSizes][d] - uint64_t{1}) * op[kStrides][d];
    infer.Require(IsUnknown(input[d]) || last < input[d], "SLC-2", At(kOffsets, d),
                  "the last element is number {}, which does not lie in a size of {}", last,
                  input[d]);
  }
  infer.Output("SLC-1", kOutputTensor, op[kSizes]);
}

std::vector<TensorMove> Slice(const OperatorDesc& op, InputViews inputs, OutputViews outputs) {
  ConstTensorView from = inputs[0];
  for (size_t d = 0; d < from.layout.rank(); ++d) {
    from = from.Stepped(d, op[kOffsets][d], op[kSizes][d], op[kStrides][d]);
  }
  return {{0, from, 0, outputs[0]}};
}

// --- SLICE1 and SLICE_GRAD -----------------------------------------------------------------------

constexpr auto kWindowOffsets = field::Uints("InputWindowOffsets", PerDimension("SLW-1", "MOV-4"));
constexpr auto kWindowSizes = field::Uints("InputWindowSizes", PerDimension("SLW-1", "MOV-4", 1));
constexpr auto kWindowStrides = field::Ints("InputWindowStrides", PerDimension("SLW-1", "MOV-4"));
constexpr auto kSlice1Fields = Fields(kInputTensor, kOutputTensor, kDimensionCount, kWindowOffsets,
                                      kWindowSizes, kWindowStrides);
constexpr auto kGradFields = Fields(kInputGradient, kOutputGradient, kDimensionCount,
                                    kWindowOffsets, kWindowSizes, kWindowStrides);

// Returns how many steps of its strides the window has in a tensor of `sizes`.
std::optional<Sizes> MostSteps(const OperatorDesc& op, const Sizes& sizes, Inference& infer) {
  Sizes most;
  for (size_t d = 0; d < sizes.size(); ++d) {
    const uint32_t offset = op[kWindowOffsets][d];
    const uint32_t window = op[kWindowSizes][d];
    const int64_t stride = op[kWindowStrides][d];
    infer.Require(IsUnknown(sizes[d]) || uint64_t{offset} + window <= sizes[d], "SLW-1",
                  At(kWindowSizes, d), "{} from {} on {} not lie in a size of {}",
                  Counted(window, "element"), offset, ForCount(window, "does", "do"), sizes[d]);
    if (infer.Require(stride != 0, "SLW-2", At(kWindowStrides, d), "0 is not allowed")) {
      most.push_back(static_cast<uint32_t>((window - 1) / std::abs(stride) + 1));
    }
  }
  if (most.size() != sizes.size()) return std::nullopt;
  return most;
}

// Requires the tensor to have no more elements than the window has steps.
void RequireSteps(const OperatorDesc& op, const TensorAt& tensor, const Sizes& most,
                  Inference& infer) {
  for (size_t d = 0; d < most.size(); ++d) {
    infer.Require(tensor.sizes()[d] <= most[d], "SLW-3", SizeAt(tensor, d),
                  "{}; the window has at most {} of {}", Counted(tensor.sizes()[d], "element"),
                  Counted(most[d], "step"), op[kWindowStrides][d]);
  }
}

void InferSlice1(const OperatorDesc& op, Inference& infer) {
  const auto most = MostSteps(op, op.sizes(kInputTensor), infer);
  if (!most) return;
  if (!op[kOutputTensor].sizes) return infer.Output("SLW-3", kOutputTensor, *most);
  const TensorAt output = infer.tensor(kOutputTensor);
  if (!infer.RequireSameRank("MOV-1", output, infer.tensor(kInputTensor))) return;
  RequireSteps(op, output, *most, infer);
}

// The output's sizes do not follow from the gradient, so they must be given.
void InferGrad(const OperatorDesc& op, Inference& infer) {
  if (!op[kOutputGradient].sizes) return;
  const TensorAt input = infer.tensor(kInputGradient);
  const TensorAt output = infer.tensor(kOutputGradient);
  if (!infer.RequireSameRank("MOV-1", output, input)) return;
  if (const auto most = MostSteps(op, output.sizes(), infer)) RequireSteps(op, input, *most, infer);
}

// Returns the element at which the steps begin.
int64_t BeginOf(const OperatorDesc& op, size_t d) {
  const int64_t last = int64_t{op[kWindowSizes][d]} - 1;
  return op[kWindowOffsets][d] + (op[kWindowStrides][d] < 0 ? last : 0);
}

std::vector<TensorMove> Slice1(const OperatorDesc& op, InputViews inputs, OutputViews outputs) {
  ConstTensorView from = inputs[0];
  for (size_t d = 0; d < from.layout.rank(); ++d) {
    from = from.Stepped(d, BeginOf(op, d), outputs[0].layout.sizes[d], op[kWindowStrides][d]);
  }
  return {{0, from, 0, outputs[0]}};
}

// For negative strides the input is read backward, so that the output is written forward.
std::vector<TensorMove> Grad(const OperatorDesc& op, InputViews inputs, OutputViews outputs) {
  ConstTensorView from = inputs[0];
  TensorView to = outputs[0];
  for (size_t d = 0; d < from.layout.rank(); ++d) {
    const int64_t size = from.layout.sizes[d];
    const int64_t stride = op[kWindowStrides][d];
    const int64_t lowest = BeginOf(op, d) + std::min<int64_t>(0, stride * (size - 1));
    if (stride < 0) from = from.Stepped(d, size - 1, size, -1);
    to = to.Stepped(d, lowest, size, std::abs(stride));
  }
  return {{0, from, 0, to}};
}

std::optional<ElementBytes> Zero(const OperatorDesc&) {
  return ElementBytes{};
}

constexpr OperatorInfo kOperators[] = {
    OperatorRow("SLICE", {kSliceFields, "MOV-1", InferSlice}, Movement{Slice}),
    OperatorRow("SLICE1", {kSlice1Fields, "MOV-1", InferSlice1}, Movement{Slice1}),
    OperatorRow("SLICE_GRAD", {kGradFields, "MOV-1", InferGrad},
                Movement{.moves = Grad, .fill = Zero}),
};

}  // namespace

extern const std::span<const OperatorInfo> kOperatorRows = kOperators;

}  // namespace dmlop::slice
