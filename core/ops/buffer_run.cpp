// SPDX-License-Identifier: Apache-2.0
#include "core/ops/buffer_run.h"

#include <vector>

#include "core/tensor/nibbles.h"

namespace dmlop {

void RunOnBuffers(const OperatorDesc& op, InputViews inputs, OutputViews outputs) {
  std::vector<ConstTensorView> from(inputs.begin(), inputs.end());
  std::vector<TensorView> to(outputs.begin(), outputs.end());
  std::vector<UnpackedNibbles> unpacked;
  unpacked.reserve(from.size() + to.size());
  for (ConstTensorView& input : from) {
    if (HasNibbles(input.type)) input = AsConst(unpacked.emplace_back(input).view());
  }
  const size_t first_output = unpacked.size();
  for (TensorView& output : to) {
    if (HasNibbles(output.type)) output = unpacked.emplace_back(AsConst(output)).view();
  }
  Run(op, from, to);
  size_t next = first_output;
  for (const TensorView& output : outputs) {
    if (HasNibbles(output.type)) unpacked[next++].PackInto(output.data);
  }
}

}  // namespace dmlop
