// SPDX-License-Identifier: Apache-2.0
// The input of pooling kernels.
#pragma once

#include <cstdint>
#include <span>

namespace dmlop {

inline constexpr int64_t kMaxPoolTaps = 1024;

// Adjacent windows that have the same taps, `step` elements apart.
template <typename T>
struct PoolRow {
  const T* x;  // the first tap of the first window
  int64_t step;
  int64_t count;                     // number of windows
  std::span<const int64_t> offsets;  // offsets of taps from the first one; at most kMaxPoolTaps
};

}  // namespace dmlop
