// SPDX-License-Identifier: Apache-2.0
// Accumulators for sums and products of integers.
#pragma once

#include <algorithm>
#include <vector>

#include "core/engine/reduce/vector_accumulators.h"
#include "core/kernels/reduce/integer_fold.h"

namespace dmlop {

template <typename T>
class IntegerAccumulators : public VectorAccumulators<IntegerAccumulators<T>, T> {
 public:
  using Input = T;
  using Output = T;

  static constexpr int64_t kColumns = kNearestBytes / sizeof(T);
  static constexpr int64_t kShortRow = sizeof(T) == 1 ? 64 : 128 / sizeof(T);
  static constexpr int64_t kBlock = kReadAheadBytes / sizeof(T);

  IntegerAccumulators(int64_t capacity, IntegerFold fold)
      : fold_(fold),
        kernels_(IntegerFoldKernelsFor<T>(fold)),
        states_(static_cast<size_t>(capacity)) {}

  void Start(int64_t count) { std::fill_n(states_.begin(), count, static_cast<T>(StartOf(fold_))); }

  void AddNeighbours(int64_t o, const T* x, int64_t count) {
    kernels_.fold_row(x, count, states_.data() + o);
  }

  void AddRows(const T* x, int64_t rows, int64_t row_stride, int64_t columns) {
    kernels_.fold_columns(x, rows, row_stride, columns, states_.data());
  }

  void Merge(int64_t o, const IntegerAccumulators& other, int64_t p, int64_t) {
    T& state = states_[static_cast<size_t>(o)];
    state = MergeFolds(fold_, state, other.states_[static_cast<size_t>(p)]);
  }

  bool FinishGroups(int64_t o, int64_t count, T* results) const {
    std::copy_n(states_.begin() + o, count, results);
    return true;
  }

  bool Finish(int64_t o, int64_t, T& result) const {
    result = states_[static_cast<size_t>(o)];
    return true;
  }

 private:
  IntegerFold fold_;
  IntegerFoldKernels<T> kernels_;
  std::vector<T> states_;
};

}  // namespace dmlop
