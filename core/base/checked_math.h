// Unsigned 64-bit arithmetic that detects overflow. Every size computation uses it.
#pragma once

#include <algorithm>
#include <cstdint>
#include <initializer_list>
#include <limits>
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

// Returns the product of numbers that are not negative; saturates at the greatest int64_t.
template <typename Numbers = std::initializer_list<int64_t>>
int64_t SaturatedProduct(const Numbers& numbers) {
  CheckedU64 product = 1;
  for (const auto number : numbers) product = CheckedMul(product, static_cast<uint64_t>(number));
  constexpr uint64_t kMost = std::numeric_limits<int64_t>::max();
  return static_cast<int64_t>(std::min(product.value_or(kMost), kMost));
}

}  // namespace dmlop
