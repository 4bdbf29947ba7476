// SPDX-License-Identifier: Apache-2.0
#include "core/ops/normalization/shared.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <utility>

namespace dmlop::normalization {

void RequireParameter(std::string_view rank_rule, std::string_view size_rule,
                      const FieldOf<TensorDesc>& parameter, Inference& infer) {
  const TensorAt tensor = infer.tensor(parameter);
  const TensorAt input = infer.tensor(kInputTensor);
  if (!infer.RequireSameRank(rank_rule, tensor, input)) return;
  for (size_t d = 0; d < input.sizes().size(); ++d) {
    const uint32_t size = tensor.sizes()[d];
    infer.Require(size == 1 || size == input.sizes()[d], size_rule, SizeAt(tensor, d),
                  "size {} is neither 1 nor {}, as InputTensor has", size, input.sizes()[d]);
  }
}

void RequireFinite(std::string_view rule, const FieldOf<float>& field, const OperatorDesc& op,
                   Inference& infer) {
  infer.Require(std::isfinite(op[field]), rule, At(field), "{} is not finite", op[field]);
}

SourceMap SliceOfInput(const OperatorDesc& op, size_t input, std::vector<uint32_t> axes) {
  const Sizes& sizes = *TensorSlots(op, TensorRole::kInput)[input].desc->sizes;
  return [input, sizes, axes = std::move(axes)](const Region& output) {
    Region source{input, output.begin, output.sizes};
    for (const uint32_t axis : axes) {
      source.begin[axis] = 0;
      source.sizes[axis] = sizes[axis];
    }
    for (size_t d = 0; d < sizes.size(); ++d) {
      if (sizes[d] == 1) source.begin[d] = 0;
      if (sizes[d] == 1) source.sizes[d] = 1;
    }
    return source;
  };
}

SourceMap OfOutputs(std::vector<size_t> outputs, SourceMap source) {
  return [outputs = std::move(outputs),
          source = std::move(source)](const Region& output) -> std::optional<Region> {
    const bool is_one = std::find(outputs.begin(), outputs.end(), output.tensor) != outputs.end();
    return is_one ? source(output) : std::nullopt;
  };
}

std::vector<uint32_t> RepeatedDimensions(const Sizes& sizes) {
  std::vector<uint32_t> dimensions;
  for (uint32_t d = 0; d < sizes.size(); ++d) {
    if (sizes[d] == 1) dimensions.push_back(d);
  }
  return dimensions;
}

std::vector<FormulaNode> SliceAt(const OperatorDesc& op, size_t input, std::vector<uint32_t> axes,
                                 const Region& element, Formula& formula) {
  return formula.Elements(*SliceOfInput(op, input, std::move(axes))(element));
}

FormulaNode ElementAt(const OperatorDesc& op, size_t input, const Region& element,
                      Formula& formula) {
  return formula.Element(*SliceOfInput(op, input, {})(element));
}

FormulaNode MeanOf(std::span<const FormulaNode> slice, Formula& formula) {
  return formula.Named("mean", formula.Apply(FormulaOperation::kMean, slice));
}

FormulaNode VarianceOf(std::span<const FormulaNode> slice, std::optional<FormulaNode> mean,
                       Formula& formula) {
  const auto square = [&](FormulaNode x) {
    const FormulaNode distance = mean ? formula.Difference(x, *mean) : x;
    return formula.Apply(FormulaOperation::kSquare, {distance});
  };
  return formula.Named(mean ? "variance" : "mean of squares",
                       formula.Apply(FormulaOperation::kMean, formula.Each(slice, square)));
}

FormulaNode DeviationOf(FormulaNode variance, double epsilon, Formula& formula) {
  const FormulaNode sum = formula.Sum({variance, formula.Number(epsilon)});
  return formula.Named("deviation", formula.Apply(FormulaOperation::kSquareRoot, {sum}));
}

}  // namespace dmlop::normalization
