// Tiles and streams on every instruction set, around the widths of their vectors, among guard
// bytes.

#include "core/kernels/copy.h"

#include <gtest/gtest.h>

#include <cstring>
#include <string>
#include <vector>

#include "core/kernels/gapped_rows.h"
#include "core/kernels/kept_bytes.h"
#include "core/kernels/stream.h"
#include "tests/support/on_isa.h"

namespace dmlop {
namespace {

constexpr std::byte kGuard{0xA5};

class CopyOnIsa : public OnIsa {};

INSTANTIATE_TEST_SUITE_P(Isas, CopyOnIsa, testing::ValuesIn(SupportedIsas()), IsaName);

// Elements from the first to the last of two loops.
int64_t Extent(int64_t outer_count, int64_t outer_stride, int64_t inner_count,
               int64_t inner_stride) {
  return (outer_count - 1) * outer_stride + (inner_count - 1) * inner_stride + 1;
}

// Bytes of which each differs from its neighbours at every distance that tiles have.
std::vector<std::byte> Numbered(int64_t size) {
  std::vector<std::byte> bytes(static_cast<size_t>(size));
  uint32_t state = 1;
  for (std::byte& byte : bytes) {
    state = state * 1664525u + 1013904223u;
    byte = static_cast<std::byte>(state >> 24);
  }
  return bytes;
}

// What the tile leaves behind, element by element; `start` is the first element in both.
std::vector<std::byte> Expected(const CopyTile& tile, int64_t width, int64_t start,
                                const std::vector<std::byte>& from, std::vector<std::byte> to) {
  for (int64_t i = 0; i < tile.outer_count; ++i) {
    for (int64_t j = 0; j < tile.inner_count; ++j) {
      const int64_t to_element = start + i * tile.to_outer_stride + j * tile.to_inner_stride;
      const int64_t from_element = i * tile.from_outer_stride + j * tile.from_inner_stride;
      std::memcpy(to.data() + to_element * width, from.data() + from_element * width,
                  static_cast<size_t>(width));
    }
  }
  return to;
}

// The source ends with its last element, so that a sanitizer sees what reads on.
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
  CopyTileFor(static_cast<size_t>(width))(tile, to.data() + kStart * width, from.data());
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
      ExpectCopies({2, length, 2 * length, 2, length, 1}, width);      // into every other place
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
      }
    }
    for (const int64_t few : {2, 3, 4, 5}) {
      ExpectCopies({few, 203, 210, 1, 1, few}, width);
      ExpectCopies({203, few, few, 1, 1, 0}, width);  // columns that repeat
      for (const int64_t many : {63, 64, 65, 100, 203}) {
        ExpectCopies({many, few, few, 1, 1, 210}, width);
      }
    }
    ExpectCopies({130, 67, 67, 1, 1, 131}, width);
    ExpectCopies({37, 20, 20, 1, 1, 0}, width);  // columns that repeat
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

struct GappedCase {
  int64_t first, rows, row_bytes, pitch, rest;
  int64_t from_pitch = pitch;

  GappedRows From(int64_t from) const { return {first, rows, row_bytes, pitch, from, from_pitch}; }

  // From the first row's begin to the last one's end.
  int64_t Extent(int64_t row_pitch) const {
    return rows == 0 ? 0 : (rows - 1) * row_pitch + row_bytes;
  }
};

// Written row by row.
std::vector<std::byte> Gapped(const GappedCase& c, const std::vector<std::byte>& from) {
  std::vector<std::byte> to(static_cast<size_t>(c.first + c.Extent(c.pitch) + c.rest));
  for (int64_t row = 0; row < c.rows; ++row) {
    std::copy_n(from.begin() + row * c.from_pitch, c.row_bytes,
                to.begin() + c.first + row * c.pitch);
  }
  return to;
}

constexpr GappedCase kGappedCases[] = {
    {0, 1, 1000, 1000, 0},    {0, 9, 220, 224, 0},       {4, 9, 220, 224, 0},
    {228, 9, 216, 224, 8},    {300, 40, 3, 5, 200},      {1, 70, 1, 2, 1},
    {65, 3, 70, 300, 700},    {200, 1, 20, 20, 200},     {10, 1, 20, 20, 10},
    {500, 0, 0, 500, 0},      {7, 0, 0, 7, 0},           {0, 5, 64, 64, 64},
    {64, 5, 64, 128, 64},     {63, 4, 65, 127, 1},       {0, 9, 216, 216, 0, 224},
    {4, 9, 70, 72, 3, 100},   {65, 3, 70, 300, 700, 64}, {3, 40, 5, 6, 20, 64},
    {0, 200, 1, 1, 9, 65},    {0, 5, 500, 500, 1, 1000}, {1, 7, 64, 200, 0, 64},
    {0, 6, 300, 310, 0, 100}, {9, 20, 30, 150, 9, 70}};

TEST_P(CopyOnIsa, GappedRowsHaveZerosAroundThem) {
  for (const GappedCase& c : kGappedCases) {
    for (const int64_t start : {0, 1, 37, 63}) {
      // No more than the rows may be read.
      const std::vector<std::byte> from = Numbered(c.Extent(c.from_pitch));
      const std::vector<std::byte> part = Gapped(c, from);
      const auto bytes = std::ssize(part);
      std::vector<std::byte> to(static_cast<size_t>(start + 2 * bytes + 100), kGuard);
      std::vector<std::byte> expected = to;
      std::copy(part.begin(), part.end(), expected.begin() + start);
      std::copy(part.begin(), part.end(), expected.begin() + start + bytes);
      {
        StreamBuffer stream(to.data() + start, kCapacity);
        StreamGappedRows(c.From(0), from.data(), bytes, stream);
        StreamGappedRows(c.From(0), from.data(), bytes, stream);
      }
      ASSERT_EQ(to, expected) << c.rows << " rows of " << c.row_bytes << " bytes at " << start;
    }
  }
}

// Planes that see a source from different places, some bytes between them.
void ExpectStrips(const GappedCase& c, int64_t start, int64_t strip, bool streams) {
  constexpr int64_t kShift = 5;  // of what the second plane sees
  constexpr int64_t kBetween = 70;
  const std::vector<std::byte> from = Numbered(c.Extent(c.from_pitch) + kShift);
  const std::vector<std::byte> part = Gapped(c, from);
  const std::vector<std::byte> shifted = Gapped(c, {from.begin() + kShift, from.end()});
  const auto bytes = std::ssize(part);
  std::vector<std::byte> to(static_cast<size_t>(start + 2 * (bytes + kBetween) + 100), kGuard);
  std::vector<std::byte> expected = to;
  std::copy(part.begin(), part.end(), expected.begin() + start);
  std::copy(shifted.begin(), shifted.end(), expected.begin() + start + bytes + kBetween);
  const GappedRows planes[] = {c.From(0), c.From(kShift)};
  for (int64_t begin = 0; begin < bytes; begin += strip) {
    WriteStrip({planes, from.data(), bytes, to.data() + start, bytes + kBetween},
               {begin, begin + strip, from}, streams);
  }
  if (streams) FlushStreams();
  ASSERT_EQ(to, expected) << c.rows << " rows of " << c.row_bytes << " bytes at " << start
                          << ", strips of " << strip;
}

TEST_P(CopyOnIsa, StripsOfPlanesMeet) {
  for (const GappedCase& c : kGappedCases) {
    for (const int64_t start : {0, 1, 37, 63}) {
      for (const int64_t strip : {64, 256, 4096}) {
        ASSERT_NO_FATAL_FAILURE(ExpectStrips(c, start, strip, false));
        ASSERT_NO_FATAL_FAILURE(ExpectStrips(c, start, strip, true));
      }
    }
  }
}

TEST_P(CopyOnIsa, PlanesWithoutASourceAreZeros) {
  const GappedRows planes[] = {{4, 9, 220, 224, 0, 224}, {0, 1, 2000, 2000, 0, 2000}};
  for (const bool streams : {false, true}) {
    std::vector<std::byte> to(2 * 2100 + 3, kGuard);
    std::vector<std::byte> expected = to;
    for (const int64_t at : {3, 2103}) std::fill_n(expected.begin() + at, 2050, std::byte{0});
    WriteStrip({planes, nullptr, 2050, to.data() + 3, 2100}, {0, 2050}, streams);
    if (streams) FlushStreams();
    ASSERT_EQ(to, expected);
  }
}

TEST_P(CopyOnIsa, KeptBytes) {
  const std::vector<std::byte> from = Numbered(300);
  for (int64_t bytes = 0; bytes < std::ssize(from); ++bytes) {
    std::vector<std::byte> kept = Numbered(bytes);
    std::vector<std::byte> to(from.size(), kGuard);
    std::vector<std::byte> expected = to;
    for (size_t i = 0; i < kept.size(); ++i) {
      if ((kept[i] & std::byte{1}) != std::byte{}) kept[i] = std::byte{0xff};
      expected[i] = from[i] & kept[i];
    }
    CopyKeptForIsa()(bytes, to.data(), from.data(), kept.data());
    ASSERT_EQ(to, expected) << bytes << " bytes";
  }
}

}  // namespace
}  // namespace dmlop
