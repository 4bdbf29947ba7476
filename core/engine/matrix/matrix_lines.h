// SPDX-License-Identifier: Apache-2.0
// The operands of matrix products: the rows of the first matrix or the columns of the second,
// called lines, whose elements are FLOAT32, FLOAT16, INT8 or UINT8 numbers anywhere in memory.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "core/base/integers.h"
#include "core/engine/matrix/product_grid.h"
#include "core/tensor/tensor.h"

namespace dmlop {

// A part of an index range.
struct IndexRange {
  int64_t begin;
  int64_t count;
};

// Lines whose elements are a fixed stride apart and which are a fixed stride apart themselves.
struct PlainLines {
  const std::byte* data;
  DataType type;
  int64_t line_stride;
  int64_t inner_stride;
};

class WindowLines;

class MatrixLines {
 public:
  MatrixLines(DataType type, int64_t count, int64_t length)
      : type_(type), count_(count), length_(length) {}
  MatrixLines(const MatrixLines&) = delete;
  MatrixLines& operator=(const MatrixLines&) = delete;
  virtual ~MatrixLines() = default;

  DataType type() const { return type_; }
  int64_t count() const { return count_; }
  int64_t length() const { return length_; }  // elements of each line

  // Packs FLOAT32 or FLOAT16 for the kernels of floats: writes element k of line i of the ranges to
  // to[k * width + i], and pads the lines with 0. There are at most kChainLength elements and
  // kMaxPanelWidth lines.
  virtual void Pack(IndexRange lines, IndexRange elements, int64_t width, double* to) const = 0;

  // Packs INT8 or UINT8 for those of integers: fills a panel of kernels/matrix/integer_tile.h, and
  // pads it with 0. The numbers of line i are less `less[i]`, of which there are `width`, 0 behind
  // the lines.
  virtual void PackPairs(IndexRange lines, IndexRange elements, const int16_t* less, int64_t width,
                         int16_t* panel) const = 0;

  // A bit mask of the lines, at most kMaxPanelWidth, with absent elements, which take no part in
  // sums and which Pack writes as 0. Only columns may have such elements.
  virtual uint32_t WithAbsent(IndexRange lines) const = 0;
  bool HasAbsent(int64_t line) const { return WithAbsent({line, 1}) != 0; }
  // Writes all elements of a line, absent ones as Absent().
  virtual void Extract(int64_t line, double* to) const = 0;

  // Null if the elements or the lines have no fixed stride.
  virtual std::optional<PlainLines> AsPlain() const { return std::nullopt; }
  // Null if the lines are not windows.
  virtual const WindowLines* AsWindows() const { return nullptr; }

  // The NaN that marks absent elements; no FLOAT32 or FLOAT16 number converts to it.
  static bool IsAbsent(double element);
  static double Absent();

 private:
  DataType type_;
  int64_t count_;
  int64_t length_;
};

// Element k of line i is at OffsetOf(lines, i) + OffsetOf(inner, k). Strides may be 0 or negative.
struct MatrixView {
  const std::byte* data;
  DataType type;
  Layout lines;
  Layout inner;

  // Lines along a dimension of a tensor with the elements along another, at the start of the rest.
  static MatrixView Of(const ConstTensorView& view, size_t line_dim, size_t inner_dim);
};

class ViewLines final : public MatrixLines {
 public:
  explicit ViewLines(const MatrixView& view) : ViewLines({&view, 1}) {}
  // Lays parts end to end, for sums of several products: each line of a part continues the same
  // line of the part before. All parts have as many lines.
  explicit ViewLines(std::span<const MatrixView> parts);

  void Pack(IndexRange lines, IndexRange elements, int64_t width, double* to) const override;
  // Bytes are in one part.
  void PackPairs(IndexRange lines, IndexRange elements, const int16_t* less, int64_t width,
                 int16_t* panel) const override;
  uint32_t WithAbsent(IndexRange) const override { return 0; }
  void Extract(int64_t line, double* to) const override;
  std::optional<PlainLines> AsPlain() const override { return plain_; }

 private:
  struct Part {
    explicit Part(const MatrixView& from);
    void Pack(IndexRange lines, IndexRange elements, int64_t width, double* to) const;

    MatrixView view;
    int64_t length;
    std::optional<int64_t> stride;  // of the elements
  };

  std::vector<Part> parts_;
  std::optional<PlainLines> plain_;
};

// Offsets of the elements of a layout whose row-major numbers are in the range.
void FillOffsets(const Layout& layout, IndexRange range, int64_t* offsets);

// Offsets of lines in a tensor. Remembers where the last ones lie, as the next are mostly near.
class LineOffsets {
 public:
  explicit LineOffsets(const Layout& lines);

  // Returns the offset of a line.
  int64_t At(int64_t line) {
    if (!row_.Contains(line)) FindRow(line);
    return offset_ + (line - row_.begin) * step_;
  }
  bool AreNeighbours(IndexRange lines) {
    At(lines.begin);
    return step_ == 1 && lines.begin + lines.count <= row_.end;
  }
  void Fill(IndexRange lines, int64_t* offsets) {
    for (int64_t i = 0; i < lines.count; ++i) offsets[i] = At(lines.begin + i);
  }

 private:
  void FindRow(int64_t line);

  Layout layout_;
  int64_t step_;        // in a row
  Range row_{0, 0};     // lines
  int64_t offset_ = 0;  // of the first one
};

// --- lines that are packed -----------------------------------------------------------------------

enum class PanelSide { kRows, kColumns };

// Lines packed as FLOAT64 panels for the kernels, with the bounds for errors of their products.
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

  // For each line of a panel, a number of at least its Euclidean norm: summing the product of two
  // lines makes an error of at most RelativeErrorOf(1) of the product of theirs. 0 for padding.
  const double* ErrorNorms(int64_t panel) const {
    return error_norms_.data() + static_cast<size_t>(panel * width_);
  }

  // A bit mask of the panel's lines with absent elements.
  uint32_t Absent(int64_t panel) const { return absent_[static_cast<size_t>(panel)]; }

  // A power of two that divides all elements; 0 if no useful one is known.
  double lowest_bit() const { return lowest_bit_; }

 private:
  class BitSearch;
  class PartialSquares;

  void PackPanel(int64_t panel, BitSearch& search);

  const MatrixLines& lines_;
  IndexRange range_;
  int64_t width_;
  int64_t length_;
  AlignedNumbers<double> data_;
  std::vector<double> error_norms_;
  std::vector<uint32_t> absent_;  // one for each panel
  double lowest_bit_ = 0;
};

}  // namespace dmlop
