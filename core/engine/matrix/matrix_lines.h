// What matrix products are made of: the rows of the first matrix or the columns of the second one,
// called lines, whose elements are FLOAT32 or FLOAT16 numbers anywhere in memory.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "core/tensor/tensor.h"

namespace dmlop {

// A part of an index range.
struct IndexRange {
  int64_t begin;
  int64_t count;
};

// Lines whose elements are a fixed stride apart, as the lines are.
struct PlainLines {
  const std::byte* data;
  DataType type;
  int64_t line_stride;
  int64_t inner_stride;
};

class MatrixLines {
 public:
  MatrixLines(int64_t count, int64_t length) : count_(count), length_(length) {}
  MatrixLines(const MatrixLines&) = delete;
  MatrixLines& operator=(const MatrixLines&) = delete;
  virtual ~MatrixLines() = default;

  int64_t count() const { return count_; }
  int64_t length() const { return length_; }  // of each line

  // Writes element k of line i of the ranges to to[k * width + i], and 0 behind the lines. At most
  // kChainLength elements, and kMaxPanelWidth lines unless it packs any number.
  virtual void Pack(IndexRange lines, IndexRange elements, int64_t width, double* to) const = 0;
  virtual bool PacksAnyNumber() const { return false; }

  // The lines with elements that take no part in sums, which Pack writes as 0: a bit for each of at
  // most kMaxPanelWidth. Only columns have such.
  virtual uint32_t WithAbsent(IndexRange lines) const = 0;
  bool HasAbsent(int64_t line) const { return WithAbsent({line, 1}) != 0; }
  // All elements of a line, absent ones as Absent().
  virtual void Extract(int64_t line, double* to) const = 0;

  // None where that is not how they are.
  virtual std::optional<PlainLines> AsPlain() const { return std::nullopt; }

  // No FLOAT32 or FLOAT16 number becomes such a NaN.
  static bool IsAbsent(double element);
  static double Absent();

 private:
  int64_t count_;
  int64_t length_;
};

// Elements at OffsetOf(lines, i) + OffsetOf(inner, k). Strides may be 0 or negative.
struct MatrixView {
  const std::byte* data;
  DataType type;  // FLOAT32 or FLOAT16
  Layout lines;
  Layout inner;
};

class ViewLines final : public MatrixLines {
 public:
  explicit ViewLines(const MatrixView& view);

  void Pack(IndexRange lines, IndexRange elements, int64_t width, double* to) const override;
  uint32_t WithAbsent(IndexRange) const override { return 0; }
  void Extract(int64_t line, double* to) const override;
  std::optional<PlainLines> AsPlain() const override;

 private:
  MatrixView view_;
};

// Lines end to end, as for sums of several products: the lines of one part after those of another,
// with as many lines each. The parts must outlive it.
class JoinedLines final : public MatrixLines {
 public:
  explicit JoinedLines(std::vector<const MatrixLines*> parts);

  void Pack(IndexRange lines, IndexRange elements, int64_t width, double* to) const override;
  uint32_t WithAbsent(IndexRange lines) const override;
  void Extract(int64_t line, double* to) const override;

 private:
  std::vector<const MatrixLines*> parts_;
};

// Offsets of the elements of a layout in a range of their row-major numbers.
void FillOffsets(const Layout& layout, IndexRange range, int64_t* offsets);

}  // namespace dmlop
