// SPDX-License-Identifier: Apache-2.0
// Visits elements of tensors in runs, so that the work on a run is a plain loop, and widens them to
// a few types, for counting and summing.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <type_traits>

#include "core/tensor/element.h"
#include "core/tensor/loop_nest.h"
#include "core/tensor/tensor.h"

namespace dmlop {

// Calls body(offsets, count) for the runs that make up the iterations [begin, end) of `nest`, whose
// rank is at least 1; `offsets` has the offset of a run's first element for each operand.
template <size_t kOperands, typename Body>
void ForEachRun(const LoopNest<kOperands>& nest, int64_t begin, int64_t end, Body&& body) {
  const int64_t row_size = nest.sizes.back();
  LoopNest<kOperands> rows = nest;
  rows.sizes.back() = 1;
  Walk<kOperands> row(rows, begin / row_size);
  int64_t first = begin % row_size;
  for (int64_t at = begin; at < end; row.Next(), first = 0) {
    const int64_t count = std::min(row_size - first, end - at);
    std::array<int64_t, kOperands> offsets;
    for (size_t k = 0; k < kOperands; ++k) {
      offsets[k] = row.offset(k) + first * nest.strides[k].back();
    }
    body(offsets, count);
    at += count;
  }
}

// The type of Number that holds a T.
template <typename T>
using Wide = std::conditional_t<!std::is_integral_v<T>, double,
                                std::conditional_t<std::is_signed_v<T>, int64_t, uint64_t>>;

template <typename T>
Wide<T> Widen(T x) {
  if constexpr (std::is_integral_v<T>) {
    return x;
  } else {
    return AsDouble(x);
  }
}

template <typename T>
bool IsFinite(T value) {
  if constexpr (std::is_integral_v<T>) {
    return true;
  } else {
    return std::isfinite(value);
  }
}

// The elements of a view in row-major order.
template <typename T>
class Elements {
 public:
  explicit Elements(const ConstTensorView& view)
      : data_(view.elements<T>()),
        count_(view.layout.element_count()),
        nest_(WithARow(Merged(LoopNest<1>{view.layout.sizes, {view.layout.strides}}))) {}

  int64_t count() const { return count_; }
  int64_t bytes() const { return count_ * static_cast<int64_t>(sizeof(T)); }

  // Calls visit(value) for the elements [begin, end).
  template <typename Visit>
  void ForEach(int64_t begin, int64_t end, Visit&& visit) const {
    const int64_t stride = nest_.strides[0].back();
    ForEachRun(nest_, begin, end, [&](const std::array<int64_t, 1>& offset, int64_t count) {
      for (int64_t i = 0; i < count; ++i) visit(Widen(data_[offset[0] + i * stride]));
    });
  }

 private:
  const T* data_;
  int64_t count_;
  LoopNest<1> nest_;
};

}  // namespace dmlop
