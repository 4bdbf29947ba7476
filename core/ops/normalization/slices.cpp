// SPDX-License-Identifier: Apache-2.0
#include "core/ops/normalization/slices.h"

#include <algorithm>
#include <cmath>

namespace dmlop::normalization {

void RequireFinite(std::string_view rule, const FieldOf<float>& field, const OperatorDesc& op,
                   Inference& infer) {
  infer.Require(std::isfinite(op[field]), rule, At(field), "{} is not finite", op[field]);
}

std::vector<uint32_t> RepeatedDimensions(const Sizes& sizes) {
  std::vector<uint32_t> dimensions;
  for (uint32_t d = 0; d < sizes.size(); ++d) {
    if (sizes[d] == 1) dimensions.push_back(d);
  }
  return dimensions;
}

namespace {

Region SliceOf(size_t input, std::span<const uint32_t> axes, const Region& element,
               Formula& formula) {
  const Dims& sizes = formula.inputs()[input].layout.sizes;
  Region slice{input, element.begin, element.sizes};
  for (uint32_t d = 0; d < sizes.size(); ++d) {
    if (sizes[d] != 1 && std::ranges::find(axes, d) == axes.end()) continue;
    slice.begin[d] = 0;
    slice.sizes[d] = sizes[d];
  }
  return slice;
}

}  // namespace

std::vector<FormulaNode> SliceAt(size_t input, std::span<const uint32_t> axes,
                                 const Region& element, Formula& formula) {
  return formula.Elements(SliceOf(input, axes, element, formula));
}

FormulaNode ElementAt(size_t input, const Region& element, Formula& formula) {
  return formula.Element(SliceOf(input, {}, element, formula));
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
