// Memory that will be read soon. What asks for it is no call, which vectors would not survive.
#pragma once

#include <cstddef>
#include <cstdint>

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

}  // namespace dmlop
