// SPDX-License-Identifier: Apache-2.0
// Poolings that are sums, poolings of the greatest element, and the gradient of the latter.
#include <cmath>
#include <limits>
#include <optional>
#include <vector>

#include "core/engine/window/pool_sum.h"
#include "core/ops/hardware_tolerance.h"
#include "core/ops/quantization.h"
#include "core/ops/window/pooled_windows.h"
#include "core/tensor/visit_data_type.h"

namespace dmlop::pool {
namespace {

using namespace pooling;
using namespace quantization;

// --- sizes ---------------------------------------------------------------------------------------

constexpr auto kOutputType = TypeVariable::kU;
constexpr auto kQuantized = field::Output("OutputTensor", kOutputType);
constexpr auto kIndices =
    field::Optional(field::Output("OutputIndicesTensor", TypeVariable::kIndex));

constexpr std::string_view kPooled = "{N, C, P..}";
constexpr TensorShape kPoolTensors[] = {
    {&kInputTensor, "{N, C, P@K..}"},
    {&kOutputTensor, kPooled},
    {&kQuantized, kPooled},
    {.tensor = &kIndices, .dims = kPooled, .own_rule = "MXP-1"},
};
constexpr Signature kPooling = {"POOL-1", "POOL-1", kPoolTensors,         "",
                                nullptr,  {},       WindowsWith("POOL-2")};

void InferPooling(const OperatorDesc& op, Inference& infer) {
  if (op.find_if_known(kIndices) != nullptr) infer.OutputType(kIndices, DataType::kUint32);
  InferShapes(kPooling, op, infer);
}

constexpr OperatorInfo Pooling(std::string_view name, std::span<const Field* const> fields,
                               const Computed& family) {
  return OperatorRow(name, {fields, "POOL-1", InferPooling}, family);
}

// --- averages and norms --------------------------------------------------------------------------

// DML_AVERAGE_POOLING_OPERATOR_DESC and DML_LP_POOLING_OPERATOR_DESC, and those with gaps between
// taps, DML_AVERAGE_POOLING1_OPERATOR_DESC and DML_LP_POOLING1_OPERATOR_DESC.
//
// An average is the sum of the present taps of a window, divided by their number or, with
// IncludePadding, by that of the taps in the input and in the padding. Taps beyond the padding
// never count. A norm is the P-th root of the sum of the P-th powers of magnitudes.

constexpr auto kP = field::Uint("P", {.min = 1, .rule = "CTR-5"});
constexpr auto kAverageFields =
    Fields(kInputTensor, kOutputTensor, kDimensionCount, kWindows.strides, kWindowSize,
           kWindows.start_padding, kWindows.end_padding, kIncludePadding);
constexpr auto kAverage1Fields =
    Fields(kInputTensor, kOutputTensor, kDimensionCount, kWindows.strides, kWindowSize,
           kWindows.start_padding, kWindows.end_padding, kWindows.dilations, kIncludePadding);
constexpr auto kNormFields = Fields(kInputTensor, kOutputTensor, kDimensionCount, kWindows.strides,
                                    kWindowSize, kWindows.start_padding, kWindows.end_padding, kP);
constexpr auto kNorm1Fields =
    Fields(kInputTensor, kOutputTensor, kDimensionCount, kWindows.strides, kWindowSize,
           kWindows.start_padding, kWindows.end_padding, kWindows.dilations, kP);

void RunAverage(const OperatorDesc& op, InputViews inputs, const Dims& begin, OutputViews outputs) {
  const PoolSum average = op[kIncludePadding] ? PoolSum::kPaddedAverage : PoolSum::kAverage;
  SumWindows({average}, DimsOf(op, kInputTensor), inputs[0], begin, outputs[0]);
}

FormulaNode AverageMeaning(const OperatorDesc& op, const Region& element, Formula& formula) {
  const PoolDims dims = DimsOf(op, kInputTensor);
  const FormulaNode sum =
      formula.Named("sum", formula.Sum(PresentTapsAt(dims, element.begin, formula)));
  return formula.Quotient(sum, NamedTapCount(dims, op[kIncludePadding], element.begin, formula));
}

// The same as for REDUCE over a window.
Tolerance AverageTolerance(const OperatorDesc& op) {
  return UlpOfSum(op[kWindowSize], 1, 2);
}

// --- norms ---------------------------------------------------------------------------------------

PoolSumCall CallOf(const OperatorDesc& op) {
  const uint32_t power = op[kP];
  if (power <= 2) return {power == 1 ? PoolSum::kL1 : PoolSum::kL2};
  return {PoolSum::kNorm, power};
}

void RunNorm(const OperatorDesc& op, InputViews inputs, const Dims& begin, OutputViews outputs) {
  SumWindows(CallOf(op), DimsOf(op, kInputTensor), inputs[0], begin, outputs[0]);
}

std::vector<FormulaNode> MagnitudesOf(std::span<const FormulaNode> taps, Formula& formula) {
  return formula.Each(
      taps, [&](FormulaNode x) { return formula.Apply(FormulaOperation::kMagnitude, {x}); });
}

// Returns the P-th root of a sum of P-th powers. The greatest magnitude is factored out if it is
// neither 0 nor infinite, so that no power overflows.
FormulaNode NormOf(std::span<const FormulaNode> taps, uint32_t power, Formula& formula) {
  using enum FormulaOperation;
  double most = 0;
  for (const FormulaNode x : taps) most = std::fmax(most, std::fabs(formula.ValueOf(x)));
  const std::vector<FormulaNode> magnitudes = MagnitudesOf(taps, formula);
  std::optional<FormulaNode> greatest;
  if (most > 0 && std::isfinite(most)) {
    greatest = formula.Named("greatest magnitude", formula.Apply(kMaximum, magnitudes));
  }
  const FormulaNode exponent = formula.Number(static_cast<double>(power));
  const auto raised = [&](FormulaNode x) {
    return formula.Apply(kPower, {greatest ? formula.Quotient(x, *greatest) : x, exponent});
  };
  const FormulaNode sum =
      formula.Named("sum of powers", formula.Sum(formula.Each(magnitudes, raised)));
  const FormulaNode one = formula.Number(1.0);
  const FormulaNode root = formula.Apply(kPower, {sum, formula.Quotient(one, exponent)});
  return greatest ? formula.Product({*greatest, root}) : root;
}

FormulaNode NormMeaning(const OperatorDesc& op, const Region& element, Formula& formula) {
  using enum FormulaOperation;
  const std::vector<FormulaNode> taps =
      PresentTapsAt(DimsOf(op, kInputTensor), element.begin, formula);
  if (op[kP] > 2) return NormOf(taps, op[kP], formula);
  if (op[kP] == 1) {
    return formula.Named("sum of magnitudes", formula.Sum(MagnitudesOf(taps, formula)));
  }
  const auto square = [&](FormulaNode x) { return formula.Apply(kSquare, {x}); };
  const FormulaNode sum = formula.Named("sum of squares", formula.Sum(formula.Each(taps, square)));
  return formula.Apply(kSquareRoot, {sum});
}

Tolerance NormTolerance(const OperatorDesc& op) {
  return op[kP] == 2 ? UlpOfSum(op[kWindowSize], 1, 2) : Tolerance{};
}

constexpr Computed kAverage = {.run = RunAverage, .sources = Sources, .formula = AverageMeaning};
constexpr Computed kNorm = {.run = RunNorm, .sources = Sources, .formula = NormMeaning};

// --- averages of integers ------------------------------------------------------------------------

// DML_QUANTIZED_LINEAR_AVERAGE_POOLING_OPERATOR_DESC: AVERAGE_POOLING1 of integers that stand for
// real numbers; so do the results.

constexpr auto kScaleType = TypeVariable::kV;
constexpr auto kInputScale = field::Input("InputScaleTensor", kScaleType, RankGroup::kSide);
constexpr auto kInputZeroPoint =
    field::Optional(field::Input("InputZeroPointTensor", TypeVariable::kT, RankGroup::kSide));
constexpr auto kOutputScale = field::Input("OutputScaleTensor", kScaleType, RankGroup::kSide);
constexpr auto kOutputZeroPoint =
    field::Optional(field::Input("OutputZeroPointTensor", kOutputType, RankGroup::kSide));
constexpr auto kQuantizedFields =
    Fields(kInputTensor, kInputScale, kInputZeroPoint, kOutputScale, kOutputZeroPoint, kQuantized,
           kDimensionCount, kWindows.strides, kWindowSize, kWindows.start_padding,
           kWindows.end_padding, kWindows.dilations, kIncludePadding);
constexpr const FieldOf<TensorDesc>* kOfChannels[] = {&kInputScale, &kInputZeroPoint, &kOutputScale,
                                                      &kOutputZeroPoint};

// Returns whether the sizes are {1, C, 1, ..}, perhaps without leading or trailing 1s.
bool IsOfChannels(const Sizes& sizes, uint32_t channels, size_t rank) {
  for (size_t d = 0; d < sizes.size(); ++d) {
    const bool is_place = d == 1 || (d == 0 && sizes.size() < rank);
    if (!is_place || sizes[d] != channels) continue;
    Sizes others = sizes;
    others[d] = 1;
    if (others == Sizes(sizes.size(), 1)) return true;
  }
  return sizes == Sizes(sizes.size(), 1);
}

void InferQuantized(const OperatorDesc& op, Inference& infer) {
  infer.OutputType(kQuantized, *op[kInputTensor].data_type);
  InferShapes(kPooling, op, infer);
  const Sizes& input = op.sizes(kInputTensor);
  for (const FieldOf<TensorDesc>* field : kOfChannels) {
    if (!op.Has(*field) || input.size() <= 1) continue;
    const TensorAt tensor = infer.tensor(*field);
    const bool is_right = !AreKnown(tensor.sizes()) || IsUnknown(input[1]) ||
                          IsOfChannels(tensor.sizes(), input[1], input.size());
    infer.Require(is_right, "QAP-1", SizesOf(tensor),
                  "Sizes are {}; expected one element, or {} along the dimension of channels",
                  ToString(tensor.sizes()), input[1]);
  }
}

ChannelQuantization QuantizationOf(const ConstTensorView& scale,
                                   const ConstTensorView& zero_point) {
  std::vector<int64_t> zero_points = IntegersOf(zero_point);
  if (zero_points.empty()) zero_points = {0};
  return {NumbersOf(scale), std::move(zero_points)};
}

void RunQuantized(const OperatorDesc& op, InputViews inputs, const Dims& begin,
                  OutputViews outputs) {
  const FieldViews tensors(op, inputs, outputs);
  const QuantizedAverage call = {
      op[kIncludePadding],
      QuantizationOf(tensors.input(kInputScale), tensors.input(kInputZeroPoint)),
      QuantizationOf(tensors.input(kOutputScale), tensors.input(kOutputZeroPoint))};
  AverageQuantized(call, DimsOf(op, kInputTensor), inputs[0], begin, outputs[0]);
}

// A part of the output reads the parameters of its channels.
constexpr std::string_view kOfChannel =
    "{1..} | {1, C, 1..} | {C} | {C, 1} | {C, 1, 1} | {C, 1, 1, 1}";
constexpr TensorShape kTensors[] = {
    {&kInputTensor, "{N, C, I..}"},          Parameter(kInputScale, kOfChannel),
    Parameter(kInputZeroPoint, kOfChannel),  Parameter(kOutputScale, kOfChannel),
    Parameter(kOutputZeroPoint, kOfChannel), {&kQuantized, "{N, C, P..}"},
};
constexpr Signature kShapes = {"QAP-1", "QAP-1", kTensors};

std::vector<SourceMap> QuantizedSources(const OperatorDesc& op) {
  std::vector<SourceMap> maps = pooling::Sources(op);
  const std::vector<SourceMap> parameters = SourcesOf(kShapes, op);
  maps.insert(maps.end(), parameters.begin() + 1, parameters.end());
  return maps;
}

FormulaNode QuantizedMeaning(const OperatorDesc& op, const Region& element, Formula& formula) {
  const auto number = [&](const FieldOf<TensorDesc>& field) {
    return ParameterOf(kShapes, op, field, element, formula);
  };
  const PoolDims dims = DimsOf(op, kInputTensor);
  const std::optional<FormulaNode> zero_point = number(kInputZeroPoint);
  const auto distance = [&](FormulaNode x) {
    return zero_point ? formula.Difference(x, *zero_point) : x;
  };
  const FormulaNode sum = formula.Named(
      "sum", formula.Sum(formula.Each(PresentTapsAt(dims, element.begin, formula), distance)));
  const FormulaNode count = NamedTapCount(dims, op[kIncludePadding], element.begin, formula);
  const FormulaNode units = formula.Named(
      "in units of the output", formula.Quotient(formula.Product({sum, *number(kInputScale)}),
                                                 formula.Product({count, *number(kOutputScale)})));
  return formula.Quantized(units, number(kOutputZeroPoint), *op[kQuantized].data_type);
}

// --- maxima --------------------------------------------------------------------------------------

// Poolings of the greatest element, and their gradient.
// DML_MAX_POOLING_OPERATOR_DESC, DML_MAX_POOLING1_OPERATOR_DESC and DML_MAX_POOLING2_OPERATOR_DESC:
// the greatest element of each window, and its index in the whole input.

constexpr auto kMaxFields = Fields(kInputTensor, kOutputTensor, kDimensionCount, kWindows.strides,
                                   kWindowSize, kWindows.start_padding, kWindows.end_padding);
constexpr auto kMax1Fields =
    Fields(kInputTensor, kOutputTensor, kIndices, kDimensionCount, kWindows.strides, kWindowSize,
           kWindows.start_padding, kWindows.end_padding);
constexpr auto kMax2Fields =
    Fields(kInputTensor, kOutputTensor, kIndices, kDimensionCount, kWindows.strides, kWindowSize,
           kWindows.start_padding, kWindows.end_padding, kWindows.dilations);

void RunMax(const OperatorDesc& op, InputViews inputs, const Dims& begin, OutputViews outputs) {
  const PoolDims dims = DimsOf(op, kInputTensor);
  if (outputs.size() > 1 && outputs[1].data != nullptr) {
    return FindWinners(dims, inputs[0], begin, outputs[0], outputs[1]);
  }
  FindMaxima(dims, inputs[0], begin, outputs[0]);
}

// Computes the number of the winner in the whole input from its indices.
FormulaNode PlaceOf(const Dims& sizes, const Dims& index, Formula& formula) {
  constexpr std::string_view kNames[] = {"x", "y", "z"};
  const Dims strides = PackedLayout(sizes).strides;
  std::vector<FormulaNode> products;
  for (size_t d = 0; d < index.size(); ++d) {
    const std::string_view name = d == 0   ? "item"
                                  : d == 1 ? "channel"
                                           : kNames[index.size() - d - 1];
    const FormulaNode own = formula.Given(static_cast<double>(index[d]), std::string(name));
    products.push_back(formula.Product({own, formula.Number(static_cast<double>(strides[d]))}));
  }
  return formula.Named("place in the input", formula.Sum(products));
}

// Returns the result for windows without taps.
FormulaNode OfNothing(DataType type, bool is_place, Formula& formula) {
  const std::string_view name = is_place ? "place of nothing" : "maximum of nothing";
  if (IsFloat(type)) {
    return formula.Named(name, formula.Number(-std::numeric_limits<double>::infinity()));
  }
  FormulaNode node = 0;
  VisitDataType(Join<Integers64, Integers32, Integers16, Integers8>(), type, [&]<typename T>() {
    using Limits = std::numeric_limits<T>;
    node = formula.Number(Dyadic(is_place ? Limits::max() : Limits::min()));
  });
  return formula.Named(name, node);
}

FormulaNode MaxMeaning(const OperatorDesc& op, const Region& element, Formula& formula) {
  const bool is_place = element.tensor == 1;
  const DataType type = *op[is_place ? kIndices : kOutputTensor].data_type;
  const PoolDims dims = DimsOf(op, kInputTensor);
  const std::vector<FormulaNode> taps = PresentTapsAt(dims, element.begin, formula);
  if (taps.empty()) return OfNothing(type, is_place, formula);
  const FormulaNode maximum =
      formula.Named("maximum", formula.Apply(FormulaOperation::kMaximum, taps));
  if (!is_place) return maximum;
  const ConstTensorView& input = formula.inputs()[0];
  const Dims ones = Dims::Filled(dims.size(), 1);
  const uint64_t winner = WinnersOf(dims, input, {0, element.begin, ones}).front();
  const Dims index = IndexOf(input.layout.sizes, static_cast<int64_t>(winner));
  return formula.Confined(FormulaOperation::kWrap, PlaceOf(input.layout.sizes, index, formula),
                          type);
}

constexpr Computed kMax = {.run = RunMax, .sources = Sources, .formula = MaxMeaning};

// --- the gradient of maxima ----------------------------------------------------------------------

// DML_MAX_POOLING_GRAD_OPERATOR_DESC: each window of MAX_POOLING passes its gradient on to its
// greatest element.

constexpr auto kMaxGradFields =
    Fields(kInputTensor, kInputGradient, kOutputGradient, kDimensionCount, kWindows.strides,
           kWindowSize, kWindows.start_padding, kWindows.end_padding, kWindows.dilations);

constexpr TensorShape kGradTensors[] = {
    {&kInputTensor, "{N, C, P@K..}"},
    {.tensor = &kOutputGradient, .dims = "{N, C, P@K..}", .own_rule = "MPG-1"},
    {&kInputGradient, kPooled},
};
constexpr Signature kGradShapes = {"POOL-1", "POOL-1", kGradTensors,        "",
                                   nullptr,  {},       WindowsWith("MPG-1")};

void RunMaxGrad(const OperatorDesc& op, InputViews inputs, const Dims& begin, OutputViews outputs) {
  SumOfWinners(DimsOf(op, kInputTensor), inputs[0], inputs[1], begin, outputs[0]);
}

// An element competes with all others in its windows.
std::vector<SourceMap> MaxGradSources(const OperatorDesc& op) {
  const PoolDims dims = DimsOf(op, kInputTensor);
  const SourceMap windows = ReachingSources(dims, op.sizes(kInputGradient), 1);
  std::vector<SourceMap> maps;
  for (const SourceMap& taps : WindowSources(dims)) {
    maps.push_back([windows, taps](const Region& output) -> std::optional<Region> {
      const std::optional<Region> reaching = windows(output);
      return reaching ? taps(*reaching) : std::nullopt;
    });
  }
  maps.push_back(windows);
  return maps;
}

// Returns the gradients of those windows in `windows` that the element at `index` wins.
std::vector<FormulaNode> WonGradients(const PoolDims& dims, const Region& windows,
                                      const Dims& index, Formula& formula) {
  const ConstTensorView& input = formula.inputs()[0];
  const std::vector<FormulaNode> gradients = formula.Elements(windows);
  if (formula.is_too_long()) return {};
  const std::vector<uint64_t> winners = WinnersOf(dims, input, windows);
  const auto own = OffsetOf(PackedLayout(input.layout.sizes), index);
  std::vector<FormulaNode> won;
  for (size_t k = 0; k < gradients.size(); ++k) {
    if (winners[k] == static_cast<uint64_t>(own)) won.push_back(gradients[k]);
  }
  return won;
}

FormulaNode MaxGradMeaning(const OperatorDesc& op, const Region& element, Formula& formula) {
  const auto count = [&](std::string_view name, int64_t windows) {
    formula.Named(name, formula.Number(Dyadic(windows)));
  };
  const PoolDims dims = DimsOf(op, kInputTensor);
  const auto windows = ReachingSources(dims, op.sizes(kInputGradient), 1)(element);
  std::vector<FormulaNode> won;
  if (windows) won = WonGradients(dims, *windows, element.begin, formula);
  count("windows around it", windows ? windows->count() : 0);
  count("windows that it wins", std::ssize(won));
  return formula.Named("sum", formula.Sum(won));
}

constexpr OperatorInfo kOperators[] = {
    Granting(AverageTolerance, Pooling("AVERAGE_POOLING", kAverageFields, kAverage)),
    Granting(AverageTolerance, Pooling("AVERAGE_POOLING1", kAverage1Fields, kAverage)),
    Granting(NormTolerance, Pooling("LP_POOLING", kNormFields, kNorm)),
    Granting(NormTolerance, Pooling("LP_POOLING1", kNorm1Fields, kNorm)),
    OperatorRow(
        "QUANTIZED_LINEAR_AVERAGE_POOLING", {kQuantizedFields, "QAP-1", InferQuantized, &kShapes},
        Computed{.run = RunQuantized, .sources = QuantizedSources, .formula = QuantizedMeaning}),
    Pooling("MAX_POOLING", kMaxFields, kMax),
    Pooling("MAX_POOLING1", kMax1Fields, kMax),
    Pooling("MAX_POOLING2", kMax2Fields, kMax),
    OperatorRow("MAX_POOLING_GRAD", {kMaxGradFields, "MPG-1", InferBy<kGradShapes>},
                Computed{.run = RunMaxGrad, .sources = MaxGradSources, .formula = MaxGradMeaning},
                {.reads_by_index = true}),
};

}  // namespace

extern const std::span<const OperatorInfo> kOperatorRows = kOperators;

}  // namespace dmlop::pool
