// SPDX-License-Identifier: Apache-2.0
// Loops over several operands at once: common sizes, and strides for each operand. Everything that
// walks tensors first simplifies a nest, and then walks what is left.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <utility>

#include "core/tensor/layout.h"

namespace dmlop {

template <size_t kOperands>
struct LoopNest {
  Dims sizes;
  std::array<Dims, kOperands> strides;

  size_t rank() const { return sizes.size(); }

  void Push(int64_t size, const std::array<int64_t, kOperands>& step) {
    sizes.push_back(size);
    for (size_t k = 0; k < kOperands; ++k) strides[k].push_back(step[k]);
  }
  std::array<int64_t, kOperands> Step(size_t d) const {
    std::array<int64_t, kOperands> step;
    for (size_t k = 0; k < kOperands; ++k) step[k] = strides[k][d];
    return step;
  }
};

// Drops loops of one iteration, and fuses adjacent loops that every operand walks as one.
template <size_t kOperands>
LoopNest<kOperands> Merged(const LoopNest<kOperands>& nest) {
  LoopNest<kOperands> merged;
  for (size_t d = 0; d < nest.rank(); ++d) {
    if (nest.sizes[d] == 1) continue;
    bool fuses = merged.rank() > 0;
    for (size_t k = 0; k < kOperands && fuses; ++k) {
      fuses = merged.strides[k].back() == nest.strides[k][d] * nest.sizes[d];
    }
    if (!fuses) {
      merged.Push(nest.sizes[d], nest.Step(d));
      continue;
    }
    merged.sizes.back() *= nest.sizes[d];
    for (size_t k = 0; k < kOperands; ++k) merged.strides[k].back() = nest.strides[k][d];
  }
  return merged;
}

// Gives a nest of rank 0, which has one iteration, a loop of size 1.
template <size_t kOperands>
LoopNest<kOperands> WithARow(LoopNest<kOperands> nest) {
  if (nest.rank() == 0) nest.Push(1, {});
  return nest;
}

// Sorts the loops by descending key(d); equal ones keep their order.
template <size_t kOperands, typename Key>
LoopNest<kOperands> SortedBy(const LoopNest<kOperands>& nest, Key&& key) {
  std::array<size_t, Dims::kMaxCount> order;
  for (size_t d = 0; d < nest.rank(); ++d) {
    order[d] = d;
    for (size_t i = d; i > 0 && key(order[i - 1]) < key(order[i]); --i) {
      std::swap(order[i - 1], order[i]);
    }
  }
  LoopNest<kOperands> sorted;
  for (size_t i = 0; i < nest.rank(); ++i) sorted.Push(nest.sizes[order[i]], nest.Step(order[i]));
  return sorted;
}

// Sorts the loops so that the strides of operand `k` descend.
template <size_t kOperands>
LoopNest<kOperands> SortedByStride(const LoopNest<kOperands>& nest, size_t k) {
  return SortedBy(nest, [&](size_t d) { return nest.strides[k][d]; });
}

// Removes loop `d` from the nest.
template <size_t kOperands>
LoopNest<kOperands> Without(const LoopNest<kOperands>& nest, size_t d) {
  LoopNest<kOperands> rest;
  for (size_t i = 0; i < nest.rank(); ++i) {
    if (i != d) rest.Push(nest.sizes[i], nest.Step(i));
  }
  return rest;
}

// A position in a nest, which starts anywhere and steps in row-major order. It keeps each operand's
// offset in elements, so that a step costs only additions.
template <size_t kOperands>
class Walk {
 public:
  Walk(const LoopNest<kOperands>& nest, int64_t start)
      : nest_(nest), index_(IndexOf(nest.sizes, start)) {
    for (size_t k = 0; k < kOperands; ++k) {
      for (size_t d = 0; d < nest.rank(); ++d) offsets_[k] += index_[d] * nest.strides[k][d];
    }
  }

  int64_t offset(size_t k) const { return offsets_[k]; }
  const std::array<int64_t, kOperands>& offsets() const { return offsets_; }

  void Next() {
    for (size_t d = nest_.rank(); d-- > 0;) {
      const bool wraps = ++index_[d] == nest_.sizes[d];
      const int64_t steps = wraps ? 1 - nest_.sizes[d] : 1;
      for (size_t k = 0; k < kOperands; ++k) offsets_[k] += steps * nest_.strides[k][d];
      if (!wraps) return;
      index_[d] = 0;
    }
  }

 private:
  const LoopNest<kOperands>& nest_;
  Dims index_;
  std::array<int64_t, kOperands> offsets_{};
};

// --- windows of offsets --------------------------------------------------------------------------

// Visits the elements whose offsets lie in a window, for algorithms that would need too much memory
// for all at once.

template <size_t kOperands>
class OffsetWindow {
 public:
  using Offsets = std::array<int64_t, kOperands>;

  // The strides of operand 0 must not be negative.
  explicit OffsetWindow(const LoopNest<kOperands>& nest)
      : nest_(SortedByStride(nest, 0)), spans_(Dims::Filled(nest.rank(), 0)) {
    for (size_t d = nest_.rank(); d-- > 0;) {
      spans_[d] = extent_ - 1;
      extent_ += (nest_.sizes[d] - 1) * nest_.strides[0][d];
    }
  }

  // Returns the number of offsets from the first to the last one of operand 0.
  int64_t extent() const { return extent_; }

  // Calls visit(offsets) for each index whose offset of operand 0 lies in [begin, end), until it
  // returns true; Visit then returns true as well.
  template <typename Visitor>
  bool Visit(int64_t begin, int64_t end, Visitor&& visit) const {
    return Go(0, {}, begin, end, visit);
  }

 private:
  template <typename Visitor>
  bool Go(size_t d, Offsets offsets, int64_t begin, int64_t end, Visitor& visit) const {
    if (d == nest_.rank()) return visit(offsets);
    const Offsets step = nest_.Step(d);
    const int64_t missing = begin - offsets[0] - spans_[d];
    int64_t first = 0;
    int64_t last = nest_.sizes[d] - 1;
    if (step[0] > 0) {
      if (missing > 0) first = (missing + step[0] - 1) / step[0];
      last = std::min(last, (end - 1 - offsets[0]) / step[0]);
    } else if (missing > 0) {
      return false;
    }
    for (size_t k = 0; k < kOperands; ++k) offsets[k] += first * step[k];
    for (int64_t i = first; i <= last; ++i) {
      if (Go(d + 1, offsets, begin, end, visit)) return true;
      for (size_t k = 0; k < kOperands; ++k) offsets[k] += step[k];
    }
    return false;
  }

  LoopNest<kOperands> nest_;  // strides of operand 0 descend
  Dims spans_;                // reach of the loops inside of each one, in operand 0
  int64_t extent_ = 1;
};

}  // namespace dmlop
