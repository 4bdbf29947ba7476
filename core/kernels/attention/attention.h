// SPDX-License-Identifier: Apache-2.0
// Attention of a few queries to many keys, in binary64: scores of queries and keys, weights, and
// weighted sums of values. Every machine computes each number by the same operations in the same
// order, and no multiplication is fused with an addition unless its product is exact.
#pragma once

#include <cstdint>

namespace dmlop {

// Queries and components of values are adjacent, and the count of each is a multiple of this.
inline constexpr int64_t kAttentionStep = 8;

// Terms are added up in blocks of this many keys, and then the blocks are added up.
inline constexpr int64_t kAttentionKeys = 256;

struct AttentionKernels {
  // scores[j][i] = scale * the sum over e, in order, of keys[j][e] * queries[e][i]. `queries` has
  // one row for each of `size` components. All elements are FLOAT32 numbers.
  void (*score)(const double* queries, int64_t count, const double* keys, int64_t rows,
                int64_t size, double scale, double* scores);

  // maxima[i] is the greatest scores[j][i], or NaN if any of them is NaN.
  void (*find_maxima)(const double* scores, int64_t rows, int64_t count, double* maxima);

  // Replaces scores[j][i] by e^(scores[j][i] - maxima[i]), within 2^-48 of it, or by 0 below
  // e^-708. Their sum goes to sums[i].
  void (*weigh)(double* scores, int64_t rows, int64_t count, const double* maxima, double* sums);

  // Adds the sum of weights[j][i] * values[j][k] over at most kAttentionKeys rows to sums[i][k]. A
  // weight of 0 excludes its value, even if that is not finite.
  void (*add_values)(const double* weights, int64_t count, const double* values, int64_t rows,
                     int64_t size, double* sums);
};

AttentionKernels AttentionKernelsFor();

}  // namespace dmlop
