#include "core/ops/unfold_phases.h"

#include <algorithm>

namespace dmlop {
namespace {

constexpr int64_t kMaxImageBytes = 1 << 20;  // that stay in the second-level cache
constexpr int64_t kMaxImageSide = 1 << 14;
constexpr int64_t kRowsAtOnce = 16;

// Elements of a phase, counted from its first one on; the first phase has the most.
int64_t CountOf(const UnfoldDim& dim, int64_t phase) {
  return (dim.size - phase + dim.stride - 1) / dim.stride;
}

}  // namespace

std::optional<UnfoldPhases> UnfoldPhases::For(const UnfoldDim& row, const UnfoldDim& column,
                                              int64_t width) {
  // One by one, because together they may be more than an integer holds.
  if (std::max({row.stride, column.stride, CountOf(row, 0), CountOf(column, 0), column.blocks}) >
      kMaxImageSide) {
    return std::nullopt;
  }
  const UnfoldPhases phases(row, column, width);
  if (phases.bytes() > kMaxImageBytes) return std::nullopt;
  return phases;
}

UnfoldPhases::UnfoldPhases(const UnfoldDim& row, const UnfoldDim& column, int64_t width)
    : row_(row),
      column_(column),
      width_(width),
      row_pitch_(std::max(column.blocks, CountOf(column, 0))),
      image_size_(CountOf(row, 0) * row_pitch_),
      copy_(CopyTileFor(static_cast<size_t>(width))) {}

void UnfoldPhases::Fill(Range rows, const std::byte* plane, std::byte* images) const {
  // Rows of all phases, together so few that they are read once.
  const int64_t step = row_.stride * std::max<int64_t>(kRowsAtOnce / row_.stride, 1);
  for (int64_t row = rows.begin; row < rows.end; row += step) {
    const int64_t end = std::min(row + step, rows.end);
    for (int64_t first = row; first < std::min(row + row_.stride, end); ++first) {
      FillRows(first, (end - first + row_.stride - 1) / row_.stride, plane, images);
    }
  }
}

void UnfoldPhases::FillRows(int64_t row, int64_t rows, const std::byte* plane,
                            std::byte* images) const {
  for (int64_t q = 0; q < std::min(column_.stride, column_.size); ++q) {
    copy_({rows, CountOf(column_, q), row_pitch_, 1, row_.stride * row_.step,
           column_.stride * column_.step},
          images + Offset(row, q) * width_, plane + (row * row_.step + q * column_.step) * width_);
  }
}

}  // namespace dmlop
