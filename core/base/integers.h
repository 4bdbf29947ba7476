// SPDX-License-Identifier: Apache-2.0
// Integers: of 128 bits, in ranges, divided with rounding, and multiplied with checks for overflow.
#pragma once

#include <algorithm>
#include <concepts>
#include <cstdint>
#include <initializer_list>
#include <limits>
#include <optional>
#include <type_traits>

namespace dmlop {

// Compilers provide it as an extension.
__extension__ using Int128 = __int128;

// --- ranges --------------------------------------------------------------------------------------

// The integers [begin, end).
struct Range {
  int64_t begin, end;

  int64_t count() const { return std::max<int64_t>(0, end - begin); }
  bool Contains(int64_t number) const { return begin <= number && number < end; }
};

inline Range Intersection(Range a, Range b) {
  return {std::max(a.begin, b.begin), std::min(a.end, b.end)};
}

// --- division, rounded down or up, and multiples -------------------------------------------------

// The divisor must not be zero.
constexpr int64_t FloorDiv(int64_t a, int64_t b) {
  return a / b - (a % b != 0 && (a < 0) != (b < 0) ? 1 : 0);
}
constexpr int64_t CeilDiv(int64_t a, int64_t b) {
  return -FloorDiv(-a, b);
}

// Rounds a value that is not negative up to a multiple.
template <std::integral T>
constexpr T RoundUp(T value, std::type_identity_t<T> multiple) {
  return (value + multiple - 1) / multiple * multiple;
}

// --- unsigned 64-bit arithmetic that detects overflow, for every size computation ----------------

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
