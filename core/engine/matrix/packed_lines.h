// SPDX-License-Identifier: Apache-2.0
// Lines packed as FLOAT64 panels for the kernels, with the bounds for errors of their products.
#pragma once

#include <vector>

#include "core/base/integers.h"
#include "core/engine/matrix/aligned_numbers.h"
#include "core/engine/matrix/matrix_lines.h"

namespace dmlop {

enum class PanelSide { kRows, kColumns };

class PackedLines {
 public:
  // Runs in parallel if that pays. `lines` must outlive it.
  PackedLines(const MatrixLines& lines, IndexRange range, PanelSide side);

  // Packs other lines, no more than before, into the same memory.
  void Pack(IndexRange range);

  IndexRange range() const { return range_; }
  int64_t width() const { return width_; }  // width of a panel
  int64_t panels() const { return CeilDiv(range_.count, width_); }
  int64_t length() const { return length_; }

  // The panel from element k of its lines on.
  const double* Panel(int64_t panel, int64_t k) const {
    return data_.data() + (panel * length_ + k) * width_;
  }
  int64_t LinesIn(int64_t panel) const;
  IndexRange LinesOf(int64_t panel) const {
    return {range_.begin + panel * width_, LinesIn(panel)};
  }

  // Upper bounds of the Euclidean norms of a panel's lines; 0 for padding.
  const double* Norms(int64_t panel) const {
    return norms_.data() + static_cast<size_t>(panel * width_);
  }

  // A bit mask of the panel's lines with absent elements.
  uint32_t Absent(int64_t panel) const { return absent_[static_cast<size_t>(panel)]; }

  // A power of two that divides all elements; 0 if no useful one is known.
  double lowest_bit() const { return lowest_bit_; }

 private:
  void PackPanel(int64_t panel, double& lowest_bit);

  const MatrixLines& lines_;
  IndexRange range_;
  int64_t width_;
  int64_t length_;
  AlignedNumbers<double> data_;
  std::vector<double> norms_;
  std::vector<uint32_t> absent_;  // one for each panel
  double lowest_bit_ = 0;
};

}  // namespace dmlop
