// What kernels of poolings work on.
#pragma once

#include <cstdint>
#include <span>

namespace dmlop {

inline constexpr int64_t kMaxPoolTaps = 1024;

// Windows side by side that have the same taps, `step` elements apart.
template <typename T>
struct PoolRow {
  const T* x;  // the first tap of the first window
  int64_t step;
  int64_t count;                     // windows
  std::span<const int64_t> offsets;  // of taps from the first one, at most kMaxPoolTaps
};

}  // namespace dmlop
