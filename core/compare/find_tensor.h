// SPDX-License-Identifier: Apache-2.0
// Finds a tensor with known elements in memory: its byte offset, and its strides.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "core/tensor/tensor.h"

namespace dmlop {

struct FoundTensor {
  uint64_t offset;      // offset of the first element, in bytes
  Dims strides;         // in elements
  int64_t equal_count;  // number of elements with the same bits
  int64_t near_count;   // these and, for floats, those that agree in their leading bits
};

struct TensorSearch {
  std::vector<FoundTensor> places;  // the best ones come first
  bool is_common = false;           // the runs that were searched for are almost everywhere
  bool is_constant = false;         // all elements are equal, so that no strides can be told
};

// Returns a few of the places where at least half of the elements are near. In one dimension,
// elements must be adjacent or have one of a few strides; the strides of the other dimensions are
// arbitrary. A tensor of equal elements is looked for without gaps, in places that do not overlap.
// The elements are at least a byte wide.
TensorSearch FindTensor(std::span<const std::byte> memory, const ConstTensorView& tensor);

}  // namespace dmlop
