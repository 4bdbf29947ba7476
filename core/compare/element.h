// One element of a tensor as bits, as a double, and as a place among the values of its type.
#pragma once

#include <bit>
#include <concepts>
#include <cstdint>
#include <type_traits>

#include "core/tensor/half.h"

namespace dmlop {

inline uint64_t ElementBits(Half x) {
  return x.bits;
}
inline uint64_t ElementBits(float x) {
  return std::bit_cast<uint32_t>(x);
}
inline uint64_t ElementBits(double x) {
  return std::bit_cast<uint64_t>(x);
}
template <std::integral T>
uint64_t ElementBits(T x) {
  return static_cast<std::make_unsigned_t<T>>(x);
}

// Exact but for 64-bit integers, which are rounded.
inline double AsDouble(Half x) {
  return static_cast<double>(ToFloat(x));
}
template <typename T>
double AsDouble(T x) {
  return static_cast<double>(x);
}

// Neighbouring values have neighbouring ordinals; -0 and +0 have the same one. Not for NaN.
template <typename T>
int64_t Ordinal(T x) {
  constexpr int kMagnitudeBits = 8 * sizeof(T) - 1;
  const uint64_t bits = ElementBits(x);
  const int64_t magnitude = static_cast<int64_t>(bits & ((uint64_t{1} << kMagnitudeBits) - 1));
  const int64_t sign = -static_cast<int64_t>(bits >> kMagnitudeBits);
  return (magnitude ^ sign) - sign;  // negates where the sign is -1
}
template <std::signed_integral T>
int64_t Ordinal(T x) {
  return x;
}
template <std::unsigned_integral T>
uint64_t Ordinal(T x) {
  return x;
}

// How many representable values apart `a` and `b` are: the difference, for integers.
template <typename T>
uint64_t UlpDistance(T a, T b) {
  const auto from = Ordinal(a);
  const auto to = Ordinal(b);
  const uint64_t rise = static_cast<uint64_t>(to) - static_cast<uint64_t>(from);
  return from <= to ? rise : -rise;
}

}  // namespace dmlop
