// SPDX-License-Identifier: Apache-2.0
#include "core/engine/matrix/integer_product.h"

#include <algorithm>
#include <type_traits>

#include "core/base/integers.h"
#include "core/base/machine.h"
#include "core/base/parallel.h"
#include "core/kernels/matrix/integer_tile.h"

namespace dmlop {
namespace {

// Sizes of a packed block: a panel of the right matrix stays in the first-level cache while the
// panels of the left one, in the second-level cache, pass by.
constexpr int64_t kDepth = 512;
constexpr int64_t kRows = 256;
constexpr int64_t kColumns = 768;

// Products are below 2^16, so sums of so many fit in 32 bits.
constexpr int64_t kExactDepth = 32 * 1024;
static_assert(kExactDepth % kDepth == 0);

template <typename T>
Buffer BufferOf(int64_t count) {
  return Buffer(static_cast<size_t>(count) * sizeof(T));
}

template <typename T>
T* ElementsOf(Buffer& buffer) {
  return reinterpret_cast<T*>(buffer.data());
}

// Computes the product of some rows and some columns.
template <typename Sum>
class Block {
 public:
  Block(const IntegerProductShape& shape, const IntegerLines& left, const IntegerLines& right,
        int64_t batch, Range rows, Range columns)
      : shape_(shape),
        left_(left),
        right_(right),
        batch_(batch),
        rows_(rows),
        columns_(columns),
        tile_(CurrentIntegerTile()),
        stride_(RoundUp(columns.count(), tile_.columns)),
        sums_(BufferOf<int32_t>(RoundUp(rows.count(), tile_.rows) * stride_)) {
    const int64_t depth = RoundUp(std::min(kDepth, shape.depth), 2);
    left_panels_ = BufferOf<int16_t>(RoundUp(rows.count(), tile_.rows) * depth);
    right_panel_ = BufferOf<int16_t>(tile_.columns * depth);
    if (IsWide()) wide_ = std::vector<int64_t>(static_cast<size_t>(rows.count() * stride_));
  }

  void Run(const SumSink<Sum>& sink) {
    for (int64_t k = 0; k < shape_.depth; k += kDepth) {
      if (IsWide() && k % kExactDepth == 0) MoveToWide();
      AddProducts({k, std::min(k + kDepth, shape_.depth)});
    }
    if (IsWide()) MoveToWide();
    std::vector<Sum> row(static_cast<size_t>(columns_.count()));
    for (int64_t r = 0; r < rows_.count(); ++r) {
      const int32_t* from = ElementsOf<int32_t>(sums_) + r * stride_;
      if (IsWide()) {
        std::copy_n(wide_.begin() + r * stride_, row.size(), row.begin());
      } else {
        std::copy_n(from, row.size(), row.begin());
      }
      sink({batch_, rows_.begin + r, columns_.begin, row});
    }
  }

 private:
  bool IsWide() const { return !std::is_same_v<Sum, int32_t> && shape_.depth > kExactDepth; }

  void AddProducts(Range numbers) {
    const int64_t pairs = (numbers.count() + 1) / 2;
    const int64_t left_size = tile_.rows * 2 * pairs;
    int16_t* const left = ElementsOf<int16_t>(left_panels_);
    int16_t* const right = ElementsOf<int16_t>(right_panel_);
    for (int64_t r = 0; r < rows_.count(); r += tile_.rows) {
      left_.Pack(batch_, Part(rows_, r, tile_.rows), numbers, tile_.rows,
                 left + r / tile_.rows * left_size);
    }
    for (int64_t c = 0; c < columns_.count(); c += tile_.columns) {
      right_.Pack(batch_, Part(columns_, c, tile_.columns), numbers, tile_.columns, right);
      for (int64_t r = 0; r < rows_.count(); r += tile_.rows) {
        AddTile(std::min(tile_.rows, rows_.count() - r), left + r / tile_.rows * left_size, right,
                pairs, ElementsOf<int32_t>(sums_) + r * stride_ + c, stride_);
      }
    }
  }

  static Range Part(Range whole, int64_t begin, int64_t size) {
    return {whole.begin + begin, std::min(whole.begin + begin + size, whole.end)};
  }

  void MoveToWide() {
    int32_t* sums = ElementsOf<int32_t>(sums_);
    for (size_t i = 0; i < wide_.size(); ++i) wide_[i] += sums[i];
    std::fill_n(sums, wide_.size(), 0);
  }

  const IntegerProductShape& shape_;
  const IntegerLines& left_;
  const IntegerLines& right_;
  int64_t batch_;
  Range rows_, columns_;
  IntegerTileShape tile_;
  int64_t stride_;  // stride of a row of sums
  Buffer sums_, left_panels_, right_panel_;
  std::vector<int64_t> wide_;
};

}  // namespace

IntegerMatrixLines::IntegerMatrixLines(const ConstTensorView& view, size_t line_dim,
                                       size_t number_dim, std::span<const int64_t> zero_points)
    : first_(view.Slice(line_dim, 0, 1).Slice(number_dim, 0, 1)),
      line_stride_(view.layout.strides[line_dim]),
      number_stride_(view.layout.strides[number_dim]),
      zero_points_(static_cast<size_t>(view.layout.sizes[line_dim])) {
  for (size_t i = 0; i < zero_points_.size() && !zero_points.empty(); ++i) {
    zero_points_[i] = static_cast<int16_t>(zero_points[zero_points.size() == 1 ? 0 : i]);
  }
}

void IntegerMatrixLines::Pack(int64_t batch, Range lines, Range numbers, int64_t width,
                              int16_t* panel) const {
  const int64_t offset = OffsetOfElement(first_.layout, batch) + lines.begin * line_stride_ +
                         numbers.begin * number_stride_;
  PackBytes({first_.data + offset, first_.type == DataType::kInt8, line_stride_, number_stride_},
            lines.count(), numbers.count(), zero_points_.data() + lines.begin, width, panel);
}

template <typename Sum>
void MultiplyIntegers(const IntegerProductShape& shape, const IntegerLines& rows,
                      const IntegerLines& columns, const SumSink<Sum>& sink) {
  const int64_t row_blocks = CeilDiv(shape.rows, kRows);
  const int64_t column_blocks = CeilDiv(shape.columns, kColumns);
  const int64_t products = std::min(kRows, shape.rows) * std::min(kColumns, shape.columns) *
                           std::min(kDepth, shape.depth);
  ParallelFor(shape.batches * row_blocks * column_blocks, kParallelElements / products + 1, 0,
              [&](int64_t begin, int64_t end) {
                for (int64_t i = begin; i < end; ++i) {
                  const int64_t c = i % column_blocks * kColumns;
                  const int64_t r = i / column_blocks % row_blocks * kRows;
                  Block<Sum>(shape, rows, columns, i / column_blocks / row_blocks,
                             {r, std::min(r + kRows, shape.rows)},
                             {c, std::min(c + kColumns, shape.columns)})
                      .Run(sink);
                }
              });
}

template void MultiplyIntegers(const IntegerProductShape&, const IntegerLines&, const IntegerLines&,
                               const SumSink<int32_t>&);
template void MultiplyIntegers(const IntegerProductShape&, const IntegerLines&, const IntegerLines&,
                               const SumSink<int64_t>&);

}  // namespace dmlop
