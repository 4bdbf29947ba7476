// SPDX-License-Identifier: Apache-2.0
// Poolings of the greatest element, and their gradient.
#include <limits>
#include <optional>
#include <vector>

#include "core/engine/window/pool_sum.h"
#include "core/ops/window/shared.h"
#include "core/tensor/visit_data_type.h"

// DML_MAX_POOLING_OPERATOR_DESC, DML_MAX_POOLING1_OPERATOR_DESC and DML_MAX_POOLING2_OPERATOR_DESC:
// the greatest element of each window, and its index in the whole input.
namespace dmlop::pool_max {
namespace {

using namespace pooling;

constexpr auto kIndices =
    field::Optional(field::Output("OutputIndicesTensor", TypeVariable::kIndex));
constexpr const Field* kFields[] = {&kInputTensor,        &kOutputTensor, &kDimensionCount,
                                    &kWindows.strides,    &kWindowSize,   &kWindows.start_padding,
                                    &kWindows.end_padding};
constexpr const Field* kFields1[] = {&kInputTensor,           &kOutputTensor,       &kIndices,
                                     &kDimensionCount,        &kWindows.strides,    &kWindowSize,
                                     &kWindows.start_padding, &kWindows.end_padding};
constexpr const Field* kFields2[] = {
    &kInputTensor,           &kOutputTensor,        &kIndices,
    &kDimensionCount,        &kWindows.strides,     &kWindowSize,
    &kWindows.start_padding, &kWindows.end_padding, &kWindows.dilations};

void InferWithIndices(const OperatorDesc& op, Inference& infer) {
  InferPooling(op, infer);
  if (!op.Has(kIndices)) return;
  infer.OutputType(kIndices, DataType::kUint32);
  if (op[kOutputTensor].sizes) infer.Output("MXP-1", kIndices, op.sizes(kOutputTensor));
}

void Run(const OperatorDesc& op, InputViews inputs, const Dims& begin, OutputViews outputs) {
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

FormulaNode Meaning(const OperatorDesc& op, const Region& element, Formula& formula) {
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

constexpr Computed kFamily = {.run = Run, .sources = Sources, .formula = Meaning};

constexpr OperatorInfo WithIndices(OperatorInfo info) {
  info.infer = InferWithIndices;
  return info;
}

constexpr OperatorInfo kOperators[] = {
    Pooling("MAX_POOLING", kFields, kFamily),
    WithIndices(Pooling("MAX_POOLING1", kFields1, kFamily)),
    WithIndices(Pooling("MAX_POOLING2", kFields2, kFamily)),
};

}  // namespace

extern const std::span<const OperatorInfo> kOperatorRows = kOperators;

}  // namespace dmlop::pool_max

// DML_MAX_POOLING_GRAD_OPERATOR_DESC: each window of MAX_POOLING passes its gradient on to its
// greatest element.
namespace dmlop::pool_max_grad {
namespace {

using namespace pooling;

constexpr const Field* kFields[] = {
    &kInputTensor,           &kInputGradient,       &kOutputGradient,
    &kDimensionCount,        &kWindows.strides,     &kWindowSize,
    &kWindows.start_padding, &kWindows.end_padding, &kWindows.dilations};

void Infer(const OperatorDesc& op, Inference& infer) {
  infer.Output("MPG-1", kOutputGradient, op.sizes(kInputTensor));
  InferGradient("MPG-1", kInputTensor, op, infer);
}

void Run(const OperatorDesc& op, InputViews inputs, const Dims& begin, OutputViews outputs) {
  SumOfWinners(DimsOf(op, kInputTensor), inputs[0], inputs[1], begin, outputs[0]);
}

// An element competes with all others in its windows.
std::vector<SourceMap> Sources(const OperatorDesc& op) {
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

FormulaNode Meaning(const OperatorDesc& op, const Region& element, Formula& formula) {
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
    OperatorRow("MAX_POOLING_GRAD", {kFields, "MPG-1", Infer},
                Computed{.run = Run, .sources = Sources, .formula = Meaning},
                {.values_choose = true}),
};

}  // namespace

extern const std::span<const OperatorInfo> kOperatorRows = kOperators;

}  // namespace dmlop::pool_max_grad
