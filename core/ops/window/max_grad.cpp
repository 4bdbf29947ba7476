// SPDX-License-Identifier: Apache-2.0
// DML_MAX_POOLING_GRAD_OPERATOR_DESC: each window of MAX_POOLING passes its gradient on to its
// greatest element.
#include <optional>
#include <vector>

#include "core/engine/window/pool_sum.h"
#include "core/ops/window/shared.h"

namespace dmlop::pool_max_grad {
namespace {

using namespace pooling;

constexpr const Field* kFields[] = {
    &kInputTensor,           &kInputGradient,       &kOutputGradient,
    &kDimensionCount,        &kWindows.strides,     &kWindowSize,
    &kWindows.start_padding, &kWindows.end_padding, &kWindows.dilations};
constexpr SupportRow kRows[] = {
    {Level(3, 0), 4, 4, {types::kFloats}},
    {Level(4, 0), 4, 5, {types::kFloats}},
};

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
    OperatorRow("MAX_POOLING_GRAD", {kFields, kSupportBy<kRows>, "MPG-1", Infer},
                Computed{.run = Run, .sources = Sources, .formula = Meaning},
                {.values_choose = true}),
};

}  // namespace

extern const std::span<const OperatorInfo> kOperatorRows = kOperators;

}  // namespace dmlop::pool_max_grad
