// SPDX-License-Identifier: Apache-2.0
// Prefetches memory that will be read soon. All is inlined, as vector registers do not survive
// calls.
#pragma once

#include <cstddef>
#include <cstdint>

#include "core/base/memory.h"

namespace dmlop {

// Loops prefetch nothing, each line a little ahead, or whole rows while those before them are read.
enum class Prefetches { kNothing, kLines, kNextRows };

// Prefetches a cache line, but not into the first level, which holds what is being read.
[[gnu::always_inline]] inline void PrefetchLine(const void* line) {
  constexpr int kSecondLevel = 2;  // locality argument of __builtin_prefetch
  __builtin_prefetch(line, /*rw=*/0, kSecondLevel);
}

// Prefetches the cache lines of `bytes`.
[[gnu::always_inline]] inline void PrefetchLines(const void* first, int64_t bytes) {
  const std::byte* line = static_cast<const std::byte*>(first);
  for (int64_t i = 0; i < bytes; i += kLineBytes) PrefetchLine(line + i);
}

}  // namespace dmlop
