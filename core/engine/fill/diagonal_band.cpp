// SPDX-License-Identifier: Apache-2.0
#include "core/engine/fill/diagonal_band.h"

#include <algorithm>

#include "core/base/memory.h"
#include "core/base/parallel.h"
#include "core/tensor/visit_data_type.h"

namespace dmlop {
namespace {

// Fills columns [begin, end) of a row.
template <typename T>
void FillRow(T* row, int64_t begin, int64_t end, int64_t stride, T value) {
  if (begin >= end) return;
  if (stride == 1) {
    std::fill(row + begin, row + end, value);
    return;
  }
  for (int64_t column = begin; column < end; ++column) row[column * stride] = value;
}

// A part whose first element is at `row` and `column` of its matrix.
struct BandedPart {
  const DiagonalBand& band;
  int64_t row, column;
  const TensorView& part;
  Layout rows;  // all dimensions but the columns

  template <typename T>
  void FillRows(int64_t first, int64_t last) const {
    const T value = ElementOf<T>(band.value);
    const int64_t columns = part.layout.sizes[rows.rank()];
    const int64_t stride = part.layout.strides[rows.rank()];
    for (int64_t r = first; r < last; ++r) {
      const Dims index = IndexOf(rows.sizes, r);
      T* const elements = part.elements<T>() + OffsetOf(rows, index);
      const int64_t shift = row + index.back() - column;  // turns diagonals into columns
      const int64_t begin = std::clamp<int64_t>(band.begin + shift, 0, columns);
      const int64_t end = std::clamp<int64_t>(band.end + shift, 0, columns);
      FillRow(elements, band.is_outside ? 0 : begin, band.is_outside ? begin : end, stride, value);
      if (band.is_outside) FillRow(elements, end, columns, stride, value);
    }
  }
};

}  // namespace

void FillBand(const DiagonalBand& band, int64_t row, int64_t column, const TensorView& part) {
  BandedPart banded{band, row, column, part, part.layout};
  banded.rows.sizes.pop_back();
  banded.rows.strides.pop_back();
  const int64_t count = banded.rows.element_count();
  const int64_t row_bytes = part.element_bytes() / count;
  VisitElementWidth(part.type, [&]<typename T>() {
    ParallelFor(count, kParallelBytes / row_bytes + 1, count * row_bytes,
                [&](int64_t first, int64_t last) { banded.FillRows<T>(first, last); });
  });
}

}  // namespace dmlop
