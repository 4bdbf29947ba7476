// SPDX-License-Identifier: Apache-2.0
// Powers of 2 in steps of 16ths, from which exponentials are built.
#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>

namespace dmlop {

// 2^(i / 16), rounded.
alignas(64) inline constexpr std::array<double, 16> kPowersOfTwo = {
    0x1.0000000000000p+0, 0x1.0b5586cf9890fp+0, 0x1.172b83c7d517bp+0, 0x1.2387a6e756238p+0,
    0x1.306fe0a31b715p+0, 0x1.3dea64c123422p+0, 0x1.4bfdad5362a27p+0, 0x1.5ab07dd485429p+0,
    0x1.6a09e667f3bcdp+0, 0x1.7a11473eb0187p+0, 0x1.8ace5422aa0dbp+0, 0x1.9c49182a3f090p+0,
    0x1.ae89f995ad3adp+0, 0x1.c199bdd85529cp+0, 0x1.d5818dcfba487p+0, 0x1.ea4afa2a490dap+0};

// The bits of these powers, less i at the position of an exponent's 16ths: entry k mod 16 plus k at
// that position gives the bits of 2^(k / 16).
inline constexpr int kSixteenthsAt = 48;
constexpr std::array<int64_t, 16> PowerBits() {
  std::array<int64_t, 16> bits{};
  for (size_t i = 0; i < bits.size(); ++i) {
    const int64_t sixteenths = static_cast<int64_t>(i) << kSixteenthsAt;
    bits[i] = std::bit_cast<int64_t>(kPowersOfTwo[i]) - sixteenths;
  }
  return bits;
}
alignas(64) inline constexpr std::array<int64_t, 16> kPowerBits = PowerBits();

// The polynomial that interpolates (e^r - 1) / r at Chebyshev nodes for |r| <= ln 2 / 2, within
// 2^-49.2.

inline constexpr double kExpm1Coefficients[] = {  // coefficients of r^0, r^1, ...
    0x1.0000000000006p+0,  0x1.0000000000001p-1,  0x1.5555555550d88p-3,  0x1.5555555553d68p-5,
    0x1.11111123bf154p-7,  0x1.6c16c17889ef1p-10, 0x1.a01994c849582p-13, 0x1.a019b9149a41cp-16,
    0x1.72e107c874de9p-19, 0x1.28917c89a43a7p-22};

}  // namespace dmlop
