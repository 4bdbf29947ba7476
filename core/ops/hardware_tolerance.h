// What the WebNN conformance suite grants every backend, as rows of operators state it.
#pragma once

#include <cmath>
#include <cstdint>
#include <limits>
#include <span>

#include "core/base/integers.h"
#include "core/ops/operator.h"

namespace dmlop {

inline bool IsOfHalves(const OperatorDesc& op) {
  return *TensorSlots(op).front().desc->data_type == DataType::kFloat16;
}

// Units in the last place of the results.
template <uint64_t kFloat32, uint64_t kFloat16 = kFloat32>
Tolerance Ulp(const OperatorDesc& op) {
  return {.ulp = IsOfHalves(op) ? kFloat16 : kFloat32};
}

// An absolute error of a power of two.
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

// factor * N + more for the N terms of a sum: the product of counts, of which no more than fits.
inline Tolerance UlpOfSum(std::span<const uint32_t> counts, uint64_t factor, uint64_t more) {
  CheckedU64 ulp = factor;
  for (const uint32_t count : counts) ulp = CheckedMul(ulp, count);
  return {.ulp = CheckedAdd(ulp, more).value_or(std::numeric_limits<uint64_t>::max())};
}

}  // namespace dmlop
