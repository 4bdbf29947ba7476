// SPDX-License-Identifier: Apache-2.0
// Finds the largest or smallest element of rows and columns, and its position.
//
// Elements are compared as keys: signed integers, the largest of which is wanted, ordered so that
// -0 comes before +0. For the smallest element, and for unsigned integers, some bits of each
// element are flipped first. NaN has the least key, which no number has, so that it is skipped.
// Vector code may give it a lesser key, which does not raise the least one either.
#pragma once

#include <algorithm>
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

// The type that kernels take for T: a signed integer for an integer.
template <typename T>
using Ordered = std::conditional_t<std::is_integral_v<T>, KeyOf<T>, T>;

// The bits to flip in elements of type T.
template <typename T>
constexpr KeyOf<T> FlippedBits(MinMax wanted) {
  using Key = KeyOf<T>;
  constexpr Key kSign = std::numeric_limits<Key>::min();
  // The smallest number is the one whose negative is the largest.
  if (!std::is_integral_v<T>) return wanted == MinMax::kMin ? kSign : Key{0};
  const Key inverts = wanted == MinMax::kMin ? Key{-1} : Key{0};
  return static_cast<Key>(std::is_unsigned_v<T> ? inverts ^ kSign : inverts);
}

// The purpose of keys: -0 comes before +0 among values, but they are equal for indices.
enum class KeysFor { kValue, kIndex };

// No two integer keys belong to one number.
template <typename T>
constexpr KeysFor kKeysForIndex = std::is_integral_v<T> ? KeysFor::kValue : KeysFor::kIndex;

// Keys of T, a type that kernels take. A float's key is its bits, where the magnitudes of negative
// numbers count down, plus a number that makes the NaNs beyond infinity wrap around: so they come
// before all numbers, as those beyond -infinity do.
template <typename T, KeysFor kFor = KeysFor::kValue>
struct KeyOrder {
  using Key = KeyOf<T>;

  static constexpr Key kMagnitude = std::numeric_limits<Key>::max();  // a float's magnitude

  // Returns what is added to a float's key.
  static constexpr Key Shift() {
    if constexpr (std::is_integral_v<T>) return 0;
    if constexpr (!std::is_integral_v<T>) {
      return static_cast<Key>(kMagnitude - KeyOfType<T>::kInfinity);
    }
  }

  static constexpr Key Least() {
    if constexpr (std::is_integral_v<T>) return std::numeric_limits<Key>::min();
    if constexpr (!std::is_integral_v<T>) {
      // The least key comes right before that of -infinity.
      const Key last = kFor == KeysFor::kIndex ? -1 : -2;
      return static_cast<Key>(last - KeyOfType<T>::kInfinity + Shift());
    }
  }
  static constexpr Key kLeast = Least();

  static Key ToKey(T x, Key flipped) {
    const Key bits = static_cast<Key>(std::bit_cast<Key>(x) ^ flipped);
    if constexpr (std::is_integral_v<T>) {
      return bits;
    } else {
      const Key up = kFor == KeysFor::kIndex && bits < 0 ? 1 : 0;
      return std::max(Sum(InOrder(bits), static_cast<Key>(up + Shift())), kLeast);
    }
  }

  // Returns the element with that value key, which is not that of NaN.
  static T FromKey(Key key, Key flipped) {
    static_assert(kFor == KeysFor::kValue);
    if constexpr (!std::is_integral_v<T>) key = InOrder(static_cast<Key>(key - Shift()));
    return std::bit_cast<T>(static_cast<Key>(key ^ flipped));
  }

  // Converts a value key to an index key.
  static Key ForIndex(Key key) {
    static_assert(kFor == KeysFor::kValue);
    return static_cast<Key>(key + (!std::is_integral_v<T> && key < Shift() ? 1 : 0));
  }

 private:
  // Is its own inverse.
  static Key InOrder(Key bits) { return static_cast<Key>(bits ^ (bits < 0 ? kMagnitude : Key{0})); }

  // Adds with wrap-around.
  static Key Sum(Key a, Key b) {
    using Bits = std::make_unsigned_t<Key>;
    return static_cast<Key>(static_cast<Bits>(a) + static_cast<Bits>(b));
  }
};

template <typename T>
struct MinMaxKernels {
  using Key = KeyOf<T>;

  // Returns the largest key of `count` adjacent elements, or the least key for none.
  Key (*best_of_row)(const T* x, int64_t count, Key flipped);

  // Raises keys[r] by row r of `rows` short ones, `pitch` elements apart, of `count` elements.
  void (*best_of_rows)(const T* x, int64_t count, int64_t pitch, int64_t rows, Key flipped,
                       Key* keys);

  // Raises keys[c] by `rows` rows, `row_stride` elements apart, of `columns` elements.
  void (*best_of_columns)(const T* x, int64_t rows, int64_t row_stride, int64_t columns,
                          Key flipped, Key* keys);
};

template <typename T>
struct MinMaxIndexKernels {
  using Key = KeyOf<T>;

  // Most rows that index_of_columns can number: their numbers fit into a key.
  static constexpr int64_t kMaxRows = sizeof(Key) == 1 ? 128 : 1024;

  // These are as in MinMaxKernels, with index keys.
  Key (*best_of_row)(const T* x, int64_t count, Key flipped);
  void (*best_of_rows)(const T* x, int64_t count, int64_t pitch, int64_t rows, Key flipped,
                       Key* keys);

  // Returns the index of the first element that has the key; `count` if there is none.
  int64_t (*first_in_row)(const T* x, int64_t count, Key flipped, Key key);

  // Like best_of_columns, with index keys that start at the least: rows_of_keys[c] becomes the
  // number of the row that raised keys[c], the first of equals. Rows are numbered from `first_row`
  // on.
  void (*index_of_columns)(const T* x, int64_t rows, int64_t row_stride, int64_t columns,
                           int64_t first_row, Key flipped, Key* keys, Key* rows_of_keys);
};

// T is float, Half or a signed integer of 8 to 64 bits.
template <typename T>
MinMaxKernels<T> MinMaxKernelsFor();
template <typename T>
MinMaxIndexKernels<T> MinMaxIndexKernelsFor();

}  // namespace dmlop
