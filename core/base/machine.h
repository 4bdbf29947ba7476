// What holds of every machine that the program is made for. Loops choose their sizes by it; results
// never depend on it.
#pragma once

#include <cstdint>

namespace dmlop {

// A line of the cache, on all processors of x86-64 and nearly all of arm64.
inline constexpr int64_t kLineBytes = 64;

// A page of memory, the smallest: processors that look ahead do so within one.
inline constexpr int64_t kPageBytes = 1 << 12;

// The first-level data cache has 32 KiB at least. Half of it is for what a loop works on, the other
// half for what it reads or writes meanwhile.
inline constexpr int64_t kFirstCacheBytes = 1 << 15;
inline constexpr int64_t kNearestBytes = kFirstCacheBytes / 2;

// Less work than this is done before a second thread has woken up: bytes to be moved, or elements
// to be computed with.
inline constexpr int64_t kParallelBytes = 1 << 17;
inline constexpr int64_t kParallelElements = 1 << 17;

// A piece of work that is read from memory in one go: enough for the processor to look ahead.
inline constexpr int64_t kReadAheadBytes = 1 << 20;

// Outputs from here on do not fit into the caches and are streamed past them.
inline constexpr int64_t kStreamBytes = 1 << 23;
// The same where short pieces are written here and there: what a cache would have to read for them
// is not seen coming.
inline constexpr int64_t kStreamPiecesBytes = kStreamBytes / 2;

}  // namespace dmlop
