// SPDX-License-Identifier: Apache-2.0
// The memory that the process may still take, and its pages.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace dmlop {

// Returns the bytes that the process may still take: the least of what the machine can give without
// swapping, what the limit of the address space leaves (RLIMIT_AS), and the limits of the process's
// control groups (version 2).
uint64_t AvailableMemory();

// Asks for huge pages if untouched bytes are long enough for some: filling them causes fewer
// faults, and hardware prefetchers run on past the ends of small pages.
void PreferHugePages(std::span<std::byte> bytes);

// --- properties of machines ----------------------------------------------------------------------

// Properties of every machine that the program is made for. Loops choose their sizes by them;
// results never depend on them.

// Size of a cache line, on all x86-64 processors and nearly all arm64 ones.
inline constexpr int64_t kLineBytes = 64;

// Size of the smallest memory page: hardware prefetchers stop at its end.
inline constexpr int64_t kPageBytes = 1 << 12;

// The first-level data cache has at least 32 KiB. Half of it is for the data that a loop works on,
// the other half for what it reads or writes meanwhile.
inline constexpr int64_t kFirstCacheBytes = 1 << 15;
inline constexpr int64_t kNearestBytes = kFirstCacheBytes / 2;

// Less work than this is done before a second thread has woken up: bytes to move, or elements to
// compute.
inline constexpr int64_t kParallelBytes = 1 << 17;
inline constexpr int64_t kParallelElements = 1 << 17;

// Work that is read from memory in one go: long enough for the hardware prefetcher.
inline constexpr int64_t kReadAheadBytes = 1 << 20;

// Outputs of at least this size do not fit into the caches, and are streamed past them.
inline constexpr int64_t kStreamBytes = 1 << 23;
// The same for short, scattered writes: hardware prefetchers do not foresee the lines that a cache
// would have to read for them.
inline constexpr int64_t kStreamPiecesBytes = kStreamBytes / 2;

}  // namespace dmlop
