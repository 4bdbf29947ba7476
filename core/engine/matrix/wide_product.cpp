// SPDX-License-Identifier: Apache-2.0
#include "core/engine/matrix/integer_product.h"

#include <algorithm>
#include <vector>

#include "core/base/integers.h"
#include "core/base/memory.h"
#include "core/base/parallel.h"
#include "core/tensor/visit_data_type.h"

namespace dmlop {
namespace {

constexpr int64_t kWideDepth = 1024;
constexpr int64_t kWideRows = 8;      // rows for which columns are read once
constexpr int64_t kWideColumns = 64;  // columns of a row of sums

// The place of each number of one matrix.
template <typename T>
struct Lines {
  const T* first;
  int64_t line_stride, number_stride;
  std::span<const int64_t> zero_points;

  // Reads numbers [begin, end) of a line, less its zero point.
  void Read(int64_t line, Range numbers, int64_t* to) const {
    const T* from = first + line * line_stride;
    const int64_t zero_point = ZeroPointAt(zero_points, line);
    for (int64_t k = numbers.begin; k < numbers.end; ++k) {
      *to++ = static_cast<int64_t>(from[k * number_stride]) - zero_point;
    }
  }
};

// Products of numbers of up to 16 bits: int64_t holds the sum of `count` of them.
template <typename T>
Int128 Dot(const int64_t* a, const int64_t* b, int64_t count) {
  if constexpr (sizeof(T) < 4) {
    int64_t sum = 0;
    for (int64_t k = 0; k < count; ++k) sum += a[k] * b[k];
    return sum;
  } else {
    Int128 sum = 0;
    for (int64_t k = 0; k < count; ++k) sum += static_cast<Int128>(a[k]) * b[k];
    return sum;
  }
}

// Sums of some rows and columns of one matrix of the batch.
template <typename T>
class WideBlock {
 public:
  WideBlock(const Lines<T>& left, const Lines<T>& right, Range rows, Range columns)
      : left_(left), right_(right), rows_(rows), columns_(columns) {}

  void Run(int64_t depth, int64_t batch, const SumSink<Int128>& sink) {
    std::vector<Int128> sums(static_cast<size_t>(rows_.count() * columns_.count()));
    for (int64_t k = 0; k < depth; k += kWideDepth) {
      AddProducts({k, std::min(k + kWideDepth, depth)}, sums);
    }
    const size_t columns = static_cast<size_t>(columns_.count());
    for (int64_t r = 0; r < rows_.count(); ++r) {
      sink({batch, rows_.begin + r, columns_.begin,
            std::span(sums).subspan(static_cast<size_t>(r) * columns, columns)});
    }
  }

 private:
  void AddProducts(Range numbers, std::vector<Int128>& sums) const {
    const int64_t count = numbers.count();
    std::vector<int64_t> rows(static_cast<size_t>(rows_.count() * count));
    std::vector<int64_t> column(static_cast<size_t>(count));
    for (int64_t r = 0; r < rows_.count(); ++r) {
      left_.Read(rows_.begin + r, numbers, rows.data() + r * count);
    }
    for (int64_t c = 0; c < columns_.count(); ++c) {
      right_.Read(columns_.begin + c, numbers, column.data());
      for (int64_t r = 0; r < rows_.count(); ++r) {
        sums[static_cast<size_t>(r * columns_.count() + c)] +=
            Dot<T>(rows.data() + r * count, column.data(), count);
      }
    }
  }

  const Lines<T>& left_;
  const Lines<T>& right_;
  Range rows_, columns_;
};

}  // namespace

void MultiplyWideIntegers(const WideMatrix& left, const WideMatrix& right,
                          const SumSink<Int128>& sink) {
  const size_t row_dim = left.view.layout.rank() - 2;
  const size_t last = row_dim + 1;
  const Dims& left_sizes = left.view.layout.sizes;
  const int64_t rows = left_sizes[row_dim];
  const int64_t depth = left_sizes[last];
  const int64_t columns = right.view.layout.sizes[last];
  const int64_t row_blocks = CeilDiv(rows, kWideRows);
  const int64_t column_blocks = CeilDiv(columns, kWideColumns);
  const Layout left_batch = MatricesOf(left.view.layout);
  const Layout right_batch = MatricesOf(right.view.layout);
  const int64_t count = left_batch.element_count() * row_blocks * column_blocks;
  VisitDataType(Join<Integers32, Integers16>(), left.view.type, [&]<typename T>() {
    ParallelFor(count,
                kParallelElements / (kWideRows * kWideColumns * std::min(kWideDepth, depth)) + 1, 0,
                [&](int64_t begin, int64_t end) {
                  for (int64_t i = begin; i < end; ++i) {
                    const int64_t batch = i / column_blocks / row_blocks;
                    const Dims index = IndexOf(left_batch.sizes, batch);
                    const Lines<T> a = {left.view.elements<T>() + OffsetOf(left_batch, index),
                                        left_batch.strides[row_dim], left_batch.strides[last],
                                        left.zero_points};
                    const Lines<T> b = {right.view.elements<T>() + OffsetOf(right_batch, index),
                                        right_batch.strides[last], right_batch.strides[row_dim],
                                        right.zero_points};
                    const int64_t r = i / column_blocks % row_blocks * kWideRows;
                    const int64_t c = i % column_blocks * kWideColumns;
                    WideBlock<T>(a, b, {r, std::min(r + kWideRows, rows)},
                                 {c, std::min(c + kWideColumns, columns)})
                        .Run(depth, batch, sink);
                  }
                });
  });
}

}  // namespace dmlop
