// SPDX-License-Identifier: Apache-2.0
#include "core/graph/buffer_plan.h"

#include <algorithm>
#include <iterator>
#include <limits>

#include "core/base/integers.h"
#include "core/base/machine.h"

namespace dmlop {
namespace {

constexpr size_t kLine = kLineBytes;  // no two tensors share one
constexpr size_t kMost = std::numeric_limits<size_t>::max() / kLine * kLine;

// Saturates: no memory is so large that the difference would matter.
size_t SaturatedSum(size_t a, size_t b) {
  return std::min(CheckedAdd(a, b).value_or(kMost), kMost);
}

}  // namespace

size_t BufferPlan::Take(size_t bytes) {
  const size_t length = SaturatedSum(bytes, kLine - 1) / kLine * kLine;
  const size_t begin = TakeHole(length);
  const size_t end = SaturatedSum(begin, length);
  taken_.emplace(begin, end);
  size_ = std::max(size_, end);
  return begin;
}

// Takes the first hole that is long enough; the last one may be shorter if it ends at the end of
// the buffer.
size_t BufferPlan::TakeHole(size_t length) {
  const auto hole = std::find_if(holes_.begin(), holes_.end(), [&](const auto& one) {
    return one.second - one.first >= length || one.second == size_;
  });
  if (hole == holes_.end()) return size_;
  const auto [begin, end] = *hole;
  holes_.erase(hole);
  if (end - begin > length) holes_.emplace(begin + length, end);
  return begin;
}

void BufferPlan::Release(size_t offset) {
  const auto place = taken_.find(offset);
  if (place == taken_.end()) return;  // when the size saturates, several begin there
  size_t end = place->second;
  taken_.erase(place);
  const auto next = holes_.find(end);
  if (next != holes_.end()) {
    end = next->second;
    holes_.erase(next);
  }
  const auto behind = holes_.lower_bound(offset);
  if (behind != holes_.begin() && std::prev(behind)->second == offset) {
    std::prev(behind)->second = end;
  } else {
    holes_.emplace(offset, end);
  }
}

}  // namespace dmlop
