// SPDX-License-Identifier: Apache-2.0
#include "core/kernels/copy/copy.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "core/kernels/copy/copy.cpp"
#include <hwy/foreach_target.h>

#include <hwy/cache_control.h>
#include <hwy/highway.h>

#include <algorithm>
#include <cassert>
#include <cstring>

#include "core/kernels/copy/transpose-inl.h"
#include "core/kernels/simd/dispatch.h"
#include "core/kernels/simd/pack-inl.h"

HWY_BEFORE_NAMESPACE();
namespace dmlop::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

// Copies rows of one to two Words. The second Word overlaps the first unless the row fills both.
template <typename Word>
void CopyWordRows(int64_t rows, size_t row_bytes, std::byte* to, int64_t to_pitch,
                  const std::byte* from, int64_t from_pitch) {
  const size_t second = row_bytes - sizeof(Word);
  for (int64_t row = 0; row < rows; ++row) {
    Word words[2];
    std::memcpy(&words[0], from, sizeof(Word));
    std::memcpy(&words[1], from + second, sizeof(Word));
    std::memcpy(to, &words[0], sizeof(Word));
    std::memcpy(to + second, &words[1], sizeof(Word));
    to += to_pitch;
    from += from_pitch;
  }
}

// Copies rows too short to pay for a call of the C library. The last vector overlaps others.
template <size_t kVectorBytes>
void CopyVectorRows(int64_t rows, size_t row_bytes, std::byte* to, int64_t to_pitch,
                    const std::byte* from, int64_t from_pitch) {
#if HWY_TARGET == HWY_SCALAR
  for (int64_t row = 0; row < rows; ++row) {
    std::memmove(to + row * to_pitch, from + row * from_pitch, row_bytes);
  }
#else
  const hn::CappedTag<uint8_t, kVectorBytes> d;
  const size_t lanes = hn::Lanes(d);
  const auto copy = [d](std::byte* vector_to, const std::byte* vector_from) HWY_ATTR {
    hn::StoreU(hn::LoadU(d, reinterpret_cast<const uint8_t*>(vector_from)), d,
               reinterpret_cast<uint8_t*>(vector_to));
  };
  const size_t last = row_bytes - lanes;
  for (int64_t row = 0; row < rows; ++row) {
    for (size_t i = 0; i < last; i += lanes) copy(to + i, from + i);
    copy(to + last, from + last);
    to += to_pitch;
    from += from_pitch;
  }
#endif
}

void CopyLongRows(int64_t rows, size_t row_bytes, std::byte* to, int64_t to_pitch,
                  const std::byte* from, int64_t from_pitch) {
  for (int64_t row = 0; row < rows; ++row) {
    std::memmove(to + row * to_pitch, from + row * from_pitch, row_bytes);
  }
}

using CopyRowsFunction = void(int64_t rows, size_t row_bytes, std::byte* to, int64_t to_pitch,
                              const std::byte* from, int64_t from_pitch);

CopyRowsFunction* CopyRowsFor(size_t row_bytes) {
  constexpr size_t kLongRow = 1 << 13;
  if (row_bytes < 2) return CopyWordRows<uint8_t>;
  if (row_bytes < 4) return CopyWordRows<uint16_t>;
  if (row_bytes < 8) return CopyWordRows<uint32_t>;
  if (row_bytes < 16) return CopyWordRows<uint64_t>;
  if (row_bytes < 32) return CopyVectorRows<16>;
  if (row_bytes < kLongRow) return CopyVectorRows<32>;
  return CopyLongRows;
}

void CopyRows(int64_t rows, size_t row_bytes, std::byte* to, int64_t to_pitch,
              const std::byte* from, int64_t from_pitch) {
  const int64_t packed_bytes = static_cast<int64_t>(row_bytes);
  if (packed_bytes <= kMaxPackedRow && to_pitch == packed_bytes && from_pitch > packed_bytes) {
    const int64_t packed = PackRows(rows, packed_bytes, to, from, from_pitch);
    rows -= packed;
    to += packed * to_pitch;
    from += packed * from_pitch;
  }
  CopyRowsFor(row_bytes)(rows, row_bytes, to, to_pitch, from, from_pitch);
}

// Packs every other element of the source. Prefetches `ahead` elements in front of the loads.
template <typename T>
void CopyEveryOther(int64_t count, T* to, const T* from, [[maybe_unused]] int64_t ahead) {
  int64_t i = 0;
#if HWY_TARGET != HWY_SCALAR
  const hn::ScalableTag<T> d;
  const int64_t lanes = static_cast<int64_t>(hn::Lanes(d));
  // The last vector is loaded from one element earlier, to read no further than the last element.
  for (; i + lanes < count; i += lanes) {
    hwy::Prefetch(from + 2 * i + ahead);
    hwy::Prefetch(from + 2 * i + lanes + ahead);
    const auto low = hn::LoadU(d, from + 2 * i);
    const auto high = hn::LoadU(d, from + 2 * i + lanes);
    hn::StoreU(hn::ConcatEven(d, high, low), d, to + i);
  }
  if (i > 0) {  // one more vector, which overlaps those before it
    i = count - lanes;
    const auto low = hn::LoadU(d, from + 2 * i - 1);
    const auto high = hn::LoadU(d, from + 2 * i - 1 + lanes);
    hn::StoreU(hn::ConcatOdd(d, high, low), d, to + i);
    i = count;
  }
#endif
  for (; i < count; ++i) to[i] = from[2 * i];
}

template <typename T>
void CopyStridedRow(int64_t count, T* to, int64_t to_stride, const T* from, int64_t from_stride,
                    int64_t next_row) {
  if (to_stride == 1 && from_stride == 0) return static_cast<void>(std::fill_n(to, count, *from));
  if (to_stride == 1 && from_stride == 2) return CopyEveryOther(count, to, from, next_row);
  for (int64_t i = 0; i < count; ++i) to[i * to_stride] = from[i * from_stride];
}

template <typename T>
void CopyTileOf(const CopyTile& tile, std::byte* to, const std::byte* from) {
  constexpr int64_t kWidth = sizeof(T);
  if (tile.inner_count == 0) return;
  if (tile.to_inner_stride == 1 && tile.from_inner_stride == 1) {
    const size_t row_bytes = static_cast<size_t>(tile.inner_count * kWidth);
    return CopyRows(tile.outer_count, row_bytes, to, tile.to_outer_stride * kWidth, from,
                    tile.from_outer_stride * kWidth);
  }
  T* to_row = reinterpret_cast<T*>(to);
  const T* from_row = reinterpret_cast<const T*>(from);
  if (tile.to_inner_stride == 1 && tile.from_outer_stride == 1) {
    return Transpose(tile, to_row, from_row);
  }
  for (int64_t row = 0; row < tile.outer_count; ++row) {
    CopyStridedRow(tile.inner_count, to_row, tile.to_inner_stride, from_row, tile.from_inner_stride,
                   tile.from_outer_stride);
    to_row += tile.to_outer_stride;
    from_row += tile.from_outer_stride;
  }
}

}  // namespace dmlop::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace dmlop {

CopyTileFunction CopyTileFor(size_t element_width) {
  if (element_width == 1) return DMLOP_CHOOSE(CopyTileOf<uint8_t>);
  if (element_width == 2) return DMLOP_CHOOSE(CopyTileOf<uint16_t>);
  if (element_width == 4) return DMLOP_CHOOSE(CopyTileOf<uint32_t>);
  assert(element_width == 8);
  return DMLOP_CHOOSE(CopyTileOf<uint64_t>);
}

}  // namespace dmlop
#endif
