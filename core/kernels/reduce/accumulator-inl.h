// SPDX-License-Identifier: Apache-2.0
// Vectors of sums that keep their rounding errors, for kernel sources.
#if defined(DMLOP_KERNELS_ACCUMULATOR_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef DMLOP_KERNELS_ACCUMULATOR_INL_H_
#undef DMLOP_KERNELS_ACCUMULATOR_INL_H_
#else
#define DMLOP_KERNELS_ACCUMULATOR_INL_H_
#endif

#include <hwy/highway.h>

#include "core/kernels/simd/widen-inl.h"

HWY_BEFORE_NAMESPACE();
namespace dmlop::HWY_NAMESPACE {

// The exact sum of two numbers: the rounded sum, and its rounding error.
template <class D>
struct TwoVectorSum {
  hn::Vec<D> head, tail;
};

// Knuth's TwoSum.
template <class D>
HWY_INLINE TwoVectorSum<D> AddExactly(D, hn::Vec<D> a, hn::Vec<D> b) {
  const auto sum = hn::Add(a, b);
  const auto b_part = hn::Sub(sum, a);
  const auto a_part = hn::Sub(sum, b_part);
  return {sum, hn::Add(hn::Sub(a, a_part), hn::Sub(b, b_part))};
}

// Dekker's FastTwoSum: a must be 0, or not smaller than b in magnitude.
template <class D>
HWY_INLINE TwoVectorSum<D> AddSmaller(D, hn::Vec<D> a, hn::Vec<D> b) {
  const auto sum = hn::Add(a, b);
  return {sum, hn::Sub(b, hn::Sub(sum, a))};
}

// The running state of one vector of groups (or of lanes of one group).
struct Accumulator {
  WideVec head, tail;

  // The part that head cannot hold goes to tail.
  HWY_INLINE void Add(WideVec value) {
    const TwoVectorSum<Wide> sum = AddExactly(Wide(), head, value);
    head = sum.head;
    tail = hn::Add(tail, sum.tail);
  }
};

// Adds a vector to the heads and tails of as many groups.
HWY_INLINE void AddToGroups(WideVec value, double* head, double* tail) {
  const Wide d;
  Accumulator accumulator{hn::LoadU(d, head), hn::LoadU(d, tail)};
  accumulator.Add(value);
  hn::StoreU(accumulator.head, d, head);
  hn::StoreU(accumulator.tail, d, tail);
}

}  // namespace dmlop::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
