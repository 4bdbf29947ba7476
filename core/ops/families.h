// SPDX-License-Identifier: Apache-2.0
// The functions that each family implements in a source of its own; see family.h.
#pragma once

#include <span>

#include "core/ops/family.h"
#include "core/ops/operator.h"

namespace dmlop {

void Run(const Computed&, const OperatorDesc& op, InputViews inputs, OutputViews outputs);
std::vector<SourceMap> SourcesOf(const Computed&, const OperatorDesc& op);
void RunPart(const Computed&, const OperatorDesc& op, InputViews inputs, const Region& part,
             const TensorView& output);
std::optional<FormulaNode> FormulaOf(const Computed&, const OperatorDesc& op, const Region& element,
                                     Formula& formula);

// A call of the engine and the operands that it computes elements from.
struct ElementWiseWork {
  ElementWiseCall call;
  std::vector<ConstTensorView> operands;  // in the order of the function's parameters
};
ElementWiseWork WorkOf(const ElementWise&, const OperatorDesc& op, InputViews inputs);

void Run(const ElementWise&, const OperatorDesc& op, InputViews inputs, OutputViews outputs);
std::vector<SourceMap> SourcesOf(const ElementWise&, const OperatorDesc& op);
void RunPart(const ElementWise&, const OperatorDesc& op, InputViews inputs, const Region& part,
             const TensorView& output);
std::optional<FormulaNode> FormulaOf(const ElementWise&, const OperatorDesc& op,
                                     const Region& element, Formula& formula);

void Run(const Movement&, const OperatorDesc& op, InputViews inputs, OutputViews outputs);
std::vector<SourceMap> SourcesOf(const Movement&, const OperatorDesc& op);
void RunPart(const Movement&, const OperatorDesc& op, InputViews inputs, const Region& part,
             const TensorView& output);

void Run(const Reduction&, const OperatorDesc& op, InputViews inputs, OutputViews outputs);
std::vector<SourceMap> SourcesOf(const Reduction&, const OperatorDesc& op);
void RunPart(const Reduction&, const OperatorDesc& op, InputViews inputs, const Region& part,
             const TensorView& output);
std::optional<FormulaNode> FormulaOf(const Reduction&, const OperatorDesc& op,
                                     const Region& element, Formula& formula);

// Returns the part of a view that lies in the region.
template <typename View>
View Narrowed(View view, const Region& region) {
  for (size_t d = 0; d < region.sizes.size(); ++d) {
    view = view.Slice(d, region.begin[d], region.sizes[d]);
  }
  return view;
}

// Copies `part` out of `computed`, which holds the elements of `region` around it.
void CopyInner(const TensorView& computed, const Region& region, Region part,
               const TensorView& output);

// --- operands that have one element for each block of the output ---------------------------------

// Returns whether an operand has other sizes than the first one, which has the whole output's.
bool HaveBlocks(std::span<const ConstTensorView> operands);

// Computes a part of an output into a view of that part's sizes. In each dimension all operands
// with blocks have the same size, which divides the output's.
void ComputeInBlocks(const ElementWiseCall& call, std::span<const ConstTensorView> operands,
                     const Region& part, const TensorView& output);

}  // namespace dmlop
