// SPDX-License-Identifier: Apache-2.0
// Activations within operators: those that follow the operator's own result, judged and computed as
// if they stood alone on the output (FUSE-2, FUSE-4), and those of the gates of networks.
#pragma once

#include <functional>
#include <optional>
#include <string>

#include "core/ops/operator.h"

namespace dmlop {

// Returns the fused activation with the output's type and sizes; none if there is no activation, or
// if these are not known.
std::optional<OperatorDesc> FusedAlone(const OperatorDesc& host);

// An activation of a descriptor, as if it stood alone.
struct LoneActivation {
  const Field& field;  // of the host
  std::string path;    // "ActivationDescs/1"
  OperatorDesc op;
  bool on_output;  // its tensors are the host's output; otherwise they are made up and valid
};

void ForEachActivation(const OperatorDesc& host,
                       const std::function<void(LoneActivation activation)>& visit);

OperatorDesc WithoutActivation(OperatorDesc host);

// Runs an activation that has no tensors of its own.
void RunActivation(OperatorDesc activation, const ConstTensorView& input, const TensorView& output);

// Likewise, but overwrites its input.
void ActivateInPlace(const OperatorDesc& activation, const TensorView& tensor);

// Returns a function that does so to any number of tensors of FLOAT32. The activation must outlive
// it.
std::function<void(const TensorView& tensor)> InPlaceFunction(const OperatorDesc& activation);

// Returns the formula of such an activation of a node; none unless it computes each element by
// itself. The activation must have its tensors.
std::optional<FormulaNode> FormulaOfActivation(const OperatorDesc& activation, FormulaNode x,
                                               Formula& formula);

}  // namespace dmlop
