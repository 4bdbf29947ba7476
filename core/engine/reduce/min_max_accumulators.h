// SPDX-License-Identifier: Apache-2.0
// Accumulators for MIN, MAX, ARGMIN and ARGMAX.
#pragma once

#include <algorithm>
#include <limits>
#include <vector>

#include "core/engine/reduce/vector_accumulators.h"
#include "core/kernels/reduce/min_max.h"
#include "core/kernels/reduce/sum_finalizers.h"

namespace dmlop {

// Lengths of rows that are quicker side by side than as columns or one by one.
inline constexpr int64_t kMinShortRowBytes = 64;
inline constexpr int64_t kMaxShortRowBytes = 1 << 9;

// T is a type of the kernels; the bits of `flipped` are flipped in each element.
template <typename T>
class MinMaxAccumulators : public VectorAccumulators<MinMaxAccumulators<T>, T> {
 public:
  using Input = T;
  using Output = T;

  static constexpr int64_t kColumns = kNearestBytes / sizeof(T);
  static constexpr int64_t kMinShortRow = kMinShortRowBytes / sizeof(T);
  static constexpr int64_t kShortRow = kMaxShortRowBytes / sizeof(T);
  static constexpr int64_t kBlock = kReadAheadBytes / sizeof(T);

  MinMaxAccumulators(int64_t capacity, KeyOf<T> flipped)
      : flipped_(flipped), keys_(static_cast<size_t>(capacity)) {}

  void Start(int64_t count) { std::fill_n(keys_.begin(), count, Order::kLeast); }

  void AddShortRows(int64_t o, int64_t rows, int64_t pitch, const ElementRun<T>& run) {
    kernels_.best_of_rows(run.first, run.count, pitch, rows, flipped_, keys_.data() + o);
  }

  void AddNeighbours(int64_t o, const T* x, int64_t count) {
    Take(o, kernels_.best_of_row(x, count, flipped_));
  }

  void AddRows(const T* x, int64_t rows, int64_t row_stride, int64_t columns) {
    kernels_.best_of_columns(x, rows, row_stride, columns, flipped_, keys_.data());
  }

  void Merge(int64_t o, const MinMaxAccumulators& other, int64_t p, int64_t) {
    Take(o, other.keys_[static_cast<size_t>(p)]);
  }

  bool Finish(int64_t o, int64_t, T& result) const {
    const Key key = keys_[static_cast<size_t>(o)];
    if constexpr (!std::is_integral_v<T>) {
      if (key == Order::kLeast) {  // all elements are NaN
        result = reduce::CanonicalNan<T>();
        return true;
      }
    }
    result = Order::FromKey(key, flipped_);
    return true;
  }

 private:
  using Order = KeyOrder<T>;
  using Key = typename Order::Key;

  void Take(int64_t o, Key key) {
    Key& best = keys_[static_cast<size_t>(o)];
    best = std::max(key, best);
  }

  MinMaxKernels<T> kernels_ = MinMaxKernelsFor<T>();
  Key flipped_;
  std::vector<Key> keys_;
};

// The number of the best element, the lowest or, if `takes_last`, the greatest. If all elements are
// NaN, it is that of the first or the last element. Indices have 32 or 64 bits; they are not
// negative, so signed and unsigned ones have the same bits.
template <typename T>
class MinMaxIndexAccumulators : public VectorAccumulators<MinMaxIndexAccumulators<T>, T> {
 public:
  using Input = T;
  using Output = std::byte;

  static constexpr int64_t kColumns = kNearestBytes / sizeof(T);
  static constexpr int64_t kMinShortRow = kMinShortRowBytes / sizeof(T);
  static constexpr int64_t kShortRow = kMaxShortRowBytes / sizeof(T);
  static constexpr int64_t kBlock = kReadAheadBytes / sizeof(T);

  MinMaxIndexAccumulators(int64_t capacity, KeyOf<T> flipped, bool takes_last, size_t width)
      : flipped_(flipped),
        takes_last_(takes_last),
        width_(width),
        keys_(static_cast<size_t>(capacity)),
        numbers_(static_cast<size_t>(capacity)),
        keys_of_rows_(static_cast<size_t>(capacity)),
        rows_(static_cast<size_t>(capacity)) {}

  void Start(int64_t count) {
    std::fill_n(keys_.begin(), count, Order::kLeast);
    std::fill_n(numbers_.begin(), count, kNone);
  }

  void AddShortRows(int64_t o, int64_t rows, int64_t pitch, const ElementRun<T>& run) {
    EndColumns();
    std::fill_n(keys_of_rows_.begin(), rows, Order::kLeast);
    kernels_.best_of_rows(run.first, run.count, pitch, rows, flipped_, keys_of_rows_.data());
    for (int64_t row = 0; row < rows; ++row) {
      TakeBest(o + row, {run.first + row * pitch, run.count, 1, run.number, run.number_step},
               keys_of_rows_[static_cast<size_t>(row)]);
    }
  }

  // Finds the best key piece by piece, and its place only in pieces that improve on it.
  void AddPackedRow(int64_t o, const ElementRun<T>& run) {
    constexpr int64_t kPiece = kFirstCacheBytes / sizeof(T);
    ForEachPiece(run, kPiece, [&](const ElementRun<T>& piece) {
      TakeBest(o, piece, kernels_.best_of_row(piece.first, piece.count, flipped_));
    });
  }

  // Compares rows among themselves first, as long as their numbers increase.
  void AddPackedRows(int64_t columns, const ElementRun<T>& run) {
    ForEachPiece(run, MinMaxIndexKernels<T>::kMaxRows, [&](const ElementRun<T>& piece) {
      const bool rises = numbers_of_rows_.empty() || piece.number > numbers_of_rows_.back();
      const int64_t rows = std::ssize(numbers_of_rows_) + piece.count;
      if (takes_last_ || !rises || rows > MinMaxIndexKernels<T>::kMaxRows) EndColumns();
      AddRowsToColumns(columns, takes_last_ ? Backwards(piece) : piece);
    });
  }

  // Takes the best elements of the collected rows.
  void EndColumns() {
    if (numbers_of_rows_.empty()) return;
    for (int64_t o = 0; o < columns_; ++o) {
      const size_t i = static_cast<size_t>(o);
      Take(o, keys_of_rows_[i], numbers_of_rows_[static_cast<size_t>(rows_[i])]);
    }
    numbers_of_rows_.clear();
    columns_ = 0;
  }

  void Merge(int64_t o, const MinMaxIndexAccumulators& other, int64_t p, int64_t number) {
    const size_t i = static_cast<size_t>(p);
    if (other.numbers_[i] != kNone) Take(o, other.keys_[i], number + other.numbers_[i]);
  }

  void FinishRow(const OutputRow& row, int64_t n, std::byte* results, int64_t step) const {
    if (width_ == sizeof(int64_t)) {
      Write(row, n, reinterpret_cast<int64_t*>(results), step);
    } else {
      Write(row, n, reinterpret_cast<int32_t*>(results), step);
    }
  }

 private:
  using Order = KeyOrder<T, kKeysForIndex<T>>;
  using Key = typename Order::Key;

  static constexpr int64_t kNone = std::numeric_limits<int64_t>::max();

  static ElementRun<T> Backwards(const ElementRun<T>& run) {
    const int64_t last = run.count - 1;
    return {run.first + last * run.stride, run.count, -run.stride,
            run.number + last * run.number_step, -run.number_step};
  }

  bool Improves(int64_t o, Key key, int64_t number) const {
    const size_t i = static_cast<size_t>(o);
    // The least key of a float belongs to NaN, which is never taken.
    if (!std::is_integral_v<T> && key == Order::kLeast) return false;
    if (key != keys_[i] || numbers_[i] == kNone) return key >= keys_[i];
    return takes_last_ ? number > numbers_[i] : number < numbers_[i];
  }

  int64_t LastInRow(const ElementRun<T>& row, Key key) const {
    int64_t place = row.count - 1;
    while (Order::ToKey(row.first[place], flipped_) != key) --place;
    return place;
  }

  // Takes the best key of a packed row.
  void TakeBest(int64_t o, const ElementRun<T>& row, Key key) {
    const int64_t at_best = takes_last_ ? (row.count - 1) * row.number_step : 0;
    if (!Improves(o, key, row.number + at_best)) return;
    const int64_t place = takes_last_ ? LastInRow(row, key)
                                      : kernels_.first_in_row(row.first, row.count, flipped_, key);
    Take(o, key, row.number + place * row.number_step);
  }

  void Take(int64_t o, Key key, int64_t number) {
    if (!Improves(o, key, number)) return;
    keys_[static_cast<size_t>(o)] = key;
    numbers_[static_cast<size_t>(o)] = number;
  }

  void AddRowsToColumns(int64_t columns, const ElementRun<T>& run) {
    if (columns > columns_) {
      std::fill(keys_of_rows_.begin() + columns_, keys_of_rows_.begin() + columns, Order::kLeast);
      // Integers may have the least key in their first row, which then improves nothing.
      const auto row = static_cast<Key>(numbers_of_rows_.size());
      std::fill(rows_.begin() + columns_, rows_.begin() + columns, row);
      columns_ = columns;
    }
    kernels_.index_of_columns(run.first, run.count, run.stride, columns,
                              std::ssize(numbers_of_rows_), flipped_, keys_of_rows_.data(),
                              rows_.data());
    for (int64_t row = 0; row < run.count; ++row) {
      numbers_of_rows_.push_back(run.number + row * run.number_step);
    }
  }

  // `n` is the number of elements in a group.
  template <typename Index>
  void Write(const OutputRow& row, int64_t n, Index* to, int64_t step) const {
    const int64_t for_none = takes_last_ ? n - 1 : 0;
    for (int64_t i = 0; i < row.count; ++i) {
      const int64_t number = numbers_[static_cast<size_t>(row.At(i))];
      to[i * step] = static_cast<Index>(number != kNone ? number : for_none);
    }
  }

  MinMaxIndexKernels<T> kernels_ = MinMaxIndexKernelsFor<T>();
  Key flipped_;
  bool takes_last_;
  size_t width_;  // of an index, in bytes
  std::vector<Key> keys_;
  std::vector<int64_t> numbers_;
  // The rows since EndColumns, their columns, and the best key of each column with its row.
  std::vector<int64_t> numbers_of_rows_;
  int64_t columns_ = 0;
  std::vector<Key> keys_of_rows_;
  std::vector<Key> rows_;
};

}  // namespace dmlop
