// Divides integers of any signs, rounding down or up, and rounds up to multiples.
#pragma once

#include <concepts>
#include <cstdint>
#include <type_traits>

namespace dmlop {

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

}  // namespace dmlop
