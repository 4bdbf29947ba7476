// Products with twice the precision of binary64 and an exponent apart, which know how far off they
// may be.
#pragma once

#include <cstdint>

#include "core/tensor/half.h"

namespace dmlop {

// Products of groups side by side. The magnitude of group i's product is
// (head[i] + tail[i]) * 2^exponent[i] within kRelativeBound, unless an element is zero or not
// finite, which `least` and `greatest` tell.
struct RoughProducts {
  // A multiplication adds at most 2^-98; this has room for 2^32 of them.
  static constexpr double kRelativeBound = 0x1p-60;

  double* head;        // in [1, 2); starts at 1
  double* tail;        // starts at 0
  int64_t* exponent;   // starts at 0
  uint64_t* sign;      // the top bit is the product's sign; starts at 0
  uint32_t* least;     // bits of the smallest |x| as binary32; starts at the largest number
  uint32_t* greatest;  // bits of the largest |x|; starts at 0
};

template <typename T>
struct RoughProductKernels {
  // Multiplies the one group of `products` by `count` neighbours in memory.
  void (*multiply_row)(const T* x, int64_t count, const RoughProducts& products);

  // Multiplies by `rows` rows, `row_stride` elements apart, of `columns` neighbours: each group by
  // one of them.
  void (*multiply_columns)(const T* x, int64_t rows, int64_t row_stride, int64_t columns,
                           const RoughProducts& products);
};

// T is float or Half.
template <typename T>
RoughProductKernels<T> RoughProductKernelsFor();

// Multiplies the one group of `products` by the group of `other`.
void MultiplyGroup(const RoughProducts& products, const RoughProducts& other);

}  // namespace dmlop
