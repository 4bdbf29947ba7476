// SPDX-License-Identifier: Apache-2.0
// Moves tiles of elements from one layout to another. Only the width of an element matters.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace dmlop {

// A tile of outer x inner elements; strides in elements. The inner loop walks along the
// destination.
struct CopyTile {
  int64_t outer_count;
  int64_t inner_count;
  int64_t to_outer_stride;
  int64_t to_inner_stride;
  int64_t from_outer_stride;
  int64_t from_inner_stride;
};

// Source and destination must not overlap, unless they are the same elements in the same layout.
using CopyTileFunction = void (*)(const CopyTile& tile, std::byte* to, const std::byte* from);

// Returns the function for elements of 1, 2, 4 or 8 bytes.
CopyTileFunction CopyTileFor(size_t element_width);

// --- short rows ----------------------------------------------------------------------------------

// Copies short rows of several tensors at a time.

// Rows of adjacent elements at a constant pitch in bytes.
struct RowsCopy {
  int64_t rows;
  int64_t row_bytes;
  std::byte* to;
  const std::byte* from;
  int64_t to_pitch;
  int64_t from_pitch;
};

// CopyShortRows takes two to kMaxShortCopies copies, each of rows of at most kMaxShortCopyBytes.
inline constexpr size_t kMaxShortCopies = 4;
inline constexpr int64_t kMaxShortCopyBytes = 32;

// Copies the first row of every copy, then the second, and so on, in the order of `copies`. All
// copies have as many rows as the first. Each row may read and write past its end; later writes
// repair that. So the rows of a source must lie apart, the destinations together must fill their
// memory, and copies into the same memory must be in its order. Returns how many rows were copied:
// all but the last few.
using ShortRowsFunction = int64_t (*)(std::span<const RowsCopy> copies);

ShortRowsFunction ShortRowsForIsa();

// --- shuffles ------------------------------------------------------------------------------------

// Packs blocks of bytes from several sources by vector shuffles, following a program that is
// planned once.

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
