// The bytes that an operator has to move, whatever its loops do.
#pragma once

#include <cstdint>
#include <span>

#include "core/engine/limits.h"
#include "core/ops/operator.h"

namespace dmlop {

// Every element that the operator needs is read once, and every output element written once.
// Elements that share a place in memory, as along a stride of 0, are one.
struct Traffic {
  int64_t read_bytes = 0;
  int64_t written_bytes = 0;

  int64_t total_bytes() const { return read_bytes + written_bytes; }
};

// Of a valid desc on views as Run takes them.
Traffic TrafficOf(const OperatorDesc& op, InputViews inputs, OutputViews outputs);

// Bytes that the loops of a valid desc go through at least: elements of the inputs of reductions,
// of the outputs of the others.
int64_t WorkBytes(const OperatorDesc& op);

// Copy, unless one direction has at least three times the bytes of the other.
Limit LimitOf(const Traffic& traffic);

}  // namespace dmlop
