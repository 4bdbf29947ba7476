// SPDX-License-Identifier: Apache-2.0
#include "core/kernels/matrix/integer_tile.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "core/kernels/matrix/integer_tile.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include <algorithm>

#include "core/kernels/simd/dispatch.h"

HWY_BEFORE_NAMESPACE();
namespace dmlop::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

// --- products ------------------------------------------------------------------------------------

#if HWY_TARGET == HWY_SCALAR

constexpr int64_t kTile = 4;

IntegerTileShape Shape() {
  return {kTile, kTile};
}

void AddProducts(int64_t rows, const int16_t* left, const int16_t* right, int64_t pairs,
                 int32_t* sums, int64_t stride) {
  for (int64_t r = 0; r < rows; ++r) {
    for (int64_t c = 0; c < kTile; ++c) {
      uint32_t sum = static_cast<uint32_t>(sums[r * stride + c]);  // wraps around
      for (int64_t pair = 0; pair < pairs; ++pair) {
        const int16_t* a = left + 2 * (pair * kTile + r);
        const int16_t* b = right + 2 * (pair * kTile + c);
        sum += static_cast<uint32_t>(a[0] * b[0]) + static_cast<uint32_t>(a[1] * b[1]);
      }
      sums[r * stride + c] = static_cast<int32_t>(sum);
    }
  }
}

#else

// As many sums as the registers hold, next to a row and the columns.
#if HWY_TARGET <= HWY_AVX3
constexpr int kTileRows = 8;
constexpr int kTileVectors = 3;
#elif HWY_TARGET == HWY_AVX2
constexpr int kTileRows = 4;
constexpr int kTileVectors = 3;
#else
constexpr int kTileRows = 4;
constexpr int kTileVectors = 2;
#endif

using D16 = hn::ScalableTag<int16_t>;
using D32 = hn::ScalableTag<int32_t>;

IntegerTileShape Shape() {
  return {kTileRows, kTileVectors * static_cast<int64_t>(hn::Lanes(D32()))};
}

// Broadcasts the numbers of a pair to every lane.
HWY_INLINE hn::Vec<D16> Pair(const int16_t* pair) {
  int32_t both;
  hwy::CopyBytes<sizeof both>(pair, &both);
  return hn::BitCast(D16(), hn::Set(D32(), both));
}

// Adds the products of the first kCount rows of a panel.
template <int kCount>
void AddRows(const int16_t* HWY_RESTRICT left, const int16_t* HWY_RESTRICT right, int64_t pairs,
             int32_t* HWY_RESTRICT sums, int64_t stride) {
  const D16 d16;
  const D32 d32;
  const int64_t lanes = static_cast<int64_t>(hn::Lanes(d32));
  // Some instruction sets sum the products of odd lanes apart; others leave the second part at 0.
  hn::Vec<D32> first[kCount][kTileVectors];
  hn::Vec<D32> second[kCount][kTileVectors];
#pragma GCC unroll 8
  for (int r = 0; r < kCount; ++r) {
#pragma GCC unroll 3
    for (int v = 0; v < kTileVectors; ++v) first[r][v] = second[r][v] = hn::Zero(d32);
  }
  for (int64_t pair = 0; pair < pairs; ++pair) {
    hn::Vec<D16> columns[kTileVectors];
#pragma GCC unroll 3
    for (int v = 0; v < kTileVectors; ++v) columns[v] = hn::Load(d16, right + 2 * lanes * v);
#pragma GCC unroll 8
    for (int r = 0; r < kCount; ++r) {
      const auto row = Pair(left + 2 * r);
#pragma GCC unroll 3
      for (int v = 0; v < kTileVectors; ++v) {
        first[r][v] =
            hn::ReorderWidenMulAccumulate(d32, row, columns[v], first[r][v], second[r][v]);
      }
    }
    left += 2 * kTileRows;
    right += 2 * lanes * kTileVectors;
  }
#pragma GCC unroll 8
  for (int r = 0; r < kCount; ++r) {
#pragma GCC unroll 3
    for (int v = 0; v < kTileVectors; ++v) {
      int32_t* to = sums + r * stride + v * lanes;
      const auto sum = hn::RearrangeToOddPlusEven(first[r][v], second[r][v]);
      hn::StoreU(hn::Add(hn::LoadU(d32, to), sum), d32, to);
    }
  }
}

void AddProducts(int64_t rows, const int16_t* left, const int16_t* right, int64_t pairs,
                 int32_t* sums, int64_t stride) {
  if (rows == 1) return AddRows<1>(left, right, pairs, sums, stride);
  if (rows == 2) return AddRows<2>(left, right, pairs, sums, stride);
  if (rows <= 4) return AddRows<4>(left, right, pairs, sums, stride);
  if constexpr (kTileRows > 4) AddRows<kTileRows>(left, right, pairs, sums, stride);
}

#endif  // HWY_SCALAR

// --- panels --------------------------------------------------------------------------------------

#if HWY_TARGET != HWY_SCALAR

using Eight = hn::CappedTag<int16_t, 8>;

template <typename T>
HWY_INLINE hn::Vec<Eight> LoadWidened(const T* from) {
  if constexpr (sizeof(T) == sizeof(int16_t)) {
    return hn::LoadU(Eight(), from);
  } else {
    return hn::PromoteTo(Eight(), hn::LoadU(hn::Rebind<T, Eight>(), from));
  }
}

#endif

// Packs two rows, each number less that of its line. Without a second row, its numbers are 0.
template <typename T>
void PackTwoRows(const T* first, const T* second, const int16_t* less, int64_t lines, int64_t width,
                 int16_t* panel) {
  int64_t line = 0;
#if HWY_TARGET != HWY_SCALAR
  const Eight d;
  const int64_t lanes = static_cast<int64_t>(hn::Lanes(d));
  for (; line + lanes <= lines; line += lanes) {
    const auto taken = hn::LoadU(d, less + line);
    const auto a = hn::Sub(LoadWidened(first + line), taken);
    const auto b = second == nullptr ? hn::Zero(d) : hn::Sub(LoadWidened(second + line), taken);
    hn::StoreU(hn::InterleaveLower(d, a, b), d, panel + 2 * line);
    hn::StoreU(hn::InterleaveUpper(d, a, b), d, panel + 2 * line + lanes);
  }
#endif
  for (; line < lines; ++line) {
    panel[2 * line] = static_cast<int16_t>(first[line] - less[line]);
    panel[2 * line + 1] =
        second == nullptr ? int16_t{0} : static_cast<int16_t>(second[line] - less[line]);
  }
  std::fill(panel + 2 * lines, panel + 2 * width, int16_t{0});
}

template <typename T>
void PackRows(const T* rows, int64_t stride, int64_t count, const int16_t* less, int64_t lines,
              int64_t width, int16_t* panel) {
  for (int64_t k = 0; k < count; k += 2, rows += 2 * stride, panel += 2 * width) {
    PackTwoRows(rows, k + 1 < count ? rows + stride : nullptr, less, lines, width, panel);
  }
}

void PackWideRows(const int16_t* rows, int64_t count, const int16_t* less, int64_t width,
                  int16_t* panel) {
  PackRows(rows, width, count, less, width, width, panel);
}

template <typename T>
class Packer {
 public:
  Packer(const ByteLines& from, int64_t lines, int64_t count, const int16_t* less, int64_t width,
         int16_t* panel)
      : from_(reinterpret_cast<const T*>(from.first)),
        line_stride_(from.line_stride),
        number_stride_(from.number_stride),
        lines_(lines),
        count_(count),
        less_(less),
        width_(width),
        panel_(panel) {}

  void Pack() const {
    if (line_stride_ == 1) {
      return PackRows(from_, number_stride_, count_, less_, lines_, width_, panel_);
    }
    int64_t line = 0;
#if HWY_TARGET != HWY_SCALAR
    if (number_stride_ == 1) {
      for (; line + kGroup <= lines_; line += kGroup) PackGroup(line);
    }
#endif
    for (; line < lines_; ++line) PackLine(line, 0);
    for (; line < width_; ++line) ClearLine(line);
  }

 private:
  static constexpr int64_t kGroup = 4;  // number of lines, and of pairs of numbers

  int16_t Number(int64_t line, int64_t k) const {
    return static_cast<int16_t>(from_[line * line_stride_ + k * number_stride_] - less_[line]);
  }
  int64_t Pairs() const {
    return (count_ + 1) / 2;
  }
  int16_t* At(int64_t line, int64_t k) const {
    return panel_ + (k / 2 * width_ + line) * 2 + k % 2;
  }

  void PackLine(int64_t line, int64_t begin) const {
    for (int64_t k = begin; k < count_; ++k) *At(line, k) = Number(line, k);
    if (count_ % 2 != 0) *At(line, count_) = 0;
  }
  void ClearLine(int64_t line) const {
    for (int64_t k = 0; k < 2 * Pairs(); ++k) *At(line, k) = 0;
  }

#if HWY_TARGET != HWY_SCALAR
  // Packs kGroup lines whose numbers are adjacent in memory.
  void PackGroup(int64_t line) const {
    const hn::CappedTag<int16_t, 8> d;
    const hn::CappedTag<int32_t, 4> d32;
    const hn::CappedTag<int64_t, 2> d64;
    const hn::Rebind<T, decltype(d)> d_bytes;
    const auto load = [&](int64_t l, int64_t k) HWY_ATTR {
      const auto bytes = hn::LoadU(d_bytes, from_ + (line + l) * line_stride_ + k);
      const auto numbers = hn::Sub(hn::PromoteTo(d, bytes), hn::Set(d, less_[line + l]));
      return hn::BitCast(d32, numbers);
    };
    const auto store = [&](auto pairs, int64_t k)
                           HWY_ATTR { hn::StoreU(hn::BitCast(d, pairs), d, At(line, k)); };
    int64_t k = 0;
    for (; k + 2 * kGroup <= count_; k += 2 * kGroup) {
      const auto a = load(0, k), b = load(1, k), c = load(2, k), e = load(3, k);
      const auto ab = hn::BitCast(d64, hn::InterleaveLower(d32, a, b));
      const auto ce = hn::BitCast(d64, hn::InterleaveLower(d32, c, e));
      const auto ab_upper = hn::BitCast(d64, hn::InterleaveUpper(d32, a, b));
      const auto ce_upper = hn::BitCast(d64, hn::InterleaveUpper(d32, c, e));
      store(hn::InterleaveLower(d64, ab, ce), k);
      store(hn::InterleaveUpper(d64, ab, ce), k + 2);
      store(hn::InterleaveLower(d64, ab_upper, ce_upper), k + 4);
      store(hn::InterleaveUpper(d64, ab_upper, ce_upper), k + 6);
    }
    for (int64_t l = 0; l < kGroup; ++l) PackLine(line + l, k);
  }
#endif

  const T* from_;
  int64_t line_stride_, number_stride_;
  int64_t lines_, count_;
  const int16_t* less_;
  int64_t width_;
  int16_t* panel_;
};

void Pack(const ByteLines& from, int64_t lines, int64_t count, const int16_t* less, int64_t width,
          int16_t* panel) {
  if (from.is_signed) return Packer<int8_t>(from, lines, count, less, width, panel).Pack();
  Packer<uint8_t>(from, lines, count, less, width, panel).Pack();
}

}  // namespace dmlop::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace dmlop {

IntegerTileShape CurrentIntegerTile() {
  return DMLOP_CHOOSE(Shape)();
}

void AddTile(int64_t rows, const int16_t* left, const int16_t* right, int64_t pairs, int32_t* sums,
             int64_t stride) {
  DMLOP_CHOOSE(AddProducts)(rows, left, right, pairs, sums, stride);
}

void PackBytes(const ByteLines& from, int64_t lines, int64_t count, const int16_t* less,
               int64_t width, int16_t* panel) {
  DMLOP_CHOOSE(Pack)(from, lines, count, less, width, panel);
}

void PackPairsOfRows(const int16_t* rows, int64_t count, const int16_t* less, int64_t width,
                     int16_t* panel) {
  DMLOP_CHOOSE(PackWideRows)(rows, count, less, width, panel);
}

}  // namespace dmlop
#endif
