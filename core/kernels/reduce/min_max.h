// The largest or smallest element of rows and columns, and where it stands.
//
// Elements are compared as keys: signed integers, the largest of which is wanted, in an order in
// which -0 comes before +0. For the smallest element, and for unsigned integers, some bits of each
// element are flipped first. NaN has the least key, that of no number, so that it is skipped.
#pragma once

#include <bit>
#include <cstdint>
#include <limits>
#include <type_traits>

#include "core/tensor/half.h"

namespace dmlop {

enum class MinMax { kMin, kMax };

template <typename T>
struct KeyOfType {
  using Key = std::make_signed_t<T>;
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
template <typename T>
using KeyOf = typename KeyOfType<T>::Key;

// What kernels take elements as: integers of either sign as signed ones.
template <typename T>
using Ordered = std::conditional_t<std::is_integral_v<T>, KeyOf<T>, T>;

// The bits that are flipped in elements of type T.
template <typename T>
constexpr KeyOf<T> FlippedBits(MinMax wanted) {
  using Key = KeyOf<T>;
  constexpr Key kSign = std::numeric_limits<Key>::min();
  // The smallest number is the one whose negative is the largest.
  if (!std::is_integral_v<T>) return wanted == MinMax::kMin ? kSign : Key{0};
  const Key inverts = wanted == MinMax::kMin ? Key{-1} : Key{0};
  return static_cast<Key>(std::is_unsigned_v<T> ? inverts ^ kSign : inverts);
}

// Keys of T, a type that kernels take.
template <typename T>
struct KeyOrder {
  using Key = KeyOf<T>;

  static constexpr Key kLeast = std::numeric_limits<Key>::min();
  static constexpr Key kMagnitude = std::numeric_limits<Key>::max();  // the bits of a float's
  static constexpr Key kNegativeZero = -1;

  static Key ToKey(T x, Key flipped) {
    const Key bits = static_cast<Key>(std::bit_cast<Key>(x) ^ flipped);
    if constexpr (std::is_integral_v<T>) {
      return bits;
    } else {
      return (bits & kMagnitude) > KeyOfType<T>::kInfinity ? kLeast : InOrder(bits);
    }
  }

  // The element with that key, which is not that of NaN.
  static T FromKey(Key key, Key flipped) {
    if constexpr (!std::is_integral_v<T>) key = InOrder(key);
    return std::bit_cast<T>(static_cast<Key>(key ^ flipped));
  }

  // For indices -0 and +0 are equal.
  static Key ToIndexKey(T x, Key flipped) {
    const Key key = ToKey(x, flipped);
    return !std::is_integral_v<T> && key == kNegativeZero ? Key{0} : key;
  }

 private:
  // The magnitude of a negative number counts down. Its own inverse.
  static Key InOrder(Key bits) { return static_cast<Key>(bits ^ (bits < 0 ? kMagnitude : Key{0})); }
};

template <typename T>
struct MinMaxKernels {
  using Key = KeyOf<T>;

  // The largest key of `count` neighbours in memory, or the least there is.
  Key (*best_of_row)(const T* x, int64_t count, Key flipped);

  // Raises keys[r] by row r of `rows` short ones, `pitch` elements apart, of `count` neighbours.
  void (*best_of_rows)(const T* x, int64_t count, int64_t pitch, int64_t rows, Key flipped,
                       Key* keys);

  // Raises keys[c] by `rows` rows, `row_stride` elements apart, of `columns` neighbours.
  void (*best_of_columns)(const T* x, int64_t rows, int64_t row_stride, int64_t columns,
                          Key flipped, Key* keys);
};

template <typename T>
struct MinMaxIndexKernels {
  using Key = KeyOf<T>;

  // Rows that index_of_columns can number: their numbers fit in a key.
  static constexpr int64_t kMaxRows = sizeof(Key) == 1 ? 128 : 1024;

  // As MinMaxKernels, with index keys.
  Key (*best_of_row)(const T* x, int64_t count, Key flipped);
  void (*best_of_rows)(const T* x, int64_t count, int64_t pitch, int64_t rows, Key flipped,
                       Key* keys);

  // The number of the first element that has the key; `count` if there is none.
  int64_t (*first_in_row)(const T* x, int64_t count, Key flipped, Key key);

  // As best_of_columns, with index keys that start at the least: rows_of_keys[c] becomes the number
  // of the row that raised keys[c], the first of equals. Rows are numbered from `first_row` on.
  void (*index_of_columns)(const T* x, int64_t rows, int64_t row_stride, int64_t columns,
                           int64_t first_row, Key flipped, Key* keys, Key* rows_of_keys);
};

// T is float, Half or a signed integer of 8 to 64 bits.
template <typename T>
MinMaxKernels<T> MinMaxKernelsFor();
template <typename T>
MinMaxIndexKernels<T> MinMaxIndexKernelsFor();

}  // namespace dmlop
