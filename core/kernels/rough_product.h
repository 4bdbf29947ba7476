// Products with twice the precision of binary64 and an exponent apart, which know how far off they
// may be.
#pragma once

#include <cstdint>

#include "core/tensor/half.h"

namespace dmlop {

// Products of groups side by side. That of group i is (head[i] + tail[i]) * 2^exponent[i] within a
// relative error of n * kRelativeBound, n the number of elements, and exactly that if tail[i] is 0.
// If an element is zero or not finite, which `least` and `greatest` tell, only the head's sign is
// the product's.
struct RoughProducts {
  // A step multiplies the head by one, two or four elements without error but that of the tail,
  // which is at most 2^-49 of the head and is rounded twice: 2^-101. Before a step ends, what head
  // and tail lose to each other is exact. Merging two products drops the product of their tails,
  // 2^-98.
  static constexpr double kRelativeBound = 0x1p-96;

  // The tail of a product that was rounded, if it would be 0.
  static constexpr double kInexact = 0x1p-120;

  double* head;        // its magnitude is in [1, 2); starts at 1
  double* tail;        // starts at 0
  int64_t* exponent;   // starts at 0
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
