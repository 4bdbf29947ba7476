// SPDX-License-Identifier: Apache-2.0
#include "core/ops/reduction/shared.h"

namespace dmlop::reduction {

void InferIndexType(const OperatorDesc& op, std::string_view function, Inference& infer) {
  infer.OutputType(kOutput, DataType::kUint32);
  const DataType output = *op[kOutput].data_type;
  infer.Require(kIndexTypes.Contains(output), "RED-2", {kOutput.name, std::nullopt, "DataType"},
                "{} cannot hold the index that {} gives; expected one of {}", Name(output),
                function, ToString(kIndexTypes));
}

void InferReducedSizes(const OperatorDesc& op, Inference& infer) {
  if (!CheckAxes("RED-3", "RED-4", kAxes, op, infer.tensor(kInputTensor), infer)) {
    if (op[kOutput].sizes) {
      infer.RequireSameRank("RED-1", infer.tensor(kOutput), infer.tensor(kInputTensor));
    }
    return;
  }
  Sizes sizes = op.sizes(kInputTensor);
  for (const uint32_t axis : op[kAxes]) sizes[axis] = 1;
  infer.Output("RED-1", kOutput, sizes);
}

}  // namespace dmlop::reduction
