// SPDX-License-Identifier: Apache-2.0
#include "core/ops/families.h"

namespace dmlop {

void Run(const Placed& placed, const OperatorDesc& op, InputViews inputs, OutputViews outputs) {
  placed.run(op, inputs, Dims::Filled(outputs[0].layout.rank(), 0), outputs);
}

std::vector<SourceMap> SourcesOf(const Placed& placed, const OperatorDesc& op) {
  return placed.sources(op);
}

void RunPart(const Placed& placed, const OperatorDesc& op, InputViews inputs, const Region& part,
             const TensorView& output) {
  std::vector<TensorView> outputs;
  for (const TensorSlot& slot : TensorSlots(op, TensorRole::kOutput)) {
    outputs.push_back({nullptr, *slot.desc->data_type, output.layout});
  }
  outputs[part.tensor].data = output.data;
  placed.run(op, inputs, part.begin, outputs);
}

}  // namespace dmlop
