// Tiles of ReduceLoop for MIN, MAX, ARGMIN and ARGMAX.
#pragma once

#include <limits>
#include <vector>

#include "core/kernels/extreme.h"
#include "core/kernels/sum_endings.h"
#include "core/ops/vector_tile.h"

namespace dmlop {

template <typename T, Extreme kExtreme>
class ExtremeTile : public VectorTile<ExtremeTile<T, kExtreme>, T> {
 public:
  using Input = T;
  using Output = T;

  static constexpr int64_t kColumns = (1 << 14) / sizeof(T);
  static constexpr int64_t kShortRow = sizeof(T) == 1 ? 64 : 128 / sizeof(T);
  static constexpr int64_t kBlock = kBytesOfBlock / sizeof(T);

  explicit ExtremeTile(int64_t capacity) : keys_(static_cast<size_t>(capacity)) {
    const ExtremeKernels<T> kernels = ExtremeKernelsFor<T>();
    kernels_ = kExtreme == Extreme::kMax ? kernels.max : kernels.min;
  }

  void Start(int64_t count) {
    std::fill_n(keys_.begin(), count, Order::kWorst);
  }

  void AddNeighbours(int64_t o, const T* x, int64_t count) {
    Take(o, kernels_.best_of_row(x, count));
  }

  void AddRows(const T* x, int64_t rows, int64_t row_stride, int64_t columns) {
    kernels_.best_of_columns(x, rows, row_stride, columns, keys_.data());
  }

  void Merge(int64_t o, const ExtremeTile& other, int64_t p, int64_t) {
    Take(o, other.keys_[static_cast<size_t>(p)]);
  }

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
class ExtremeIndexTile : public VectorTile<ExtremeIndexTile<T, kExtreme, Index>, T> {
 public:
  using Input = T;
  using Output = Index;

  static constexpr int64_t kColumns = (1 << 14) / sizeof(T);
  static constexpr int64_t kShortRow = sizeof(T) == 1 ? 64 : 128 / sizeof(T);
  static constexpr int64_t kBlock = kBytesOfBlock / sizeof(T);

  explicit ExtremeIndexTile(int64_t capacity)
      : keys_(static_cast<size_t>(capacity)),
        numbers_(static_cast<size_t>(capacity)),
        keys_of_rows_(static_cast<size_t>(capacity)),
        rows_(static_cast<size_t>(capacity)) {
    const ExtremeKernels<T> kernels = ExtremeKernelsFor<T>();
    kernels_ = kExtreme == Extreme::kMax ? kernels.index_of_max : kernels.index_of_min;
  }

  void Start(int64_t count) {
    std::fill_n(keys_.begin(), count, Order::kWorst);
    std::fill_n(numbers_.begin(), count, kNone);
  }

  // Finds the best key a piece at a time, and its place only in pieces that improve on the others.
  void AddPackedRow(int64_t o, const ElementRun<T>& run) {
    constexpr int64_t kPiece = 32768 / sizeof(T);
    ForEachPiece(run, kPiece, [&](const ElementRun<T>& piece) {
      const Key key = kernels_.best_of_row(piece.first, piece.count);
      if (!Improves(o, key, piece.number)) return;
      const int64_t i = kernels_.first_in_row(piece.first, piece.count, key);
      Take(o, key, piece.number + i * piece.number_step);
    });
  }

  void AddPackedRows(int64_t columns, const ElementRun<T>& run) {
    ForEachPiece(run, IndexKernels<T>::kMaxRows,
                 [&](const ElementRun<T>& piece) { AddRowsToColumns(columns, piece); });
  }

  void Merge(int64_t o, const ExtremeIndexTile& other, int64_t p, int64_t number) {
    const size_t i = static_cast<size_t>(p);
    if (other.numbers_[i] != kNone) Take(o, other.keys_[i], number + other.numbers_[i]);
  }

  bool Finish(int64_t o, int64_t, Index& result) const {
    const int64_t number = numbers_[static_cast<size_t>(o)];
    result = number == kNone ? Index{0} : static_cast<Index>(number);
    return true;
  }

 private:
  using Order = KeyOrder<T, kExtreme>;
  using Key = typename Order::Key;

  static constexpr int64_t kNone = std::numeric_limits<int64_t>::max();

  bool Improves(int64_t o, Key key, int64_t number) const {
    const size_t i = static_cast<size_t>(o);
    // A float's worst key is that of NaN, which is never taken.
    if (!std::is_integral_v<T> && key == Order::kWorst) return false;
    return Order::Beats(key, keys_[i]) || (key == keys_[i] && number < numbers_[i]);
  }

  void Take(int64_t o, Key key, int64_t number) {
    if (!Improves(o, key, number)) return;
    keys_[static_cast<size_t>(o)] = key;
    numbers_[static_cast<size_t>(o)] = number;
  }

  void AddRowsToColumns(int64_t columns, const ElementRun<T>& run) {
    std::fill_n(keys_of_rows_.begin(), columns, Order::kWorst);
    // Integers may have the worst key from the first row on, which then improves nothing.
    std::fill_n(rows_.begin(), columns, Key{0});
    kernels_.index_of_columns(run.first, run.count, run.stride, columns, keys_of_rows_.data(),
                              rows_.data());
    for (int64_t o = 0; o < columns; ++o) {
      const size_t i = static_cast<size_t>(o);
      Take(o, keys_of_rows_[i], run.number + static_cast<int64_t>(rows_[i]) * run.number_step);
    }
  }

  IndexKernels<T> kernels_;
  std::vector<Key> keys_;
  std::vector<int64_t> numbers_;
  std::vector<Key> keys_of_rows_;  // of the rows that AddRowsToColumns looks at
  std::vector<Key> rows_;
};

}  // namespace dmlop
