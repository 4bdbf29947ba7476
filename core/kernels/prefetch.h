// Memory that will be read soon. What asks for it is no call, which vectors would not survive.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>

namespace dmlop {

inline constexpr int64_t kLineBytes = 64;

// Where memory is read at several places by turns, the processor looks ahead at each, but only when
// it has seen some lines of a page, and only up to its end. What rows and pages begin with so is
// asked for so many bytes ahead, and so much of it.
inline constexpr int64_t kStartAhead = 1 << 10;
inline constexpr int64_t kStartBytes = 1 << 9;

inline constexpr int64_t kPageBytes = 1 << 12;  // as far as processors look

// What is asked for before it is read: nothing, what rows and pages begin with, each line a little
// ahead, or whole rows while those before them are read.
enum class Asking { kNothing, kStarts, kLines, kNextRows };

[[gnu::always_inline]] inline int64_t BytesIntoPage(const void* at) {
  return static_cast<int64_t>(reinterpret_cast<uintptr_t>(at) % kPageBytes);
}

// Asks for a line of the cache: not for the first level, which holds what is being read.
[[gnu::always_inline]] inline void AskForLine(const void* line) {
  constexpr int kSecondLevel = 2;  // as __builtin_prefetch has it
  __builtin_prefetch(line, /*rw=*/0, kSecondLevel);
}

// Asks for `bytes`, whole lines.
[[gnu::always_inline]] inline void AskForLines(const void* first, int64_t bytes) {
  const std::byte* line = static_cast<const std::byte*>(first);
  for (int64_t i = 0; i < bytes; i += kLineBytes) AskForLine(line + i);
}

// Asks for memory a share at a time, between other work: the processor waits for no more than a few
// lines at once.
class PrefetchShares {
 public:
  PrefetchShares() = default;
  PrefetchShares(std::span<const std::byte> bytes, int64_t shares)
      : next_(bytes.data()),
        left_(std::ssize(bytes)),
        share_(left_ / shares / kLineBytes * kLineBytes + kLineBytes) {}

  void AskForShare() {
    const int64_t bytes = std::min(share_, left_);
    AskForLines(next_, bytes);
    next_ += bytes;
    left_ -= bytes;
  }

 private:
  const std::byte* next_ = nullptr;
  int64_t left_ = 0;
  int64_t share_ = 0;
};

}  // namespace dmlop
