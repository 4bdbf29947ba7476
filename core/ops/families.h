// What each family answers; see family.h. Each is written in a source of its own.
#pragma once

#include "core/ops/operator.h"

namespace dmlop {

void Run(const Custom&, const OperatorDesc& op, InputViews inputs, OutputViews outputs);
std::vector<SourceMap> SourcesOf(const Custom&, const OperatorDesc& op);
void RunPart(const Custom&, const OperatorDesc& op, InputViews inputs, const Region& part,
             const TensorView& output);

// What the engine computes elements with.
struct ElementWiseWork {
  ElementWiseCall call;
  std::vector<ConstTensorView> operands;  // in the order of the function
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

void Run(const Placed&, const OperatorDesc& op, InputViews inputs, OutputViews outputs);
std::vector<SourceMap> SourcesOf(const Placed&, const OperatorDesc& op);
void RunPart(const Placed&, const OperatorDesc& op, InputViews inputs, const Region& part,
             const TensorView& output);

void Run(const Reduction&, const OperatorDesc& op, InputViews inputs, OutputViews outputs);
std::vector<SourceMap> SourcesOf(const Reduction&, const OperatorDesc& op);
void RunPart(const Reduction&, const OperatorDesc& op, InputViews inputs, const Region& part,
             const TensorView& output);
std::optional<FormulaNode> FormulaOf(const Reduction&, const OperatorDesc& op,
                                     const Region& element, Formula& formula);

// The part of a view that is in the region.
template <typename View>
View Narrowed(View view, const Region& region) {
  for (size_t d = 0; d < region.sizes.size(); ++d) {
    view = view.Slice(d, region.begin[d], region.sizes[d]);
  }
  return view;
}

// Copies a part out of what has been computed of the tensor, a region around it.
void CopyInner(const TensorView& computed, const Region& region, Region part,
               const TensorView& output);

}  // namespace dmlop
