// Tiles of ReduceLoop for MIN, MAX, ARGMIN and ARGMAX.
#pragma once

#include <limits>
#include <vector>

#include "core/kernels/extreme.h"
#include "core/kernels/sum_endings.h"
#include "core/ops/reduce_loop.h"

namespace dmlop {

template <typename T, Extreme kExtreme>
class ExtremeTile {
 public:
  using Input = T;
  using Output = T;

  static constexpr int64_t kColumns = 4096 / sizeof(T);

  explicit ExtremeTile(int64_t capacity) : keys_(static_cast<size_t>(capacity)) {
    const ExtremeKernels<T> kernels = ExtremeKernelsFor<T>();
    kernels_ = kExtreme == Extreme::kMax ? kernels.max : kernels.min;
  }

  void Start(int64_t count, const double*, int64_t) {
    std::fill_n(keys_.begin(), count, Order::kWorst);
  }

  void AddRow(int64_t o, const ElementRun<T>& run) {
    if (run.stride == 1) return Take(o, kernels_.best_of_row(run.first, run.count));
    for (int64_t i = 0; i < run.count; ++i) Take(o, Order::ToKey(run.first[i * run.stride]));
  }

  void AddColumns(const ColumnRun& columns, const ElementRun<T>& run) {
    if (columns.stride == 1) {
      return kernels_.best_of_columns(run.first, run.count, run.stride, columns.count,
                                      keys_.data());
    }
    for (int64_t i = 0; i < run.count; ++i) {
      const T* x = run.first + i * run.stride;
      for (int64_t o = 0; o < columns.count; ++o) Take(o, Order::ToKey(x[o * columns.stride]));
    }
  }

  void Merge(int64_t o, const ExtremeTile& other) { Take(o, other.keys_[static_cast<size_t>(o)]); }

  bool Finish(int64_t o, int64_t, T& result) const {
    const Key key = keys_[static_cast<size_t>(o)];
    if constexpr (!std::is_integral_v<T>) {
      if (key == Order::kWorst) {  // nothing but NaN
        result = reduce::CanonicalNan<T>();
        return true;
      }
    }
    result = Order::FromKey(key);
    return true;
  }

 private:
  using Order = KeyOrder<T, kExtreme>;
  using Key = typename Order::Key;

  void Take(int64_t o, Key key) {
    Key& best = keys_[static_cast<size_t>(o)];
    if (Order::Beats(key, best)) best = key;
  }

  ValueKernels<T> kernels_;
  std::vector<Key> keys_;
};

// The lowest number of the best element; 0 where there is nothing but NaN.
template <typename T, Extreme kExtreme, typename Index>
class ExtremeIndexTile {
 public:
  using Input = T;
  using Output = Index;

  static constexpr int64_t kColumns = 1024;

  explicit ExtremeIndexTile(int64_t capacity)
      : best_(static_cast<size_t>(capacity)),
        keys_(static_cast<size_t>(capacity)),
        rows_(static_cast<size_t>(capacity)) {
    const ExtremeKernels<T> kernels = ExtremeKernelsFor<T>();
    kernels_ = kExtreme == Extreme::kMax ? kernels.index_of_max : kernels.index_of_min;
  }

  void Start(int64_t count, const double*, int64_t) { std::fill_n(best_.begin(), count, Best()); }

  // Finds the best key a piece at a time, and its place only in pieces that improve on the others.
  void AddRow(int64_t o, const ElementRun<T>& run) {
    constexpr int64_t kPiece = 2048;
    for (int64_t begin = 0; begin < run.count; begin += kPiece) {
      AddPiece(o, {run.first + begin * run.stride, std::min(kPiece, run.count - begin), run.stride,
                   run.number + begin * run.number_step, run.number_step});
    }
  }

  void AddColumns(const ColumnRun& columns, const ElementRun<T>& run) {
    if (columns.stride != 1) {
      for (int64_t o = 0; o < columns.count; ++o) {
        ElementRun<T> column = run;
        column.first += o * columns.stride;
        AddRow(o, column);
      }
      return;
    }
    for (int64_t row = 0; row < run.count; row += IndexKernels<T>::kMaxRows) {
      AddRowsToColumns(
          columns.count,
          {run.first + row * run.stride, std::min(IndexKernels<T>::kMaxRows, run.count - row),
           run.stride, run.number + row * run.number_step, run.number_step});
    }
  }

  void Merge(int64_t o, const ExtremeIndexTile& other) {
    const Best& best = other.best_[static_cast<size_t>(o)];
    Take(o, best.key, best.number);
  }

  bool Finish(int64_t o, int64_t, Index& result) const {
    const int64_t number = best_[static_cast<size_t>(o)].number;
    result = number == kNone ? Index{0} : static_cast<Index>(number);
    return true;
  }

 private:
  using Order = KeyOrder<T, kExtreme>;
  using Key = typename Order::Key;

  static constexpr int64_t kNone = std::numeric_limits<int64_t>::max();

  struct Best {
    Key key = Order::kWorst;
    int64_t number = kNone;
  };

  // A float's worst key is that of NaN, which is never taken.
  static bool IsNothing(Key key) { return !std::is_integral_v<T> && key == Order::kWorst; }

  void Take(int64_t o, Key key, int64_t number) {
    Best& best = best_[static_cast<size_t>(o)];
    if (IsNothing(key)) return;
    if (Order::Beats(key, best.key) || (key == best.key && number < best.number)) {
      best = {key, number};
    }
  }

  void AddPiece(int64_t o, const ElementRun<T>& run) {
    const Key key = BestOf(run);
    const Best& best = best_[static_cast<size_t>(o)];
    const bool improves =
        Order::Beats(key, best.key) || (key == best.key && run.number < best.number);
    if (!improves || IsNothing(key)) return;
    int64_t i = 0;
    while (Order::ToIndexKey(run.first[i * run.stride]) != key) ++i;
    Take(o, key, run.number + i * run.number_step);
  }

  Key BestOf(const ElementRun<T>& run) const {
    if (run.stride == 1) return kernels_.best_of_row(run.first, run.count);
    Key best = Order::kWorst;
    for (int64_t i = 0; i < run.count; ++i) {
      const Key key = Order::ToIndexKey(run.first[i * run.stride]);
      if (Order::Beats(key, best)) best = key;
    }
    return best;
  }

  void AddRowsToColumns(int64_t columns, const ElementRun<T>& run) {
    constexpr Key kNoRow = static_cast<Key>(IndexKernels<T>::kMaxRows);
    for (int64_t o = 0; o < columns; ++o) keys_[static_cast<size_t>(o)] = Order::kWorst;
    std::fill_n(rows_.begin(), columns, kNoRow);
    kernels_.index_of_columns(run.first, run.count, run.stride, columns, keys_.data(),
                              rows_.data());
    for (int64_t o = 0; o < columns; ++o) {
      const Key row = rows_[static_cast<size_t>(o)];
      // Integers may have the worst key from the first row on, which then has improved nothing.
      const int64_t number = run.number + (row == kNoRow ? 0 : row) * run.number_step;
      Take(o, keys_[static_cast<size_t>(o)], number);
    }
  }

  IndexKernels<T> kernels_;
  std::vector<Best> best_;
  std::vector<Key> keys_;  // of the rows that AddRowsToColumns looks at
  std::vector<Key> rows_;
};

}  // namespace dmlop
