// Quotients that are rounded down or up, of any signs.
#pragma once

#include <cstdint>

namespace dmlop {

// The divisor is not zero.
constexpr int64_t FloorDiv(int64_t a, int64_t b) {
  return a / b - (a % b != 0 && (a < 0) != (b < 0) ? 1 : 0);
}
constexpr int64_t CeilDiv(int64_t a, int64_t b) {
  return -FloorDiv(-a, b);
}

}  // namespace dmlop
