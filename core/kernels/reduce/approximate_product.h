// SPDX-License-Identifier: Apache-2.0
// Products in binary64 with a separate exponent and a known error bound.
#pragma once

#include <bit>
#include <cmath>
#include <cstdint>

#include "core/exact/double_double.h"
#include "core/tensor/half.h"

namespace dmlop {

// Products of adjacent groups. That of group i is (head[i] + tail[i]) * 2^exponent[i] within a
// relative error of n * RelativeBound, where n is the number of elements; the tail is 0 unless
// rounding errors are tracked. If a product is zero, infinite or NaN, so is its head, and nothing
// else is defined.
struct ApproximateProducts {
  // Untracked, each of n - 1 multiplications rounds once, by 2^-53.
  //
  // Tracked, that rounding error goes into the tail. After k steps the tail is k * 2^-53, and each
  // step rounds it twice: k^2 * 2^-105 in all, where k is at most 2^15, as at most 2^16 elements
  // may come between two calls of MultiplyGroup. Products of tails, which are dropped, are half of
  // that. MultiplyGroup brings the tail back to 2^-53 and loses another 2^-89.
  static constexpr double RelativeBound(bool tracked) { return tracked ? 0x1p-88 : 0x1p-53; }

  // Replaces the tail of a tracked product that was rounded, if the tail would be 0.
  static constexpr double kInexact = 0x1p-120;

  // Whole vectors on every instruction set.
  static constexpr int64_t kLanes = 16;

  ApproximateProducts From(int64_t i) const { return {head + i, tail + i, exponent + i}; }

  double* head;       // its magnitude is in [1, 16); starts at 1
  double* tail;       // starts at 0
  int64_t* exponent;  // starts at 0
};

template <typename T>
struct ApproximateProductKernels {
  // Multiplies the one group of `products` by `count` adjacent elements.
  void (*multiply_row)(const T* x, int64_t count, const ApproximateProducts& products);

  // Multiplies by `rows` rows, `row_stride` elements apart, of `columns` adjacent elements, one for
  // each group. If `columns` is a multiple of kLanes, finite tracked products other than zero have
  // the same bits on every instruction set.
  void (*multiply_columns)(const T* x, int64_t rows, int64_t row_stride, int64_t columns,
                           const ApproximateProducts& products);

  // Multiplies the first of `count` groups by the others; `count` is a power of two, at most
  // kLanes, and there must be room for kLanes groups, the first half of which is overwritten. Takes
  // tracked products, whose bits are the same on every instruction set.
  void (*merge_lanes)(const ApproximateProducts& products, int64_t count);
};

// T is float or Half. `tracked` is meant for groups so long that too few roundings would be
// certain.
template <typename T>
ApproximateProductKernels<T> ApproximateProductKernelsFor(bool tracked);

// Multiplies the one group of `products` by the group of `other`. Inline, because vector code would
// stall at the call of a function compiled without vectors.
[[gnu::always_inline]] inline void MultiplyGroup(const ApproximateProducts& products,
                                                 const ApproximateProducts& other, bool tracked) {
  double head = *products.head * *other.head;
  double tail = 0;
  if (tracked && std::isfinite(head) && head != 0) {
    const double error = std::fma(*products.head, *other.head, -head);
    const double cross = *products.head * *other.tail + *products.tail * *other.head;
    const bool exact = error == 0 && *products.tail == 0 && *other.tail == 0;
    const HeadTail product = FastTwoSum(head, error + cross);
    head = product.head;
    tail = !exact && product.tail == 0 ? ApproximateProducts::kInexact : product.tail;
  }
  // Takes out 2^(f - 1023), where f is the head's exponent field without the last two bits.
  const uint64_t field = std::bit_cast<uint64_t>(head) & uint64_t{0x7FC} << 52;
  const double scale = std::bit_cast<double>((uint64_t{2046} << 52) - field);
  *products.head = head * scale;
  *products.tail = tail * scale;
  *products.exponent += *other.exponent + static_cast<int64_t>(field >> 52) - 1023;
}

}  // namespace dmlop
