// SPDX-License-Identifier: Apache-2.0
#include "core/engine/matrix/packed_lines.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "core/base/parallel.h"
#include "core/engine/matrix/product_grid.h"
#include "core/kernels/matrix/product.h"

namespace dmlop {
namespace {

int64_t PanelWidth(PanelSide side) {
  const ProductKernels kernels = ProductKernelsNow();
  return side == PanelSide::kRows ? kernels.row_width : kernels.column_width;
}

// Sums of numbers whose ratio is greater are hardly ever exact.
constexpr double kGreatestSpan = 0x1p22;

// Finds the lowest bit of numbers piece by piece, and gives up early.
class BitSearch {
 public:
  void Add(int64_t count, const double* numbers) {
    if (lowest_ == 0) return;
    double lowest = 0;
    double greatest = 0;
    ProductKernelsNow().scan_bits(count, numbers, &lowest, &greatest);
    lowest_ = std::min(lowest_, lowest);
    greatest_ = std::max(greatest_, greatest);
    if (greatest_ > lowest_ * kGreatestSpan || std::isinf(greatest_)) lowest_ = 0;
  }
  double lowest() const { return lowest_; }

 private:
  double lowest_ = std::numeric_limits<double>::infinity();
  double greatest_ = 0;
};

}  // namespace

PackedLines::PackedLines(const MatrixLines& lines, IndexRange range, PanelSide side)
    : lines_(lines),
      range_(range),
      width_(PanelWidth(side)),
      length_(lines.length()),
      data_(panels() * width_ * length_) {
  Pack(range);
}

void PackedLines::Pack(IndexRange range) {
  range_ = range;
  norms_.assign(static_cast<size_t>(panels() * width_), 0);
  absent_.assign(static_cast<size_t>(panels()), 0);
  std::vector<double> lowest_bits(static_cast<size_t>(panels()));
  const int64_t grain = PackingGrain(panels(), width_ * length_);
  ParallelFor(panels(), grain, 0, [&](int64_t begin, int64_t end) {
    for (int64_t panel = begin; panel < end; ++panel) {
      PackPanel(panel, lowest_bits[static_cast<size_t>(panel)]);
    }
  });
  lowest_bit_ = *std::min_element(lowest_bits.begin(), lowest_bits.end());
}

int64_t PackedLines::LinesIn(int64_t panel) const {
  return std::min(width_, range_.count - panel * width_);
}

void PackedLines::PackPanel(int64_t panel, double& lowest_bit) {
  double* norms = norms_.data() + static_cast<size_t>(panel * width_);
  BitSearch search;
  for (int64_t k = 0; k < length_; k += kChainLength) {
    const int64_t depth = std::min(kChainLength, length_ - k);
    double* to = data_.data() + (panel * length_ + k) * width_;
    lines_.Pack(LinesOf(panel), {k, depth}, width_, to);
    ProductKernelsNow().add_squares(depth, width_, to, norms);
    search.Add(depth * width_, to);
  }
  // Each addition has lost less than 2^-52 of the sum of squares.
  const double rounding = 1 + static_cast<double>(length_ + 8) * 0x1p-52;
  for (int64_t i = 0; i < width_; ++i) norms[i] = std::sqrt(norms[i] * rounding) * (1 + 0x1p-50);
  absent_[static_cast<size_t>(panel)] = lines_.WithAbsent(LinesOf(panel));
  lowest_bit = search.lowest();
}

}  // namespace dmlop
