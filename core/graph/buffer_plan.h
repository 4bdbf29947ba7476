// SPDX-License-Identifier: Apache-2.0
// Assigns places in one buffer to tensors that are not all needed at once.
#pragma once

#include <cstddef>
#include <map>

namespace dmlop {

class BufferPlan {
 public:
  // Returns the offset of the lowest place that is free.
  size_t Take(size_t bytes);

  // Frees a place.
  void Release(size_t offset);

  // Returns the bytes that all places need. Saturates; the places are then useless.
  size_t size() const { return size_; }

 private:
  size_t TakeHole(size_t length);

  std::map<size_t, size_t> taken_;  // from begin to end
  std::map<size_t, size_t> holes_;  // the same of free places below size_; no two touch
  size_t size_ = 0;
};

}  // namespace dmlop
