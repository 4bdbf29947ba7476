// MULTIHEAD_ATTENTION and MULTIHEAD_ATTENTION1: what the engine is called with.
#pragma once

#include "core/ops/family.h"

namespace dmlop::attention {

// Of a valid descriptor.
void RunAttention(const OperatorDesc& op, InputViews inputs, OutputViews outputs);

// Tells lengths of the past that are out of range, which RunAttention clamps.
void WarnOfPast(const OperatorDesc& op, InputViews inputs, Diagnostics& diagnostics);

}  // namespace dmlop::attention
