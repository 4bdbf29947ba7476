#include "core/graph/buffer_plan.h"

#include <algorithm>

namespace dmlop {
namespace {

constexpr size_t kLine = 64;  // bytes; no two tensors share a cache line

}  // namespace

size_t BufferPlan::Take(size_t bytes) {
  const size_t length = (bytes + kLine - 1) / kLine * kLine;
  size_t begin = 0;
  for (const auto& [other_begin, other_end] : taken_) {
    if (other_begin - begin >= length) break;
    begin = other_end;
  }
  taken_.emplace(begin, begin + length);
  size_ = std::max(size_, begin + length);
  return begin;
}

void BufferPlan::Release(size_t offset) {
  taken_.erase(offset);
}

}  // namespace dmlop
