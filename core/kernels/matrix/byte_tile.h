// SPDX-License-Identifier: Apache-2.0
// Tiles of a product of two matrices of bytes, for processors that multiply these (VNNI). Highway
// has no function for them.
//
// A panel interleaves a few lines of a matrix as those of integer_tile.h do, but in groups of four
// numbers, and pads them to whole groups. Numbers are unsigned on the left and signed on the right.
#pragma once

#include <cstddef>
#include <cstdint>

namespace dmlop {

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
