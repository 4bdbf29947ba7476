// SPDX-License-Identifier: Apache-2.0
// The parts that kernels of slices share, for kernel sources.
//
// A slice is processed in blocks, and a sum has a part for each position in a block, whatever the
// vector size. No operation is fused, because not every instruction set has fused ones. So all of
// them compute the same bits.
#if defined(DMLOP_KERNELS_NORMALIZATION_BLOCKS_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef DMLOP_KERNELS_NORMALIZATION_BLOCKS_INL_H_
#undef DMLOP_KERNELS_NORMALIZATION_BLOCKS_INL_H_
#else
#define DMLOP_KERNELS_NORMALIZATION_BLOCKS_INL_H_
#endif

#include <hwy/highway.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "core/kernels/element_wise/narrow-inl.h"
#include "core/kernels/simd/widen-inl.h"

HWY_BEFORE_NAMESPACE();
namespace dmlop::HWY_NAMESPACE {
namespace {

constexpr int64_t kBlock = 16;  // elements
constexpr size_t kBlockVectors = kBlock / hn::MaxLanes(Wide());

// Calls f(i, block) for each block of a row; the last one is padded with `fill`. There is one call,
// because a compiler may not inline a function that is called twice.
template <typename T, class F>
HWY_INLINE void ForBlocks(const T* x, int64_t count, T fill, F&& f) {
  const int64_t last = count - count % kBlock;
  T rest[kBlock];
  if (last < count) {
    std::fill(std::begin(rest), std::end(rest), fill);
    std::copy(x + last, x + count, rest);
  }
  for (int64_t i = 0; i < count; i += kBlock) f(i, i < last ? x + i : rest);
}

// Calls f(i) for each block of a row that has room for the rest of the last one. The compiler keeps
// in registers what a lambda sums up, but not what a loop does that also writes.
template <class F>
HWY_INLINE void ForPaddedBlocks(int64_t count, F&& f) {
  for (int64_t i = 0; i < count; i += kBlock) f(i);
}

// A row that is read by blocks, the last one from a copy.
template <typename T>
class BlockRow {
 public:
  // Not inlined, as kernels have several rows.
  HWY_NOINLINE BlockRow(const T* row, int64_t count) : row_(row) {
    const int64_t rest = count % kBlock;
    last_ = count - rest;
    if (row != nullptr) std::copy_n(row + last_, rest, copy_);
  }
  HWY_INLINE const T* At(int64_t i) const { return i < last_ ? row_ + i : copy_; }

 private:
  const T* row_;
  int64_t last_;
  T copy_[kBlock] = {};
};

// Writes a row by blocks: write(i, block) fills the block that begins at element i. Like ForBlocks,
// it has one call.
template <typename T, class F>
HWY_INLINE void WriteBlocks(int64_t count, T* y, F&& write) {
  const int64_t last = count - count % kBlock;
  T rest[kBlock];
  for (int64_t i = 0; i < count; i += kBlock) write(i, i < last ? y + i : rest);
  std::copy_n(rest, count - last, y + last);
}

// Rounds x once to T and stores it.
template <typename T>
HWY_INLINE void StoreRounded(WideVec x, T* to) {
  const auto bits = RoundedTo(T(), x);
  const hn::DFromV<decltype(bits)> d;
  hn::StoreU(bits, d, reinterpret_cast<hn::TFromD<decltype(d)>*>(to));
}

// A number for each position in a block.
struct BlockSums {
  WideVec parts[kBlockVectors];

  // Sums start at -0, to which anything may be added. GCC would clear zeros by a string
  // instruction, which takes as long as some blocks.
  HWY_INLINE explicit BlockSums(double start) {
    for (WideVec& part : parts) part = hn::Set(Wide(), start);
  }

  // Adds the parts in an order that does not depend on the instruction set.
  HWY_INLINE double Total() const {
    HWY_ALIGN double lanes[hn::MaxLanes(Wide())];
    hn::Store(SumOfEvery<1>(0), Wide(), lanes);
    for (size_t half = hn::Lanes(Wide()) / 2; half > 0; half /= 2) {
      for (size_t k = 0; k < half; ++k) lanes[k] += lanes[k + half];
    }
    return lanes[0];
  }

  // Returns the sum of the parts that are kStep apart.
  template <size_t kStep>
  HWY_INLINE WideVec SumOfEvery(size_t first) const {
    if constexpr (kStep < kBlockVectors) {
      return hn::Add(SumOfEvery<2 * kStep>(first), SumOfEvery<2 * kStep>(first + kStep));
    }
    return parts[first];
  }

  HWY_INLINE void Store(double* lanes) const {
    for (size_t v = 0; v < kBlockVectors; ++v) {
      hn::StoreU(parts[v], Wide(), lanes + v * hn::Lanes(Wide()));
    }
  }
};

}  // namespace
}  // namespace dmlop::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
