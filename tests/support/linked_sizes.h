// Operators with tensors and fields whose sizes hang together: these are drawn first, and together.
#pragma once

#include <cstdint>
#include <vector>

#include "core/ops/operator.h"
#include "tests/support/entropy.h"

namespace dmlop {

// Sets fields and the sizes of tensors, which have their types, around the sizes of a first tensor; leaves alone what hangs
// together with nothing.
void DrawLinkedSizes(const Entropy& from, const std::vector<uint32_t>& sizes, OperatorDesc& op);

}  // namespace dmlop
