// SPDX-License-Identifier: Apache-2.0
// The bytes that an operator must move, no matter how its loops are written.
#pragma once

#include <cstdint>

#include "core/engine/limits.h"
#include "core/ops/operator.h"

namespace dmlop {

// Every needed input element is read once, and every output element written once. Elements that
// share a place in memory, as along a stride of 0, count once.
struct Traffic {
  int64_t read_bytes = 0;
  int64_t written_bytes = 0;

  int64_t total_bytes() const { return read_bytes + written_bytes; }
};

// Takes a valid descriptor and views as Run takes them.
Traffic TrafficOf(const OperatorDesc& op, InputViews inputs, OutputViews outputs);

// The minimum number of bytes that the loops of a valid descriptor process: those of the inputs for
// reductions, of the outputs for other operators.
int64_t WorkBytes(const OperatorDesc& op);

// Copy, unless one direction has at least three times the bytes of the other.
Limit LimitOf(const Traffic& traffic);

}  // namespace dmlop
