// SPDX-License-Identifier: Apache-2.0
// DML_ACTIVATION_SOFTMAX_OPERATOR_DESC, DML_ACTIVATION_LOG_SOFTMAX_OPERATOR_DESC,
// DML_ACTIVATION_HARDMAX_OPERATOR_DESC and their variants with a 1: functions of slices.
#include "core/engine/normalization/normalize.h"

#include "core/ops/hardware_tolerance.h"
#include "core/ops/normalization/shared.h"

namespace dmlop::softmax {
namespace {

using namespace normalization;

constexpr const Field* kRowFields[] = {&kInputTensor, &kOutputTensor};
constexpr const Field* kSliceFields[] = {&kInputTensor, &kOutputTensor, &kAxisCount, &kAxes};

constexpr SupportRow kRowRows[] = {
    {Level(1, 0), 4, 4, {types::kFloats}},
    {Level(2, 0), 4, 5, {types::kFloats}},
    {Level(3, 0), 1, 8, {types::kFloats}},
};
constexpr SupportRow kSliceRows[] = {{Level(5, 1), 1, 8, {types::kFloats}}};

std::vector<uint32_t> AxesOf(const OperatorDesc& op) {
  const std::vector<uint32_t>* axes = op.find_if_known(kAxes);
  if (axes != nullptr) return *axes;
  return {static_cast<uint32_t>(op.sizes(kInputTensor).size() - 1)};
}

constexpr Signature kShapes = {"SMX-1", "SMX-1", kSliced, {}, AxesOf};

void InferRows(const OperatorDesc& op, Inference& infer) {
  const TensorAt input = infer.tensor(kInputTensor);
  for (size_t d = 0; d + 2 < input.sizes().size(); ++d) {
    infer.Require(input.sizes()[d] == 1, "SMX-2", SizeAt(input, d),
                  "the size before the last two is {}; expected 1", input.sizes()[d]);
  }
  InferShapes(kShapes, op, infer);
}

void InferSlices(const OperatorDesc& op, Inference& infer) {
  CheckAxes("SMX-4", "SMX-4", kAxes, op, infer.tensor(kInputTensor), infer);
  InferShapes(kShapes, op, infer);
}

// Operators without Axes use the last dimension.
template <SoftmaxFunction kFunction>
FormulaNode Meaning(const OperatorDesc& op, const Region& element, Formula& formula) {
  using enum FormulaOperation;
  const std::vector<FormulaNode> slice = SliceAt(0, AxesOf(op), element, formula);
  const FormulaNode maximum = formula.Named("maximum", formula.Apply(kMaximum, slice));
  const auto exponential = [&](FormulaNode x) {
    return formula.Apply(kExponential, {formula.Difference(x, maximum)});
  };
  const FormulaNode sum =
      formula.Named("sum of exponentials", formula.Sum(formula.Each(slice, exponential)));
  const FormulaNode x = ElementAt(0, element, formula);
  if (kFunction == SoftmaxFunction::kSoftmax) return formula.Quotient(exponential(x), sum);
  return formula.Difference(formula.Difference(x, maximum), formula.Apply(kLogarithm, {sum}));
}

Tolerance SoftmaxTolerance(const OperatorDesc& op) {
  std::vector<uint32_t> counts;
  for (const uint32_t axis : AxesOf(op)) counts.push_back(op.sizes(kInputTensor)[axis]);
  return UlpOfSum(counts, 3, 3);
}

template <SoftmaxFunction kFunction>
constexpr Computed FamilyOf() {
  return {.run =
              [](const OperatorDesc& op, InputViews inputs, OutputViews outputs) {
                ApplySoftmax(kFunction, AxesOf(op), inputs[0], outputs[0]);
              },
          .sources = SourcesBy<kShapes>,
          .unsplittable_dims = AxesOf,
          .formula = kFunction == SoftmaxFunction::kHardmax ? nullptr : Meaning<kFunction>};
}

// GEMM fuses only softmax of the three functions.
template <SoftmaxFunction kFunction>
constexpr uint8_t kInMatrices = kFunction == SoftmaxFunction::kSoftmax
                                    ? HostBit(ActivationHost::kMatrices)
                                    : 0;
constexpr FeatureLevel kInMatricesSince = Level(6, 1);

template <SoftmaxFunction kFunction>
constexpr OperatorInfo OfRows(std::string_view name) {
  return {
      .name = name,
      .fields = kRowFields,
      .support = kSupportBy<kRowRows>,
      .type_rule = "SMX-1",
      .infer = InferRows,
      .family = FamilyOf<kFunction>(),
      .fusable = {static_cast<uint8_t>(HostBit(ActivationHost::kNetwork) | kInMatrices<kFunction>),
                  kInMatricesSince}};
}

template <SoftmaxFunction kFunction>
constexpr OperatorInfo OfSlices(std::string_view name) {
  return OperatorRow(name, {kSliceFields, kSupportBy<kSliceRows>, "SMX-1", InferSlices},
                     FamilyOf<kFunction>(),
                     {.fusable = {kInMatrices<kFunction>, kInMatricesSince}});
}

constexpr OperatorInfo kOperators[] = {
    OfRows<SoftmaxFunction::kHardmax>("ACTIVATION_HARDMAX"),
    OfSlices<SoftmaxFunction::kHardmax>("ACTIVATION_HARDMAX1"),
    OfRows<SoftmaxFunction::kLogSoftmax>("ACTIVATION_LOG_SOFTMAX"),
    OfSlices<SoftmaxFunction::kLogSoftmax>("ACTIVATION_LOG_SOFTMAX1"),
    Granting(SoftmaxTolerance, OfRows<SoftmaxFunction::kSoftmax>("ACTIVATION_SOFTMAX")),
    Granting(SoftmaxTolerance, OfSlices<SoftmaxFunction::kSoftmax>("ACTIVATION_SOFTMAX1")),
};

}  // namespace

extern const std::span<const OperatorInfo> kOperatorRows = kOperators;

}  // namespace dmlop::softmax
