// SPDX-License-Identifier: Apache-2.0
// Packs blocks of bytes from several sources by vector shuffles, following a program that is
// planned once.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace dmlop {

inline constexpr int64_t kShuffleBytes = 16;  // bytes in a vector

// Some bytes of a vector, all taken from one vector of a source.
struct ShuffleTerm {
  static constexpr uint8_t kNone = 0x80;

  alignas(kShuffleBytes) std::array<uint8_t, kShuffleBytes> table;  // the byte to take, or kNone
  size_t source;
  int64_t from;  // where to read, in bytes from the beginning of the source's block
};

// A vector of the destination. It is written with all its terms at once, and is zero where no term
// has a byte.
struct ShuffleVector {
  int64_t to;  // in bytes from the beginning of the block
  size_t term_count;
};

struct ShuffleProgram {
  int64_t to_step;                  // bytes from one block to the next
  std::vector<int64_t> from_steps;  // the same for each source
  std::vector<ShuffleVector> vectors;
  std::vector<ShuffleTerm> terms;  // the terms of all vectors, in the order of the vectors
};

// Packs `blocks` blocks; `from` has a pointer for each source.
using ShuffleFunction = void (*)(const ShuffleProgram& program, int64_t blocks, std::byte* to,
                                 const std::byte* const* from);

ShuffleFunction ShuffleForIsa();

}  // namespace dmlop
