// Prefetches of memory that will be read soon. They are no calls, which vectors would not survive.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>

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

// Prefetches memory a share at a time, between other work: the processor waits for no more than a
// few lines at once.
class PrefetchShares {
 public:
  PrefetchShares() = default;
  PrefetchShares(std::span<const std::byte> bytes, int64_t shares)
      : next_(bytes.data()),
        left_(std::ssize(bytes)),
        share_(left_ / shares / kLineBytes * kLineBytes + kLineBytes) {}

  void AskForShare() {
    const int64_t bytes = std::min(share_, left_);
    PrefetchLines(next_, bytes);
    next_ += bytes;
    left_ -= bytes;
  }

 private:
  const std::byte* next_ = nullptr;
  int64_t left_ = 0;
  int64_t share_ = 0;
};

}  // namespace dmlop
