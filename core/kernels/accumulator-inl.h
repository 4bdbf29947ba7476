// Vectors of sums that keep their rounding errors, for kernel sources: included once for each
// instruction set, hence the unusual guard.
#if defined(DMLOP_KERNELS_ACCUMULATOR_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef DMLOP_KERNELS_ACCUMULATOR_INL_H_
#undef DMLOP_KERNELS_ACCUMULATOR_INL_H_
#else
#define DMLOP_KERNELS_ACCUMULATOR_INL_H_
#endif

#include <hwy/highway.h>

#include "core/kernels/columns-inl.h"
#include "core/kernels/rough_sum.h"
#include "core/kernels/sum_terms-inl.h"
#include "core/kernels/widen-inl.h"

HWY_BEFORE_NAMESPACE();
namespace dmlop::HWY_NAMESPACE {

// The running state of one vector of groups (or of lanes of one group).
struct Accumulator {
  WideVec head, tail;

  // Knuth's TwoSum: what head cannot hold goes to tail.
  HWY_INLINE void Add(WideVec value) {
    const WideVec sum = hn::Add(head, value);
    const WideVec value_part = hn::Sub(sum, head);
    const WideVec head_part = hn::Sub(sum, value_part);
    tail = hn::Add(tail, hn::Add(hn::Sub(head, head_part), hn::Sub(value, value_part)));
    head = sum;
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

// The terms of a vector of columns, or of two, added up. Rounds three times where there are eight
// rows, and less often than the rows of a block are added up otherwise.
template <class Vectors, BlockPart kPart, typename T>
HWY_INLINE typename Vectors::Sum SumOf(const T* x, int64_t rows, int64_t stride) {
  if (kPart != BlockPart::kWhole || rows == kFewRows) return SumOfEight<Vectors>(x, stride);
  auto sum = Vectors::Term(x);
  for (int64_t row = 1; row < rows; ++row) {
    sum = Vectors::Add(sum, Vectors::Term(x + row * stride));
  }
  return sum;
}

// What the rows of a block add up to gathers in `block` until its last part is there.
template <BlockPart kPart>
HWY_INLINE void AddVector(WideVec sum, double* head, double* tail, double* block) {
  const Wide d;
  if constexpr (!Begins(kPart)) sum = hn::Add(hn::LoadU(d, block), sum);
  if constexpr (Ends(kPart)) {
    AddToGroups(sum, head, tail);
  } else {
    hn::StoreU(sum, d, block);
  }
}

}  // namespace dmlop::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
