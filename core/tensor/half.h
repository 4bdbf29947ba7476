// SPDX-License-Identifier: Apache-2.0
// IEEE 754 binary16 as storage, with exact conversions. Arithmetic happens in wider types.
#pragma once

#include <bit>
#include <cstdint>

namespace dmlop {

struct Half {
  uint16_t bits;

  friend bool operator==(Half a, Half b) = default;  // equal bits
};

// Every binary16 value is a binary32 value. A signalling NaN becomes quiet; its payload is kept.
inline float ToFloat(Half half) {
  const uint32_t sign = static_cast<uint32_t>(half.bits & 0x8000u) << 16;
  const uint32_t exponent = (half.bits >> 10) & 0x1Fu;
  const uint32_t mantissa = half.bits & 0x3FFu;
  if (exponent == 0) {  // zero or subnormal: mantissa * 2^-24
    const float magnitude = static_cast<float>(mantissa) * 0x1p-24f;
    return std::bit_cast<float>(std::bit_cast<uint32_t>(magnitude) | sign);
  }
  if (exponent == 31) {
    const uint32_t quiet = mantissa != 0 ? 0x400000u : 0u;
    return std::bit_cast<float>(sign | 0x7F800000u | (mantissa << 13) | quiet);
  }
  return std::bit_cast<float>(sign | ((exponent + 112) << 23) | (mantissa << 13));
}

// Rounds once, to nearest, ties to even; overflow gives infinity; every NaN becomes 0x7E00.
inline Half ToHalf(double value) {
  const uint64_t bits = std::bit_cast<uint64_t>(value);
  const uint16_t sign = static_cast<uint16_t>((bits >> 48) & 0x8000u);
  const double magnitude = std::bit_cast<double>(bits & ~(uint64_t{1} << 63));
  if (magnitude != magnitude) return Half{0x7E00};
  if (magnitude >= 65520.0) return Half{static_cast<uint16_t>(sign | 0x7C00u)};
  if (magnitude < 0x1p-14) {
    // For a subnormal, adding 2^28 leaves its multiple of 2^-24 in the low mantissa bits, rounded.
    const uint64_t steps = std::bit_cast<uint64_t>(magnitude + 0x1p28) & 0x7FFu;
    return Half{static_cast<uint16_t>(sign | steps)};
  }
  // For others, the 52-bit mantissa is rounded to 10 bits in place; a carry moves into the
  // exponent.
  uint64_t rounded = std::bit_cast<uint64_t>(magnitude);
  rounded += 0x1FFFFFFFFFFull + ((rounded >> 42) & 1);
  const uint64_t half_bits = (rounded >> 42) - (uint64_t{1023 - 15} << 10);
  return Half{static_cast<uint16_t>(sign | half_bits)};
}

}  // namespace dmlop
