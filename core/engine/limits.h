// What the machine allows: the quickest loops that do nothing but move bytes, or nothing but
// multiply and add. The share of such a limit that an operator reaches is the ratio of their times.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

namespace dmlop {

enum class Limit {
  kCopy,        // of what reads about as much as it writes
  kRead,        // of what reads most
  kWrite,       // of what writes most
  kArithmetic,  // of what multiplies and adds for longer than it moves
};

std::string_view Name(Limit limit);  // "copy", "read", "write", "arithmetic"

// Whether a loop writes past the caches or into them. Which is quicker depends on the size.
enum class WritePath { kStreamed, kCached };

// Whether a thread reads one place after the other, or a few places by turns. Which is quicker
// depends on the machine, and on what else it does.
enum class ReadPath { kOneStream, kFewStreams };

// Both have the same size.
void CopyBytes(std::span<std::byte> to, std::span<const std::byte> from, WritePath path);

// Writes from a source that stays in the first-level cache.
void WriteBytes(std::span<std::byte> to, WritePath path);

// Does next to nothing with what is read.
void ReadBytes(std::span<const std::byte> from, ReadPath path);

// Multiply-adds of binary64.
void MultiplyAdd(int64_t count);

}  // namespace dmlop
