// SPDX-License-Identifier: Apache-2.0
#include "core/kernels/copy/copy.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "core/kernels/copy/short_rows.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include <algorithm>

#include "core/kernels/simd/dispatch.h"
#include "core/kernels/simd/pack-inl.h"

HWY_BEFORE_NAMESPACE();
namespace dmlop::HWY_NAMESPACE {

// Copies each row as pieces of kBytes.
template <size_t kCopies, size_t kBytes>
void CopyAsPieces(int64_t rows, const RowsCopy* copies) {
  std::byte* to[kCopies] = {};
  const std::byte* from[kCopies] = {};
  int64_t to_pitch[kCopies] = {};
  int64_t from_pitch[kCopies] = {};
  for (size_t c = 0; c < kCopies; ++c) {
    to[c] = copies[c].to;
    from[c] = copies[c].from;
    to_pitch[c] = copies[c].to_pitch;
    from_pitch[c] = copies[c].from_pitch;
  }
  for (; rows > 0; --rows) {
    for (size_t c = 0; c < kCopies; ++c) {
      Piece<kBytes>(from[c]).Write(to[c]);
      to[c] += to_pitch[c];
      from[c] += from_pitch[c];
    }
  }
}

template <size_t kBytes>
int64_t CopyPieces(std::span<const RowsCopy> copies, int64_t shortest) {
  const int64_t rows = copies[0].rows - (static_cast<int64_t>(kBytes) - 1) / shortest;
  switch (copies.size()) {
    case 2:
      CopyAsPieces<2, kBytes>(rows, copies.data());
      break;
    case 3:
      CopyAsPieces<3, kBytes>(rows, copies.data());
      break;
    default:
      CopyAsPieces<kMaxShortCopies, kBytes>(rows, copies.data());
  }
  return std::max<int64_t>(rows, 0);
}

int64_t CopyShortRows(std::span<const RowsCopy> copies) {
  const auto [shortest, longest] = std::minmax_element(
      copies.begin(), copies.end(),
      [](const RowsCopy& a, const RowsCopy& b) { return a.row_bytes < b.row_bytes; });
  if (longest->row_bytes <= 8) return CopyPieces<8>(copies, shortest->row_bytes);
  if (longest->row_bytes <= 16) return CopyPieces<16>(copies, shortest->row_bytes);
  return CopyPieces<kMaxShortCopyBytes>(copies, shortest->row_bytes);
}

}  // namespace dmlop::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace dmlop {

ShortRowsFunction ShortRowsForIsa() {
  return DMLOP_CHOOSE(CopyShortRows);
}

}  // namespace dmlop
#endif
