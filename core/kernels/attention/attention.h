// Attention of a few queries to many keys, in binary64: what each query makes of each key, what the
// keys weigh, and the weighted sums of values. Each number comes about by the same operations in
// the same order on every machine, and no multiplication is fused with an addition unless it is
// exact.
#pragma once

#include <cstdint>

namespace dmlop {

// Queries lie side by side, and so do the components of values; there is a multiple of so many of
// both.
inline constexpr int64_t kAttentionStep = 8;

// Terms are added up in blocks of so many keys, and then the blocks.
inline constexpr int64_t kAttentionKeys = 256;

struct AttentionKernels {
  // scores[j][i] = scale * the sum of keys[j][e] * queries[e][i] over e, in their order. `queries`
  // has a row for each of `size` components. Elements are numbers of FLOAT32.
  void (*score)(const double* queries, int64_t count, const double* keys, int64_t rows,
                int64_t size, double scale, double* scores);

  // maxima[i]: the greatest scores[j][i], or NaN if one is.
  void (*find_maxima)(const double* scores, int64_t rows, int64_t count, double* maxima);

  // Makes scores[j][i] e^(scores[j][i] - maxima[i]), within 2^-48 of it, or 0 below e^-708, and
  // sums[i] their sum.
  void (*weigh)(double* scores, int64_t rows, int64_t count, const double* maxima, double* sums);

  // Adds to sums[i][k] the sum of weights[j][i] * values[j][k] over at most kAttentionKeys rows.
  // What weighs 0 counts for nothing.
  void (*add_values)(const double* weights, int64_t count, const double* values, int64_t rows,
                     int64_t size, double* sums);
};

AttentionKernels AttentionKernelsFor();

}  // namespace dmlop
