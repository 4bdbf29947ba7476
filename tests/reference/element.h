// SPDX-License-Identifier: Apache-2.0
// Single elements of a tensor as bits, as the reference operators and the tests use them.
#pragma once

#include <cstdint>
#include <cstring>
#include <utility>

#include "core/tensor/tensor.h"

namespace dmlop::reference {

template <typename Byte>
Byte* Address(const BasicTensorView<Byte>& view, const Dims& index) {
  return view.data + OffsetOf(view.layout, index) * static_cast<int64_t>(ByteWidth(view.type));
}

// The bits of an element, in the low end of the number.
inline uint64_t BitsAt(const ConstTensorView& view, const Dims& index) {
  uint64_t bits = 0;
  std::memcpy(&bits, Address(view, index), ByteWidth(view.type));
  return bits;
}

inline void SetBitsAt(const TensorView& view, const Dims& index, uint64_t bits) {
  std::memcpy(Address(view, index), &bits, ByteWidth(view.type));
}

// Convert these bits to a value of their type, and back.
template <typename T>
T FromBits(uint64_t bits) {
  T value;
  std::memcpy(&value, &bits, sizeof(T));
  return value;
}

template <typename T>
uint64_t ToBits(T value) {
  uint64_t bits = 0;
  std::memcpy(&bits, &value, sizeof(T));
  return bits;
}

// Calls body(index) for every index, with the last dimension varying fastest.
template <typename Body>
void ForEachIndex(const Dims& sizes, Body&& body) {
  Dims index = Dims::Filled(sizes.size(), 0);
  for (int64_t left = Product(sizes); left > 0; --left) {
    body(std::as_const(index));
    for (size_t d = sizes.size(); d-- > 0 && ++index[d] == sizes[d];) index[d] = 0;
  }
}

}  // namespace dmlop::reference
