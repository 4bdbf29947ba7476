// SPDX-License-Identifier: Apache-2.0
// Elements of 4 bits, INT4 and UINT4. Buffers and raw files have two in a byte, the first one in
// its low half. In memory, each has a byte of its own, an INT8 or UINT8 with its value, so that
// views, loops and formatting need not care.
#pragma once

#include <concepts>
#include <cstdint>
#include <limits>
#include <span>

#include "core/tensor/tensor.h"

namespace dmlop {

// The range of a type whose elements are stored as T; smaller than T's for 4 bits.
template <std::integral T>
struct IntegerRange {
  T least;
  T most;
};
template <std::integral T>
IntegerRange<T> RangeOf(DataType type) {
  if (HasNibbles(type)) {
    return IsSigned(type) ? IntegerRange<T>{static_cast<T>(-8), 7} : IntegerRange<T>{0, 15};
  }
  return {std::numeric_limits<T>::min(), std::numeric_limits<T>::max()};
}

// Returns the integer of `type` with the low bits of `value`.
template <std::integral T>
T Wrapped(DataType type, T value) {
  if (!HasNibbles(type)) return value;
  const int low = value & 15;
  return static_cast<T>(IsSigned(type) ? (low ^ 8) - 8 : low);
}

// Returns the size in bytes of a buffer with that many elements.
uint64_t BufferBytes(DataType type, uint64_t elements);

// Unpacks each element of `packed` to a byte; `elements` has twice as many bytes.
void UnpackNibbles(DataType type, std::span<const std::byte> packed, std::span<std::byte> elements);

// Does the reverse; the unused half of a last byte becomes zero.
void PackNibbles(std::span<const std::byte> elements, std::span<std::byte> packed);

// An unpacked copy of what a view of a buffer reaches. `data` points at the byte with the element
// of index 0, 0, ... in its low half; strides are not negative.
class UnpackedNibbles {
 public:
  explicit UnpackedNibbles(const ConstTensorView& in_buffer);

  TensorView view() { return {elements_.data(), type_, layout_}; }

  // Packs all elements back, together with those between them.
  void PackInto(std::byte* data) const;

 private:
  DataType type_;
  Layout layout_;
  Buffer elements_;
};

}  // namespace dmlop
