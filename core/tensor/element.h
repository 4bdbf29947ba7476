// SPDX-License-Identifier: Apache-2.0
// One element of a tensor as bits, as a double, and as a position among the values of its type.
#pragma once

#include <array>
#include <bit>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <type_traits>

#include "core/tensor/data_type.h"
#include "core/tensor/half.h"
#include "core/tensor/tensor.h"

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

// Exact except for 64-bit integers, which are rounded.
inline double AsDouble(Half x) {
  return static_cast<double>(ToFloat(x));
}
template <typename T>
double AsDouble(T x) {
  return static_cast<double>(x);
}

// Rounds once to a float type.
template <typename T>
T FromDouble(double x) {
  if constexpr (std::is_same_v<T, Half>) {
    return ToHalf(x);
  } else {
    return static_cast<T>(x);
  }
}

// An element of any type, in the first bytes. Reads need no alignment.
using ElementBytes = std::array<std::byte, 8>;

template <typename T>
T ElementOf(const std::byte* bytes) {
  T element;
  std::memcpy(&element, bytes, sizeof(T));
  return element;
}
template <typename T>
T ElementOf(const ElementBytes& bytes) {
  return ElementOf<T>(bytes.data());
}
template <typename T>
ElementBytes BytesOf(T element) {
  ElementBytes bytes{};
  std::memcpy(bytes.data(), &element, sizeof(T));
  return bytes;
}

// The integer types in which positions and distances of T are counted: wide enough, but no wider,
// so that loops over many are fast.
template <typename T>
using WideSigned = std::conditional_t<sizeof(T) == 8, int64_t, int32_t>;
template <typename T>
using WideUnsigned = std::make_unsigned_t<WideSigned<T>>;

// Consecutive values have consecutive ordinals; -0 and +0 have the same one. NaN has none.
template <typename T>
WideSigned<T> Ordinal(T x) {
  using Bits = WideUnsigned<T>;
  constexpr int kMagnitudeBits = 8 * sizeof(T) - 1;
  const Bits bits = static_cast<Bits>(ElementBits(x));
  const auto magnitude = static_cast<WideSigned<T>>(bits & ((Bits{1} << kMagnitudeBits) - 1));
  const auto sign = -static_cast<WideSigned<T>>(bits >> kMagnitudeBits);
  return (magnitude ^ sign) - sign;  // negates if the sign is -1
}
template <std::signed_integral T>
WideSigned<T> Ordinal(T x) {
  return x;
}
template <std::unsigned_integral T>
WideUnsigned<T> Ordinal(T x) {
  return x;
}

// Returns how many representable values apart `a` and `b` are; for integers, their difference.
template <typename T>
WideUnsigned<T> UlpDistance(T a, T b) {
  using Distance = WideUnsigned<T>;
  const auto from = Ordinal(a);
  const auto to = Ordinal(b);
  const Distance rise = static_cast<Distance>(to) - static_cast<Distance>(from);
  return from <= to ? rise : Distance{0} - rise;
}

// --- conversion ----------------------------------------------------------------------------------

// Converts numbers to elements of a type that cannot hold all of them, and copies elements.

// Truncates toward zero. A value beyond the range of T becomes its nearest end; NaN becomes 0.
template <std::integral T>
T Truncated(double value) {
  using Numbers = std::numeric_limits<T>;
  if (value != value) return 0;
  if (value <= static_cast<double>(Numbers::min())) return Numbers::min();
  if (value >= static_cast<double>(Numbers::max())) return Numbers::max();
  return static_cast<T>(value);
}

// Converts a FLOAT attribute to an element of any type: rounded to the nearest FLOAT16, or
// truncated.
ElementBytes ConvertElement(float value, DataType type);

// Copies elements of one type one after another into any layout, also where CopyView cannot. The
// views have equal sizes; where the destination has several elements in one place, the last one
// stays there.
void CopyElements(const ConstTensorView& from, const TensorView& to);

}  // namespace dmlop
