// SPDX-License-Identifier: Apache-2.0
// The machine's limits: the quickest loops that only move bytes, or only multiply and add. The
// share of a limit that an operator reaches is the ratio of their times.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

namespace dmlop {

enum class Limit {
  kCopy,        // for operators that read about as much as they write
  kRead,        // for operators that mostly read
  kWrite,       // for operators that mostly write
  kArithmetic,  // for operators that compute for longer than they move data
};

std::string_view Name(Limit limit);  // "copy", "read", "write", "arithmetic"

// A loop writes past the caches or into them; the size decides which is quicker.
enum class WritePath { kStreamed, kCached };

// A thread reads sequentially or from a few places in turn; which is quicker depends on the load.
enum class ReadPath { kOneStream, kFewStreams };

// Both spans have the same size.
void CopyBytes(std::span<std::byte> to, std::span<const std::byte> from, WritePath path);

// Writes from a source that stays in the first-level cache.
void WriteBytes(std::span<std::byte> to, WritePath path);

// Reads every byte and does next to nothing with it.
void ReadBytes(std::span<const std::byte> from, ReadPath path);

// Does `count` multiply-adds of binary64.
void MultiplyAdd(int64_t count);

}  // namespace dmlop
