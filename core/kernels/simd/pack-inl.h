// SPDX-License-Identifier: Apache-2.0
// Packs short rows. Included by kernel sources after foreach_target.h, once for each instruction
// set.

#if defined(DMLOP_PACK_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef DMLOP_PACK_INL_H_
#undef DMLOP_PACK_INL_H_
#else
#define DMLOP_PACK_INL_H_
#endif

#include <hwy/highway.h>

#include <cstddef>
#include <cstdint>
#include <cstring>

HWY_BEFORE_NAMESPACE();
namespace dmlop::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

inline constexpr int64_t kMaxPackedRow = 32;  // bytes

// kBytes that are all read before they are written.
template <size_t kBytes>
struct Piece {
#if HWY_TARGET != HWY_SCALAR
  using D = hn::CappedTag<uint8_t, kBytes>;
  static constexpr size_t kVectors = kBytes / HWY_MIN(kBytes, HWY_MAX_BYTES);

  HWY_INLINE explicit Piece(const std::byte* from) {
    for (size_t v = 0; v < kVectors; ++v) {
      vectors[v] = hn::LoadU(D(), reinterpret_cast<const uint8_t*>(from) + v * hn::Lanes(D()));
    }
  }
  HWY_INLINE void Write(std::byte* to) const {
    for (size_t v = 0; v < kVectors; ++v) {
      hn::StoreU(vectors[v], D(), reinterpret_cast<uint8_t*>(to) + v * hn::Lanes(D()));
    }
  }

  hn::Vec<D> vectors[kVectors];
#else
  explicit Piece(const std::byte* from) {
    std::memcpy(bytes, from, kBytes);
  }
  void Write(std::byte* to) const {
    std::memcpy(to, bytes, kBytes);
  }

  std::byte bytes[kBytes];
#endif
};

// Writes each row as a whole piece, whose surplus the next row overwrites. Returns how many rows it
// has packed; after the last few, there is no room for the surplus.
template <size_t kBytes>
int64_t PackAsPieces(int64_t rows, int64_t row_bytes, std::byte* to, const std::byte* from,
                     int64_t from_pitch) {
  const int64_t last = rows - (static_cast<int64_t>(kBytes) - 1) / row_bytes;
  int64_t row = 0;
  for (; row + 4 <= last; row += 4) {
    const Piece<kBytes> a(from), b(from + from_pitch), c(from + 2 * from_pitch),
        d(from + 3 * from_pitch);
    a.Write(to);
    b.Write(to + row_bytes);
    c.Write(to + 2 * row_bytes);
    d.Write(to + 3 * row_bytes);
    to += 4 * row_bytes;
    from += 4 * from_pitch;
  }
  return row;
}

// Packs rows of at most kMaxPackedRow bytes, and at most `from_pitch`. Returns how many it has
// packed.
inline int64_t PackRows(int64_t rows, int64_t row_bytes, std::byte* to, const std::byte* from,
                        int64_t from_pitch) {
  if (row_bytes <= 4) return PackAsPieces<4>(rows, row_bytes, to, from, from_pitch);
  if (row_bytes <= 8) return PackAsPieces<8>(rows, row_bytes, to, from, from_pitch);
  if (row_bytes <= 16) return PackAsPieces<16>(rows, row_bytes, to, from, from_pitch);
  return PackAsPieces<32>(rows, row_bytes, to, from, from_pitch);
}

}  // namespace dmlop::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // DMLOP_PACK_INL_H_
