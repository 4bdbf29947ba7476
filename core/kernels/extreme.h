// The largest or smallest element of rows and columns, and where it stands.
//
// Elements are compared as keys: integers in the same order, in which -0 comes before +0. NaN has
// the key that is worse than that of any number, so that it is skipped.
#pragma once

#include <bit>
#include <cstdint>
#include <limits>
#include <type_traits>

#include "core/tensor/half.h"

namespace dmlop {

enum class Extreme { kMax, kMin };

template <typename T>
struct KeyOfType {
  using Key = T;
};
template <>
struct KeyOfType<float> {
  using Key = int32_t;
  static constexpr int32_t kInfinity = 0x7F800000;
};
template <>
struct KeyOfType<Half> {
  using Key = int16_t;
  static constexpr int16_t kInfinity = 0x7C00;
};

template <typename T, Extreme kExtreme>
struct KeyOrder {
  using Key = typename KeyOfType<T>::Key;

  static constexpr Key kWorst =
      kExtreme == Extreme::kMax ? std::numeric_limits<Key>::min() : std::numeric_limits<Key>::max();

  static Key ToKey(T x) {
    if constexpr (std::is_integral_v<T>) {
      return x;
    } else {
      const Key bits = std::bit_cast<Key>(x);
      const bool is_nan = (bits & std::numeric_limits<Key>::max()) > KeyOfType<T>::kInfinity;
      return is_nan ? kWorst : Flip(bits);
    }
  }

  // The element with that key, which is not that of NaN.
  static T FromKey(Key key) {
    if constexpr (std::is_integral_v<T>) {
      return key;
    } else {
      return std::bit_cast<T>(Flip(key));
    }
  }

  // For indices -0 and +0 are equal.
  static Key ToIndexKey(T x) {
    const Key key = ToKey(x);
    if constexpr (std::is_integral_v<T>) {
      return key;
    } else {
      return key == kNegativeZero ? Key{0} : key;
    }
  }

  static bool Beats(Key a, Key b) { return kExtreme == Extreme::kMax ? a > b : a < b; }

  static constexpr Key kNegativeZero = -1;

 private:
  // The magnitude bits of a negative value count down; flipping them is its own inverse.
  static Key Flip(Key bits) {
    return static_cast<Key>(bits ^ (bits < 0 ? std::numeric_limits<Key>::max() : Key{0}));
  }
};

template <typename T>
struct ValueKernels {
  using Key = typename KeyOfType<T>::Key;

  // The best key of `count` neighbours in memory, or the worst key there is.
  Key (*best_of_row)(const T* x, int64_t count);

  // Improves keys[r] by row r of `rows` short ones, `pitch` elements apart, of `count` neighbours.
  void (*best_of_rows)(const T* x, int64_t count, int64_t pitch, int64_t rows, Key* keys);

  // Improves keys[c] by `rows` rows, `row_stride` elements apart, of `columns` neighbours.
  void (*best_of_columns)(const T* x, int64_t rows, int64_t row_stride, int64_t columns, Key* keys);
};

template <typename T>
struct IndexKernels {
  using Key = typename KeyOfType<T>::Key;

  // Rows that index_of_columns can number: their numbers fit in a key.
  static constexpr int64_t kMaxRows = sizeof(Key) == 1 ? 128 : 1024;

  // As ValueKernels, with index keys.
  Key (*best_of_row)(const T* x, int64_t count);
  void (*best_of_rows)(const T* x, int64_t count, int64_t pitch, int64_t rows, Key* keys);

  // The number of the first element that has the key; `count` if there is none.
  int64_t (*first_in_row)(const T* x, int64_t count, Key key);

  // As best_of_columns, with index keys that start at the worst: rows_of_keys[c] becomes the number
  // of the row that improved keys[c], the first of equals. Rows are numbered from `first_row` on.
  void (*index_of_columns)(const T* x, int64_t rows, int64_t row_stride, int64_t columns,
                           int64_t first_row, Key* keys, Key* rows_of_keys);
};

template <typename T>
struct ExtremeKernels {
  ValueKernels<T> max, min;
  IndexKernels<T> index_of_max, index_of_min;
};

// T is float, Half or an integer of 8 to 64 bits.
template <typename T>
ExtremeKernels<T> ExtremeKernelsFor();

}  // namespace dmlop
