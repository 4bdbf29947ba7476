#include "core/graph/buffer_plan.h"

#include <algorithm>
#include <limits>

#include "core/base/checked_math.h"

namespace dmlop {
namespace {

constexpr size_t kLine = 64;  // bytes; no two tensors share a cache line
constexpr size_t kMost = std::numeric_limits<size_t>::max() / kLine * kLine;

// No memory has so much that the difference would matter.
size_t SaturatedSum(size_t a, size_t b) {
  return std::min(CheckedAdd(a, b).value_or(kMost), kMost);
}

}  // namespace

size_t BufferPlan::Take(size_t bytes) {
  const size_t length = SaturatedSum(bytes, kLine - 1) / kLine * kLine;
  size_t begin = 0;
  for (const auto& [other_begin, other_end] : taken_) {
    if (other_begin - begin >= length) break;
    begin = other_end;
  }
  const size_t end = SaturatedSum(begin, length);
  taken_.emplace(begin, end);
  size_ = std::max(size_, end);
  return begin;
}

void BufferPlan::Release(size_t offset) {
  taken_.erase(offset);
}

}  // namespace dmlop
