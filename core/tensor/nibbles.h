// Elements of 4 bits, INT4 and UINT4. Buffers and raw files have two in a byte, the first one in
// its low half. In memory each has a byte of its own, an INT8 or UINT8 with its value; so views,
// loops and texts know nothing of halves of bytes.
#pragma once

#include <concepts>
#include <cstdint>
#include <limits>
#include <span>

#include "core/tensor/tensor.h"

namespace dmlop {

// The integers of a type that T stores: fewer than T's where they have 4 bits.
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

// The integer of `type` that has the lowest bits of a T's.
template <std::integral T>
T Wrapped(DataType type, T value) {
  if (!HasNibbles(type)) return value;
  const int low = value & 15;
  return static_cast<T>(IsSigned(type) ? (low ^ 8) - 8 : low);
}

// Bytes of a buffer with so many elements.
uint64_t BufferBytes(DataType type, uint64_t elements);

// Gives each element of `packed` a byte: `elements` has twice as many.
void UnpackNibbles(DataType type, std::span<const std::byte> packed, std::span<std::byte> elements);

// The reverse; zero behind the last element if that fills half a byte.
void PackNibbles(std::span<const std::byte> elements, std::span<std::byte> packed);

// What a view of a buffer reaches, in memory of its own. `data` is where the buffer has the element
// with index 0, 0, ..., in the low half; strides are not negative.
class UnpackedNibbles {
 public:
  explicit UnpackedNibbles(const ConstTensorView& in_buffer);

  TensorView view() { return {elements_.data(), type_, layout_}; }

  // Puts all back, with what lies between the elements.
  void PackInto(std::byte* data) const;

 private:
  DataType type_;
  Layout layout_;
  Buffer elements_;
};

}  // namespace dmlop
