// SPDX-License-Identifier: Apache-2.0
// Tiles of a product of two matrices of 16-bit integers, which are packed into panels.
//
// A panel interleaves a few lines of a matrix (rows of the left one, columns of the right one):
// first the numbers 0 and 1 of each line, then 2 and 3 of each, and so on.
#pragma once

#include <cstddef>
#include <cstdint>

namespace dmlop {

// The number of lines in a panel of the left and of the right matrix; multiples of 4.
struct IntegerTileShape {
  int64_t rows, columns;
};
IntegerTileShape CurrentIntegerTile();

// Adds to sums[r * stride + c] the sum of products of row r and column c, modulo 2^32, for at least
// the first `rows` rows of `left`. Both panels have the current shape and `pairs` pairs of numbers
// in each line.
void AddTile(int64_t rows, const int16_t* left, const int16_t* right, int64_t pairs, int32_t* sums,
             int64_t stride);

// Lines of bytes at any strides.
struct ByteLines {
  const std::byte* first;
  bool is_signed;
  int64_t line_stride, number_stride;
};

// Packs a panel of `width` lines, a multiple of 4, from numbers [0, count) of `lines` lines; those
// of line i are less `less[i]`. The rest of the panel becomes 0.
void PackBytes(const ByteLines& from, int64_t lines, int64_t count, const int16_t* less,
               int64_t width, int16_t* panel);

// Does the same from `count` rows, each of which holds a number of every line of the panel.
void PackPairsOfRows(const int16_t* rows, int64_t count, const int16_t* less, int64_t width,
                     int16_t* panel);

// --- bytes ---------------------------------------------------------------------------------------

// Tiles of a product of two matrices of bytes, for processors that multiply these (VNNI). Highway
// has no function for them.
//
// A panel interleaves a few lines of a matrix as those of integer_tile.h do, but in groups of four
// numbers, and pads them to whole groups. Numbers are unsigned on the left and signed on the right.

// Number of lines in a panel of the left and of the right matrix.
inline constexpr int64_t kByteRows = 8;
inline constexpr int64_t kByteColumns = 48;

// Returns whether kernels may use AVX-512's products of bytes. If not, the functions below must not
// be called.
bool MultipliesBytes();

// Adds to sums[r * stride + c] the sum of products of row r and column c, modulo 2^32, for at least
// the first `rows` rows of `left`. Both panels have `groups` groups of each line.
void AddByteTile(int64_t rows, const std::byte* left, const std::byte* right, int64_t groups,
                 int32_t* sums, int64_t stride);

// Narrows a panel of pairs of 16-bit numbers that fit in a byte, `count` of each of `width` lines,
// which are a multiple of 8. Adds the sum of each line to `line_sums`.
void NarrowPanel(const int16_t* panel, int64_t count, int64_t width, std::byte* to,
                 int32_t* line_sums);

}  // namespace dmlop
