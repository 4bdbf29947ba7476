// Where in memory a tensor lies whose elements are known: at which byte, and with which strides.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "core/tensor/tensor.h"

namespace dmlop {

struct FoundTensor {
  uint64_t offset;      // of the first element, in bytes
  Dims strides;         // in elements
  int64_t equal_count;  // elements of the same bits
  int64_t near_count;   // the same and, of floats, those that agree in their leading bits
};

struct TensorSearch {
  std::vector<FoundTensor> places;  // the best come first
  bool is_common = false;           // what it was looked for by is nearly everywhere
  bool is_constant = false;         // all elements are equal, so that no strides can be told
};

// The places where at least half of the elements are near, a few at most. Rows of one dimension are
// looked for, in which elements follow one another or have one of a few strides; the strides of the
// other dimensions may be any. A tensor of equal elements is looked for without gaps, in places
// that do not overlap. The elements are at least a byte wide.
TensorSearch FindTensor(std::span<const std::byte> memory, const ConstTensorView& tensor);

}  // namespace dmlop
