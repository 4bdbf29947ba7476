// Tiles of ReduceLoop for MIN, MAX, ARGMIN and ARGMAX.
#pragma once

#include <limits>
#include <vector>

#include "core/kernels/extreme.h"
#include "core/kernels/sum_endings.h"
#include "core/ops/vector_tile.h"

namespace dmlop {

// Rows that are quicker side by side than turned into columns, and than one by one.
inline constexpr int64_t kMinShortRowBytes = 64;
inline constexpr int64_t kMaxShortRowBytes = 1 << 9;

template <typename T, Extreme kExtreme>
class ExtremeTile : public VectorTile<ExtremeTile<T, kExtreme>, T> {
 public:
  using Input = T;
  using Output = T;

  static constexpr int64_t kColumns = (1 << 14) / sizeof(T);
  static constexpr int64_t kMinShortRow = kMinShortRowBytes / sizeof(T);
  static constexpr int64_t kShortRow = kMaxShortRowBytes / sizeof(T);
  static constexpr int64_t kBlock = kBytesOfBlock / sizeof(T);

  explicit ExtremeTile(int64_t capacity) : keys_(static_cast<size_t>(capacity)) {
    const ExtremeKernels<T> kernels = ExtremeKernelsFor<T>();
    kernels_ = kExtreme == Extreme::kMax ? kernels.max : kernels.min;
  }

  void Start(int64_t count) {
    std::fill_n(keys_.begin(), count, Order::kWorst);
  }

  void AddShortRows(int64_t o, int64_t rows, int64_t pitch, const ElementRun<T>& run) {
    kernels_.best_of_rows(run.first, run.count, pitch, rows, keys_.data() + o);
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
  static constexpr int64_t kMinShortRow = kMinShortRowBytes / sizeof(T);
  static constexpr int64_t kShortRow = kMaxShortRowBytes / sizeof(T);
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

  void AddShortRows(int64_t o, int64_t rows, int64_t pitch, const ElementRun<T>& run) {
    EndColumns();
    std::fill_n(keys_of_rows_.begin(), rows, Order::kWorst);
    kernels_.best_of_rows(run.first, run.count, pitch, rows, keys_of_rows_.data());
    for (int64_t row = 0; row < rows; ++row) {
      TakeFirst(o + row, {run.first + row * pitch, run.count, 1, run.number, run.number_step},
                keys_of_rows_[static_cast<size_t>(row)]);
    }
  }

  // Finds the best key a piece at a time, and its place only in pieces that improve on the others.
  void AddPackedRow(int64_t o, const ElementRun<T>& run) {
    constexpr int64_t kPiece = 32768 / sizeof(T);
    ForEachPiece(run, kPiece, [&](const ElementRun<T>& piece) {
      TakeFirst(o, piece, kernels_.best_of_row(piece.first, piece.count));
    });
  }

  // Rows are compared among themselves first, as long as their numbers rise.
  void AddPackedRows(int64_t columns, const ElementRun<T>& run) {
    ForEachPiece(run, IndexKernels<T>::kMaxRows, [&](const ElementRun<T>& piece) {
      const bool rises = numbers_of_rows_.empty() || piece.number > numbers_of_rows_.back();
      const int64_t rows = std::ssize(numbers_of_rows_) + piece.count;
      if (!rises || rows > IndexKernels<T>::kMaxRows) EndColumns();
      AddRowsToColumns(columns, piece);
    });
  }

  // Takes what is best of the rows.
  void EndColumns() {
    if (numbers_of_rows_.empty()) return;
    for (int64_t o = 0; o < columns_; ++o) {
      const size_t i = static_cast<size_t>(o);
      Take(o, keys_of_rows_[i], numbers_of_rows_[static_cast<size_t>(rows_[i])]);
    }
    numbers_of_rows_.clear();
    columns_ = 0;
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

  // Takes the best key of a row.
  void TakeFirst(int64_t o, const ElementRun<T>& row, Key key) {
    if (!Improves(o, key, row.number)) return;
    Take(o, key, row.number + kernels_.first_in_row(row.first, row.count, key) * row.number_step);
  }

  void Take(int64_t o, Key key, int64_t number) {
    if (!Improves(o, key, number)) return;
    keys_[static_cast<size_t>(o)] = key;
    numbers_[static_cast<size_t>(o)] = number;
  }

  void AddRowsToColumns(int64_t columns, const ElementRun<T>& run) {
    if (columns > columns_) {
      std::fill(keys_of_rows_.begin() + columns_, keys_of_rows_.begin() + columns, Order::kWorst);
      // Integers may have the worst key from the first row on, which then improves nothing.
      const auto row = static_cast<Key>(numbers_of_rows_.size());
      std::fill(rows_.begin() + columns_, rows_.begin() + columns, row);
      columns_ = columns;
    }
    kernels_.index_of_columns(run.first, run.count, run.stride, columns,
                              std::ssize(numbers_of_rows_), keys_of_rows_.data(), rows_.data());
    for (int64_t row = 0; row < run.count; ++row) {
      numbers_of_rows_.push_back(run.number + row * run.number_step);
    }
  }

  IndexKernels<T> kernels_;
  std::vector<Key> keys_;
  std::vector<int64_t> numbers_;
  // The rows since EndColumns, their columns, and the best of these.
  std::vector<int64_t> numbers_of_rows_;
  int64_t columns_ = 0;
  std::vector<Key> keys_of_rows_;
  std::vector<Key> rows_;
};

}  // namespace dmlop
