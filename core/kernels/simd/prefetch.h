// Prefetches of memory that will be read soon. They are no calls, which vectors would not survive.
#pragma once

#include <cstddef>
#include <cstdint>

#include "core/base/machine.h"

namespace dmlop {

// What is prefetched: nothing, each line a little ahead, or whole rows while those before them are
// read.
enum class Prefetches { kNothing, kLines, kNextRows };

// Of a line of the cache: not into the first level, which holds what is being read.
[[gnu::always_inline]] inline void PrefetchLine(const void* line) {
  constexpr int kSecondLevel = 2;  // as __builtin_prefetch has it
  __builtin_prefetch(line, /*rw=*/0, kSecondLevel);
}

// Of `bytes`, whole lines.
[[gnu::always_inline]] inline void PrefetchLines(const void* first, int64_t bytes) {
  const std::byte* line = static_cast<const std::byte*>(first);
  for (int64_t i = 0; i < bytes; i += kLineBytes) PrefetchLine(line + i);
}

}  // namespace dmlop
