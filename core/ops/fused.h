// An activation that follows an operator's own result. It is judged and computed as if it stood
// alone on the output (FUSE-2, FUSE-4).
#pragma once

#include <optional>

#include "core/ops/operator.h"

namespace dmlop {

// The activation of a descriptor with the output's type and sizes; none where there is no
// activation, or where they are not known.
std::optional<OperatorDesc> FusedAlone(const OperatorDesc& host);

OperatorDesc WithoutActivation(OperatorDesc host);

// Runs an activation that has no tensors of its own.
void RunActivation(OperatorDesc activation, const ConstTensorView& input, const TensorView& output);

// The same in the place of its input.
void ActivateInPlace(const OperatorDesc& activation, const TensorView& tensor);

}  // namespace dmlop
