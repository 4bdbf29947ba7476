// Places in one buffer for tensors that are not needed all at once.
#pragma once

#include <cstddef>
#include <map>

namespace dmlop {

class BufferPlan {
 public:
  // The lowest place that is free.
  size_t Take(size_t bytes);

  // Gives a place back.
  void Release(size_t offset);

  // Bytes of the buffer that all places need. Saturates: then the places are of no use.
  size_t size() const { return size_; }

 private:
  size_t TakeHole(size_t length);

  std::map<size_t, size_t> taken_;  // from their begin to their end
  std::map<size_t, size_t> holes_;  // between and behind them, as far as size_; none touch
  size_t size_ = 0;
};

}  // namespace dmlop
