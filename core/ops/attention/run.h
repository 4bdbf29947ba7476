// MULTIHEAD_ATTENTION and MULTIHEAD_ATTENTION1: what the engine is called with.
#pragma once

#include <cstdint>
#include <vector>

#include "core/base/range.h"
#include "core/ops/family.h"

namespace dmlop::attention {

// Of a valid descriptor.
void RunAttention(const OperatorDesc& op, InputViews inputs, OutputViews outputs);

// What values of the inputs say of the keys: how many of each batch are past, and which a mask of
// lengths keeps. Empty where there are no such inputs.
struct KeyChoice {
  std::vector<int64_t> past;
  std::vector<Range> kept;
};
KeyChoice KeysOf(const OperatorDesc& op, InputViews inputs);

// The formula of an element of any output.
FormulaNode Meaning(const OperatorDesc& op, const Region& element, Formula& formula);

// Tells lengths of the past that are out of range, which RunAttention clamps.
void WarnOfPast(const OperatorDesc& op, InputViews inputs, Diagnostics& diagnostics);

}  // namespace dmlop::attention
