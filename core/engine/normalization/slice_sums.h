// SPDX-License-Identifier: Apache-2.0
// Combine what passes find in the chunks of a slice, in the chunks' order.
#pragma once

#include <cmath>
#include <cstddef>
#include <span>

#include "core/engine/normalization/slice_function.h"
#include "core/exact/double_double.h"
#include "core/tensor/element.h"

namespace dmlop {

inline double TotalOf(std::span<const ChunkFindings> findings, size_t number) {
  HeadTail sum{0, 0};
  for (const ChunkFindings& one : findings) {
    const HeadTail next = TwoSum(sum.head, one[number]);
    sum = {next.head, sum.tail + next.tail};
  }
  return std::isfinite(sum.head) ? sum.head + sum.tail : sum.head;
}

// The mean of sums that have a head and, after it, a tail. Infinities and NaN have no tail.
inline HeadTail MeanOf(std::span<const ChunkFindings> findings, size_t number, int64_t length) {
  HeadTail sum{0, 0};
  double plain = 0;
  for (const ChunkFindings& one : findings) {
    plain += one[number];
    sum = sum + HeadTail{one[number], one[number + 1]};
  }
  if (!std::isfinite(plain)) return {plain, 0};
  return sum / static_cast<double>(length);
}

}  // namespace dmlop
