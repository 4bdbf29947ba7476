// SPDX-License-Identifier: Apache-2.0
// Splits a nest of loops into runs of its innermost loop, so that the work on a run is a plain
// loop.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>

#include "core/tensor/loop_nest.h"

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

}  // namespace dmlop
