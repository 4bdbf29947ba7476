// SPDX-License-Identifier: Apache-2.0
// FLOAT32 values of all kinds.
#pragma once

#include <bit>
#include <cmath>
#include <cstdint>
#include <vector>

#include "tests/support/random.h"

namespace dmlop {

inline float FloatOf(uint32_t bits) {
  return std::bit_cast<float>(bits);
}

// For each exponent and both signs: the first and last numbers, some with few bits, and random
// ones.
inline std::vector<float> FloatStrata() {
  Engine engine = TestEngine();
  std::vector<float> values = {INFINITY, -INFINITY, FloatOf(0x7FC00001), FloatOf(0xFF800001)};
  for (uint32_t sign_exponent = 0; sign_exponent < 512; ++sign_exponent) {
    if (sign_exponent % 256 == 255) continue;
    const uint32_t first = sign_exponent << 23;
    for (const uint32_t low : {0u, 1u, 2u, 0x400000u, 0x600000u, 0x7FFFFEu, 0x7FFFFFu}) {
      values.push_back(FloatOf(first | low));
    }
    for (int i = 0; i < 6; ++i) {
      values.push_back(FloatOf(first | static_cast<uint32_t>(engine() & 0x7FFFFF)));
    }
  }
  return values;
}

}  // namespace dmlop
