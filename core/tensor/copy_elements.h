// SPDX-License-Identifier: Apache-2.0
// A copy into any layout, which the quicker one of the engine is not for.
#pragma once

#include "core/tensor/tensor.h"

namespace dmlop {

// Copies elements of one type one after another. The views have equal sizes; where the destination
// has several elements in one place, the last one stays there.
void CopyElements(const ConstTensorView& from, const TensorView& to);

}  // namespace dmlop
