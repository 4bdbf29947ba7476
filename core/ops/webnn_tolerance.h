// What the WebNN conformance suite grants the results of operators on floats; for their rows.
#pragma once

#include <cmath>
#include <cstdint>

#include "core/ops/operator.h"

namespace dmlop::webnn {

// Of an operator whose first tensor is its input.
inline bool IsOfHalves(const OperatorDesc& op) {
  return TensorSlots(op).front().desc->data_type == DataType::kFloat16;
}

// Units in the last place.
template <uint64_t kFloat32, uint64_t kFloat16 = kFloat32>
Tolerance Ulp(const OperatorDesc& op) {
  return {.ulp = IsOfHalves(op) ? kFloat16 : kFloat32};
}

// An absolute error: 2 to such a power.
template <int kFloat32, int kFloat16 = kFloat32>
Tolerance Absolute(const OperatorDesc& op) {
  return {.absolute = std::ldexp(1.0, IsOfHalves(op) ? kFloat16 : kFloat32)};
}

constexpr OperatorInfo Tolerating(HardwareTolerance* tolerance, OperatorInfo info) {
  info.hardware_tolerance = tolerance;
  return info;
}

}  // namespace dmlop::webnn
