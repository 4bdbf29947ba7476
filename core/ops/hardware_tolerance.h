// SPDX-License-Identifier: Apache-2.0
// The tolerances that the WebNN conformance suite grants every backend, for the rows of operators.
#pragma once

#include <cmath>
#include <cstdint>
#include <limits>
#include <span>

#include "core/base/integers.h"
#include "core/ops/operator.h"

namespace dmlop {

// Returns whether the suite has an operator of this kind; what it lacks must be equal.
bool IsInWebnn(const OperatorDesc& op);

inline bool IsOfHalves(const OperatorDesc& op) {
  return *TensorSlots(op).front().desc->data_type == DataType::kFloat16;
}

// Returns whether the first input or the first output has floats.
bool HasFloats(const OperatorDesc& op);

// A number of units in the last place; of integers alone, none.
template <uint64_t kFloat32, uint64_t kFloat16 = kFloat32>
Tolerance Ulp(const OperatorDesc& op) {
  if (!HasFloats(op)) return {};
  return {.ulp = IsOfHalves(op) ? kFloat16 : kFloat32};
}

// An absolute error that is a power of two.
template <int kFloat32, int kFloat16 = kFloat32>
Tolerance PowerOfTwo(const OperatorDesc& op) {
  return {.absolute = std::ldexp(1.0, IsOfHalves(op) ? kFloat16 : kFloat32)};
}

// FLOAT32 within 1/1024, FLOAT16 within 1/512.
inline constexpr auto kThousandth = PowerOfTwo<-10, -9>;

constexpr OperatorInfo Granting(Tolerance (*tolerance)(const OperatorDesc& op), OperatorInfo info) {
  info.hardware_tolerance = tolerance;
  return info;
}

template <uint64_t kFloat32, uint64_t kFloat16 = kFloat32>
constexpr OperatorInfo Tolerating(const OperatorInfo& info) {
  return Granting(Ulp<kFloat32, kFloat16>, info);
}

// factor * N + more, where N, the product of `counts`, counts the terms of a sum. It saturates.
inline Tolerance UlpOfSum(std::span<const uint32_t> counts, uint64_t factor, uint64_t more) {
  CheckedU64 ulp = factor;
  for (const uint32_t count : counts) ulp = CheckedMul(ulp, count);
  return {.ulp = CheckedAdd(ulp, more).value_or(std::numeric_limits<uint64_t>::max())};
}

}  // namespace dmlop
