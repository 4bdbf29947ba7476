// Quotients that are rounded down or up, of any signs, and multiples.
#pragma once

#include <concepts>
#include <cstdint>
#include <type_traits>

namespace dmlop {

// The divisor is not zero.
constexpr int64_t FloorDiv(int64_t a, int64_t b) {
  return a / b - (a % b != 0 && (a < 0) != (b < 0) ? 1 : 0);
}
constexpr int64_t CeilDiv(int64_t a, int64_t b) {
  return -FloorDiv(-a, b);
}

// The next multiple that is not less than a value that is not negative.
template <std::integral T>
constexpr T RoundUp(T value, std::type_identity_t<T> multiple) {
  return (value + multiple - 1) / multiple * multiple;
}

}  // namespace dmlop
