// Memory that will be read soon.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>

namespace dmlop {

// Asks for memory a share at a time, between other work: the processor waits for no more than a few
// lines at once.
class PrefetchShares {
 public:
  PrefetchShares() = default;
  PrefetchShares(std::span<const std::byte> bytes, int64_t shares)
      : next_(bytes.data()),
        left_(std::ssize(bytes)),
        share_(left_ / shares / kLine * kLine + kLine) {}

  void AskForShare() {
    // Not into the first-level cache, which holds what is being read.
    constexpr int kSecondLevel = 2;  // as __builtin_prefetch has it
    const int64_t bytes = std::min(share_, left_);
    for (int64_t i = 0; i < bytes; i += kLine) __builtin_prefetch(next_ + i, 0, kSecondLevel);
    next_ += bytes;
    left_ -= bytes;
  }

 private:
  static constexpr int64_t kLine = 64;

  const std::byte* next_ = nullptr;
  int64_t left_ = 0;
  int64_t share_ = 0;
};

}  // namespace dmlop
