// Tensors of 4-bit integers as tensors of bytes, and back.
#pragma once

#include "core/tensor/tensor.h"

namespace dmlop {

// The elements that a view reaches, each in a byte of its own: the INT8 or UINT8 of its value. In
// memory that it owns, with the same strides.
class NibbleBytes {
 public:
  explicit NibbleBytes(const ConstTensorView& nibbles);

  TensorView view() { return view_; }

  // Puts them back, and zero behind the last one if that fills half a byte.
  void PackInto(const TensorView& nibbles) const;

 private:
  int64_t first_;  // the lowest offset
  int64_t count_;  // from there to the highest one
  Buffer bytes_;
  TensorView view_;
};

inline bool HasNibbles(DataType type) {
  return BitWidth(type) == 4;
}

}  // namespace dmlop
