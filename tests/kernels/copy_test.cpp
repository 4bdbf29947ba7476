// SPDX-License-Identifier: Apache-2.0
// Tiles and streams on every instruction set, with sizes around the width of its vectors, among
// guard bytes.

#include "core/kernels/copy/copy.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include "core/kernels/copy/stream.h"
#include "tests/support/on_isa.h"

namespace dmlop {
namespace {

constexpr std::byte kGuard{0xA5};

class CopyOnIsa : public OnIsa {};

INSTANTIATE_TEST_SUITE_P(Isas, CopyOnIsa, testing::ValuesIn(SupportedIsas()), IsaName);

// Number of elements from the lowest to the highest of two loops.
int64_t Extent(int64_t outer_count, int64_t outer_stride, int64_t inner_count,
               int64_t inner_stride) {
  return (outer_count - 1) * std::abs(outer_stride) + (inner_count - 1) * std::abs(inner_stride) +
         1;
}

// Number of the first element of a source that is read backwards in one of its loops.
int64_t FirstOf(const CopyTile& tile) {
  return (tile.outer_count - 1) * std::max<int64_t>(-tile.from_outer_stride, 0) +
         (tile.inner_count - 1) * std::max<int64_t>(-tile.from_inner_stride, 0);
}

// Bytes that differ from each other at every distance that tiles have.
std::vector<std::byte> Numbered(int64_t size) {
  std::vector<std::byte> bytes(static_cast<size_t>(size));
  uint32_t state = 1;
  for (std::byte& byte : bytes) {
    state = state * 1664525u + 1013904223u;
    byte = static_cast<std::byte>(state >> 24);
  }
  return bytes;
}

// The result of the tile, element by element; `start` is the first element of the destination.
std::vector<std::byte> Expected(const CopyTile& tile, int64_t width, int64_t start,
                                const std::vector<std::byte>& from, std::vector<std::byte> to) {
  for (int64_t i = 0; i < tile.outer_count; ++i) {
    for (int64_t j = 0; j < tile.inner_count; ++j) {
      const int64_t to_element = start + i * tile.to_outer_stride + j * tile.to_inner_stride;
      const int64_t from_element =
          FirstOf(tile) + i * tile.from_outer_stride + j * tile.from_inner_stride;
      std::memcpy(to.data() + to_element * width, from.data() + from_element * width,
                  static_cast<size_t>(width));
    }
  }
  return to;
}

// The source ends with its last element, so that a sanitizer notices reads beyond it.
void ExpectCopies(const CopyTile& tile, int64_t width) {
  constexpr int64_t kStart = 3;
  constexpr int64_t kBehind = 70;
  const std::vector<std::byte> from =
      Numbered(width * Extent(tile.outer_count, tile.from_outer_stride, tile.inner_count,
                              tile.from_inner_stride));
  const int64_t to_elements =
      kStart + kBehind +
      Extent(tile.outer_count, tile.to_outer_stride, tile.inner_count, tile.to_inner_stride);
  std::vector<std::byte> to(static_cast<size_t>(to_elements * width), kGuard);
  const std::vector<std::byte> expected = Expected(tile, width, kStart, from, to);
  CopyTileFor(static_cast<size_t>(width))(tile, to.data() + kStart * width,
                                          from.data() + FirstOf(tile) * width);
  ASSERT_EQ(to, expected) << tile.outer_count << " x " << tile.inner_count << " elements of "
                          << width << " bytes";
}

constexpr int64_t kWidths[] = {1, 2, 4, 8};

TEST_P(CopyOnIsa, Rows) {
  for (const int64_t width : kWidths) {
    for (int64_t length = 1; length < 140; ++length) {
      ExpectCopies({3, length, length, 1, length, 1}, width);
      ExpectCopies({3, length, length + 5, 1, length + 2, 1}, width);
    }
    ExpectCopies({2, 9000, 9001, 1, 9000, 1}, width);
  }
}

TEST_P(CopyOnIsa, StridedRows) {
  for (const int64_t width : kWidths) {
    for (int64_t length = 1; length < 140; ++length) {
      ExpectCopies({2, length, length, 1, 0, 0}, width);               // one element everywhere
      ExpectCopies({2, length, length, 1, 2 * length, 2}, width);      // every other element
      ExpectCopies({2, length, 2 * length, 2, length, 1}, width);      // to every other place
      ExpectCopies({2, length, 3 * length, 3, 5 * length, 5}, width);  // both with gaps
    }
  }
}

TEST_P(CopyOnIsa, Transposes) {
  for (const int64_t width : kWidths) {
    for (int64_t rows = 1; rows < 40; ++rows) {
      for (int64_t columns = 1; columns < 40; ++columns) {
        ExpectCopies({rows, columns, columns, 1, 1, rows}, width);
        ExpectCopies({rows, columns, columns + 3, 1, 1, rows + 2}, width);
        ExpectCopies({rows, columns, columns + 3, 1, 1, -rows - 2}, width);
        ExpectCopies({rows, columns, columns, 1, 1, -rows}, width);
      }
    }
    for (const int64_t few : {2, 3, 4, 5}) {
      ExpectCopies({few, 203, 210, 1, 1, few}, width);
      ExpectCopies({203, few, few, 1, 1, 0}, width);  // broadcast columns
      for (const int64_t many : {63, 64, 65, 100, 203}) {
        ExpectCopies({many, few, few, 1, 1, 210}, width);
      }
    }
    ExpectCopies({130, 67, 67, 1, 1, 131}, width);
    ExpectCopies({37, 20, 20, 1, 1, 0}, width);  // broadcast columns
  }
}

TEST_P(CopyOnIsa, NothingTouchesNothing) {
  for (const int64_t width : kWidths) {
    uint64_t memory = 42;
    std::byte* to = reinterpret_cast<std::byte*>(&memory);
    CopyTileFor(static_cast<size_t>(width))({1, 0, 0, 1, 0, 1}, to, to);
    EXPECT_EQ(memory, 42u);
  }
}

TEST_P(CopyOnIsa, StreamedRows) {
  const std::vector<std::byte> from = Numbered(2000);
  for (const int64_t length : {1, 15, 16, 63, 64, 65, 127, 128, 200, 512}) {
    for (int64_t start = 0; start < 130; start += 13) {
      const int64_t pitch = length + start % 3;
      std::vector<std::byte> to(2200, kGuard);
      const CopyTile tile = {3, length, pitch, 1, length + 1, 1};
      const std::vector<std::byte> expected = Expected(tile, 1, start, from, to);
      StreamRowsForIsa()(3, length, to.data() + start, pitch, from.data(), length + 1);
      FlushStreams();
      ASSERT_EQ(to, expected) << length << " bytes at " << start;
    }
  }
}

constexpr int64_t kCapacity = 1 << 11;

TEST_P(CopyOnIsa, StreamBufferKeepsTheOrder) {
  const std::vector<std::byte> from = Numbered(40000);
  for (const int64_t piece :
       {int64_t{1}, int64_t{63}, int64_t{64}, int64_t{1000}, kCapacity - 1, kCapacity}) {
    const int64_t start = 5 + piece % 64;
    const int64_t size = 20000 / piece * piece;
    std::vector<std::byte> to(from.size(), kGuard);
    const std::vector<std::byte> expected = Expected({1, size, 0, 1, 0, 1}, 1, start, from, to);
    {
      StreamBuffer stream(to.data() + start, kCapacity);
      for (int64_t i = 0; i < size; i += piece) {
        std::memcpy(stream.Next(piece), from.data() + i, static_cast<size_t>(piece));
      }
    }
    ASSERT_EQ(to, expected) << "pieces of " << piece;
  }
}

}  // namespace
}  // namespace dmlop
