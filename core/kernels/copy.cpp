#include "core/kernels/copy.h"

#include <cassert>
#include <cstring>

namespace dmlop {
namespace {

template <typename T>
void CopyRow(int64_t count, T* to, int64_t to_stride, const T* from, int64_t from_stride) {
  if (to_stride == 1 && from_stride == 1) {
    std::memmove(to, from, static_cast<size_t>(count) * sizeof(T));
    return;
  }
  for (int64_t i = 0; i < count; ++i) to[i * to_stride] = from[i * from_stride];
}

template <typename T>
void CopyRows(const CopyTile& tile, std::byte* to, const std::byte* from) {
  T* to_row = reinterpret_cast<T*>(to);
  const T* from_row = reinterpret_cast<const T*>(from);
  for (int64_t row = 0; row < tile.outer_count; ++row) {
    CopyRow(tile.inner_count, to_row, tile.to_inner_stride, from_row, tile.from_inner_stride);
    to_row += tile.to_outer_stride;
    from_row += tile.from_outer_stride;
  }
}

}  // namespace

CopyTileFunction CopyTileFor(size_t element_width) {
  switch (element_width) {
    case 1:
      return CopyRows<uint8_t>;
    case 2:
      return CopyRows<uint16_t>;
    case 4:
      return CopyRows<uint32_t>;
    case 8:
      return CopyRows<uint64_t>;
    default:
      assert(false);
      return nullptr;
  }
}

}  // namespace dmlop
