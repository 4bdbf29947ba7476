#include "core/ops/families.h"

namespace dmlop {

void Run(const Weighting& weighting, const OperatorDesc& op, InputViews inputs,
         OutputViews outputs) {
  const Dims begin = Dims::Filled(outputs[0].layout.rank(), 0);
  SumTaps(weighting.source(op, inputs[0]), begin, outputs[0]);
}

std::vector<SourceMap> SourcesOf(const Weighting& weighting, const OperatorDesc& op) {
  return weighting.sources(op);
}

void RunPart(const Weighting& weighting, const OperatorDesc& op, InputViews inputs,
             const Region& part, const TensorView& output) {
  SumTaps(weighting.source(op, inputs[0]), part.begin, output);
}

}  // namespace dmlop
