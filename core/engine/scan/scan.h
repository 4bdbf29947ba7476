// Running sums and products along an axis.
#pragma once

#include <cstddef>

#include "core/tensor/tensor.h"

namespace dmlop {

struct ScanCall {
  size_t axis;
  bool from_the_end;  // elements are taken from the last to the first
  bool is_exclusive;  // of the elements before each, without itself
};

// Sums of floats are those of their elements without rounding, rounded once; integers wrap. Views
// of one type, FLOAT32, FLOAT16 or an integer of 32 or 64 bits, and of equal sizes; the output may
// be the input.
void ScanSums(const ScanCall& call, const ConstTensorView& input, const TensorView& output);

// Products of floats are rounded once from more than twice their precision and any exponent; they
// are multiplied in the order of the elements.
void ScanProducts(const ScanCall& call, const ConstTensorView& input, const TensorView& output);

}  // namespace dmlop
