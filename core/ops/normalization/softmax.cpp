// SPDX-License-Identifier: Apache-2.0
// Operators that scale elements by what their slice has: a sum of exponentials, a norm, a range.
#include <algorithm>
#include <utility>

#include "core/engine/normalization/normalize.h"
#include "core/ops/hardware_tolerance.h"
#include "core/ops/normalization/slices.h"

namespace dmlop::softmax {
namespace {

using namespace normalization;

// --- softmax -------------------------------------------------------------------------------------

// DML_ACTIVATION_SOFTMAX_OPERATOR_DESC, DML_ACTIVATION_LOG_SOFTMAX_OPERATOR_DESC,
// DML_ACTIVATION_HARDMAX_OPERATOR_DESC and their variants with a 1: functions of slices.

constexpr auto kRowFields = Fields(kInputTensor, kOutputTensor);
constexpr auto kSliceFields = Fields(kInputTensor, kOutputTensor, kAxisCount, kAxes);

std::vector<uint32_t> AxesOf(const OperatorDesc& op) {
  const std::vector<uint32_t>* axes = op.find_if_known(kAxes);
  if (axes != nullptr) return *axes;
  return {static_cast<uint32_t>(op.sizes(kInputTensor).size() - 1)};
}

constexpr Signature kSoftmaxShapes = {"SMX-1", "SMX-1", kSliced, {}, AxesOf};
constexpr std::string_view kRows = "{M'} | {1.., M', N'}";
constexpr TensorShape kOfRows[] = {{&kInputTensor, kRows}, {&kOutputTensor, kRows}};
constexpr Signature kRowShapes = {"SMX-1", "SMX-1", kOfRows};

void InferRows(const OperatorDesc& op, Inference& infer) {
  const TensorAt input = infer.tensor(kInputTensor);
  for (size_t d = 0; d + 2 < input.sizes().size(); ++d) {
    infer.Require(Agree(input.sizes()[d], 1), "SMX-2", SizeAt(input, d),
                  "the size before the last two is {}; expected 1", input.sizes()[d]);
  }
  InferShapes(kSoftmaxShapes, op, infer);
}

void InferSlices(const OperatorDesc& op, Inference& infer) {
  CheckAxes("SMX-4", "SMX-4", kAxes, op, infer.tensor(kInputTensor), infer);
  InferShapes(kSoftmaxShapes, op, infer);
}

// Operators without Axes use the last dimension.
template <SoftmaxFunction kFunction>
FormulaNode SoftmaxMeaning(const OperatorDesc& op, const Region& element, Formula& formula) {
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
          .sources = SourcesBy<kSoftmaxShapes>,
          .unsplittable_dims = kSoftmaxShapes.slices,
          .formula = kFunction == SoftmaxFunction::kHardmax ? nullptr : SoftmaxMeaning<kFunction>};
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
      .type_rule = "SMX-1",
      .infer = InferRows,
      .shapes = &kRowShapes,
      .family = FamilyOf<kFunction>(),
      .fusable = {static_cast<uint8_t>(HostBit(ActivationHost::kNetwork) | kInMatrices<kFunction>),
                  kInMatricesSince}};
}

template <SoftmaxFunction kFunction>
constexpr OperatorInfo OfSlices(std::string_view name) {
  return OperatorRow(name, {kSliceFields, "SMX-1", InferSlices, &kSoftmaxShapes},
                     FamilyOf<kFunction>(),
                     {.fusable = {kInMatrices<kFunction>, kInMatricesSince}});
}

// --- LP_NORMALIZATION ----------------------------------------------------------------------------

// DML_LP_NORMALIZATION_OPERATOR_DESC: divides slices along an axis by their norms.

constexpr auto kP = field::Uint("P", {.min = 1, .max = 2, .rule = "LPN-2"});
constexpr auto kNormFields = Fields(kInputTensor, kOutputTensor, kAxis, kEpsilon, kP);

std::vector<uint32_t> NormAxes(const OperatorDesc& op) {
  return {op[kAxis]};
}

constexpr Signature kNormShapes = {"LPN-1", "LPN-1", kSliced, {}, NormAxes};

void InferNorm(const OperatorDesc& op, Inference& infer) {
  infer.RequireAxis("LPN-2", At(kAxis), op[kAxis], infer.tensor(kInputTensor));
  RequireFinite("LPN-4", kEpsilon, op, infer);
  infer.Require(!(op[kEpsilon] < 0), "LPN-4", At(kEpsilon), "{} is negative", op[kEpsilon]);
  InferShapes(kNormShapes, op, infer);
}

void RunNorm(const OperatorDesc& op, InputViews inputs, OutputViews outputs) {
  // A floor of -0 becomes +0.
  const double epsilon = std::max(0.0, static_cast<double>(op[kEpsilon]));
  DivideByNorm({op[kP] == 2, epsilon}, NormAxes(op), inputs[0], outputs[0]);
}

FormulaNode NormMeaning(const OperatorDesc& op, const Region& element, Formula& formula) {
  using enum FormulaOperation;
  const bool squares = op[kP] == 2;
  const auto term = [&](FormulaNode x) {
    return formula.Apply(squares ? kSquare : kMagnitude, {x});
  };
  const std::vector<FormulaNode> slice = SliceAt(0, NormAxes(op), element, formula);
  FormulaNode norm =
      formula.Named(squares ? "sum of squares" : "norm", formula.Sum(formula.Each(slice, term)));
  if (squares) norm = formula.Named("norm", formula.Apply(kSquareRoot, {norm}));
  const FormulaNode epsilon = formula.Number(static_cast<double>(op[kEpsilon]));
  const FormulaNode divisor = formula.Named("divisor", formula.Apply(kAtLeast, {norm, epsilon}));
  return formula.Apply(kQuotientOrDividend, {ElementAt(0, element, formula), divisor});
}

// --- DYNAMIC_QUANTIZE_LINEAR ---------------------------------------------------------------------

// DML_DYNAMIC_QUANTIZE_LINEAR_OPERATOR_DESC.

constexpr auto kIntegers = field::Output("OutputTensor", TypeVariable::kU);
constexpr auto kScale = field::Output("OutputScaleTensor", TypeVariable::kV);
constexpr auto kZeroPoint = field::Output("OutputZeroPointTensor", TypeVariable::kU);
constexpr auto kQuantizedFields = Fields(kInputTensor, kIntegers, kScale, kZeroPoint);

void InferQuantized(const OperatorDesc& op, Inference& infer) {
  const Sizes& sizes = op.sizes(kInputTensor);
  const Sizes one(sizes.size(), 1);
  infer.OutputType(kIntegers, DataType::kUint8);
  infer.OutputType(kZeroPoint, *op[kIntegers].data_type);
  infer.OutputType(kScale, DataType::kFloat32);
  infer.Output("DQL-2", kIntegers, sizes);
  infer.Output("DQL-1", kScale, one);
  infer.Output("DQL-1", kZeroPoint, one);
}

constexpr TensorShape kQuantizedTensors[] = {
    {&kInputTensor, "{S'..}"}, {&kIntegers, "{S..}"}, {&kScale, "{1..}"}, {&kZeroPoint, "{1..}"}};
constexpr Signature kQuantizedShapes = {"DQL-2", "DQL-2", kQuantizedTensors};

void RunQuantized(const OperatorDesc&, InputViews inputs, OutputViews outputs) {
  QuantizeDynamically(inputs[0], {outputs[0], outputs[1], outputs[2]});
}

// The least and the greatest number of an output's type.
std::pair<double, double> EndsOf(DataType type) {
  return IsSigned(type) ? std::pair(-128.0, 127.0) : std::pair(0.0, 255.0);
}

// The ends of the range of the elements and 0.
struct Range {
  FormulaNode hi, lo;
};

Range RangeOf(Formula& formula) {
  const Dims& sizes = formula.inputs()[0].layout.sizes;
  std::vector<FormulaNode> numbers = formula.Elements({0, Dims::Filled(sizes.size(), 0), sizes});
  numbers.push_back(formula.Number(0.0));
  return {formula.Named("maximum", formula.Apply(FormulaOperation::kMaximum, numbers)),
          formula.Named("minimum", formula.Apply(FormulaOperation::kMinimum, numbers))};
}

// Returns the scale before rounding: the range divided by the number of the type's steps.
FormulaNode ScaleOf(const Range& range, DataType type, Formula& formula) {
  if (HasNoRange(formula.inputs()[0])) {
    return formula.Named("scale where all is 0", formula.Number(1.0));
  }
  const auto [min, max] = EndsOf(type);
  return formula.Quotient(formula.Named("range", formula.Difference(range.hi, range.lo)),
                          formula.Number(max - min));
}

FormulaNode QuantizedMeaning(const OperatorDesc& op, const Region& element, Formula& formula) {
  using enum FormulaOperation;
  const DataType type = *op[kIntegers].data_type;
  const Range range = RangeOf(formula);
  const FormulaNode exact_scale = ScaleOf(range, type, formula);
  if (element.tensor == 1) return exact_scale;
  const auto rounded = [&](FormulaNode x) { return formula.Rounded(DataType::kFloat32, x); };
  const FormulaNode scale = formula.Named("scale", rounded(exact_scale));
  const FormulaNode steps =
      formula.Named("steps from the minimum to 0",
                    formula.Apply(kMagnitude, {rounded(formula.Quotient(range.lo, scale))}));
  const FormulaNode zero_point = formula.Quantized(steps, formula.Number(EndsOf(type).first), type);
  if (element.tensor == 2) return zero_point;
  const FormulaNode x = formula.Element({0, element.begin, element.sizes});
  const FormulaNode units =
      formula.Named("in units of the scale", rounded(formula.Quotient(x, scale)));
  return formula.Quantized(units, formula.Named("zero point", zero_point), type);
}

constexpr OperatorInfo kOperators[] = {
    OfRows<SoftmaxFunction::kHardmax>("ACTIVATION_HARDMAX"),
    OfSlices<SoftmaxFunction::kHardmax>("ACTIVATION_HARDMAX1"),
    OfRows<SoftmaxFunction::kLogSoftmax>("ACTIVATION_LOG_SOFTMAX"),
    OfSlices<SoftmaxFunction::kLogSoftmax>("ACTIVATION_LOG_SOFTMAX1"),
    Granting(SoftmaxTolerance, OfRows<SoftmaxFunction::kSoftmax>("ACTIVATION_SOFTMAX")),
    Granting(SoftmaxTolerance, OfSlices<SoftmaxFunction::kSoftmax>("ACTIVATION_SOFTMAX1")),
    OperatorRow("LP_NORMALIZATION", {kNormFields, "LPN-1", InferNorm, &kNormShapes},
                Computed{.run = RunNorm,
                         .sources = SourcesBy<kNormShapes>,
                         .unsplittable_dims = kNormShapes.slices,
                         .formula = NormMeaning}),
    OperatorRow("DYNAMIC_QUANTIZE_LINEAR",
                {kQuantizedFields, "DQL-1", InferQuantized, &kQuantizedShapes},
                Computed{.run = RunQuantized,
                         .sources = SourcesBy<kQuantizedShapes>,
                         .unsplittable_dims = AllDimensions,
                         .formula = QuantizedMeaning}),
};

}  // namespace

extern const std::span<const OperatorInfo> kOperatorRows = kOperators;

}  // namespace dmlop::softmax
