// Unsigned 64-bit arithmetic that says when it overflows. Every size computation uses it.
#pragma once

#include <cstdint>
#include <optional>

namespace dmlop {

using CheckedU64 = std::optional<uint64_t>;  // empty: did not fit

inline CheckedU64 CheckedAdd(CheckedU64 a, CheckedU64 b) {
  uint64_t sum = 0;
  if (!a || !b || __builtin_add_overflow(*a, *b, &sum)) return std::nullopt;
  return sum;
}

inline CheckedU64 CheckedMul(CheckedU64 a, CheckedU64 b) {
  uint64_t product = 0;
  if (!a || !b || __builtin_mul_overflow(*a, *b, &product)) return std::nullopt;
  return product;
}

}  // namespace dmlop
