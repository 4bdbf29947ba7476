// SPDX-License-Identifier: Apache-2.0
#include "core/tensor/layout.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <numeric>
#include <vector>

#include "core/tensor/loop_nest.h"

namespace dmlop {
namespace {

struct StridedDim {
  int64_t stride, size;
};

// Searches for two coordinates with one offset: a nonzero difference of coordinates whose strides
// add up to 0. Larger strides come first; the reach of the smaller ones bounds the choices for
// each.
class OverlapSearch {
 public:
  explicit OverlapSearch(const std::vector<StridedDim>& largest_first)
      : dims_(largest_first), spans_(dims_.size() + 1), divisors_(dims_.size() + 1) {
    for (size_t i = dims_.size(); i-- > 0;) {
      spans_[i] = spans_[i + 1] + (dims_[i].size - 1) * dims_[i].stride;
      divisors_[i] = std::gcd(divisors_[i + 1], dims_[i].stride);
    }
  }

  // Empty if the search takes too long.
  std::optional<bool> Run() {
    const bool found = Search(0, 0, true);
    if (steps_ > kMaxSteps) return std::nullopt;
    return found;
  }

 private:
  static constexpr int64_t kMaxSteps = 1 << 20;

  bool Search(size_t i, int64_t offset, bool all_zero) {
    if (++steps_ > kMaxSteps) return false;
    if (i == dims_.size()) return offset == 0 && !all_zero;
    if (offset % divisors_[i] != 0) return false;
    const auto [stride, size] = dims_[i];
    const int64_t reach = spans_[i + 1];
    // Truncating division at most widens these bounds, which the next level detects. The first
    // nonzero difference may be assumed positive.
    const int64_t low = all_zero ? 0 : std::max(1 - size, (-reach - offset) / stride - 1);
    const int64_t high = std::min(size - 1, (reach - offset) / stride + 1);
    for (int64_t difference = low; difference <= high; ++difference) {
      const int64_t next = offset + difference * stride;
      if (next < -reach || next > reach) continue;
      if (Search(i + 1, next, all_zero && difference == 0)) return true;
      if (steps_ > kMaxSteps) return false;
    }
    return false;
  }

  const std::vector<StridedDim>& dims_;
  std::vector<int64_t> spans_;     // reach of dims_[i] and all after it
  std::vector<int64_t> divisors_;  // greatest common divisor of their strides
  int64_t steps_ = 0;
};

// Marks every offset in a bitmap, a window of which is in memory; true if one is marked twice.
bool MarksAnOffsetTwice(const std::vector<StridedDim>& dims) {
  constexpr int64_t kWindow = int64_t{1} << 24;  // 2 MiB of bits
  LoopNest<1> nest;
  for (const auto [stride, size] : dims) nest.Push(size, {stride});
  const OffsetWindow<1> offsets(nest);
  std::vector<bool> marked;
  for (int64_t begin = 0; begin < offsets.extent(); begin += kWindow) {
    const int64_t end = std::min(begin + kWindow, offsets.extent());
    marked.assign(static_cast<size_t>(end - begin), false);
    const bool twice = offsets.Visit(begin, end, [&](const auto& offset) {
      const size_t place = static_cast<size_t>(offset[0] - begin);
      if (marked[place]) return true;
      marked[place] = true;
      return false;
    });
    if (twice) return true;
  }
  return false;
}

}  // namespace

std::string ToString(const Dims& dims) {
  return fmt::format("{{{}}}", fmt::join(dims, ", "));
}

Dims PackedStrides(const Dims& sizes) {
  Dims strides = Dims::Filled(sizes.size(), 1);
  for (size_t d = sizes.size(); d-- > 1;) strides[d - 1] = strides[d] * sizes[d];
  return strides;
}

Dims FortranStrides(const Dims& sizes) {
  Dims strides = Dims::Filled(sizes.size(), 1);
  for (size_t d = 1; d < sizes.size(); ++d) strides[d] = strides[d - 1] * sizes[d - 1];
  return strides;
}

std::optional<Dims> BroadcastStrides(const Layout& layout, const Dims& to) {
  if (layout.rank() > to.size()) return std::nullopt;
  const size_t added = to.size() - layout.rank();
  Dims strides = Dims::Filled(added, 0);
  for (size_t d = 0; d < layout.rank(); ++d) {
    const bool is_repeated = layout.sizes[d] != to[added + d];
    if (is_repeated && layout.sizes[d] != 1) return std::nullopt;
    strides.push_back(is_repeated ? 0 : layout.strides[d]);
  }
  return strides;
}

bool IsPacked(const Layout& layout) {
  const Dims packed = PackedStrides(layout.sizes);
  for (size_t d = 0; d < layout.rank(); ++d) {
    if (layout.sizes[d] != 1 && layout.strides[d] != packed[d]) return false;
  }
  return true;
}

int64_t Extent(const Layout& layout) {
  int64_t last = 0;
  for (size_t d = 0; d < layout.rank(); ++d) last += (layout.sizes[d] - 1) * layout.strides[d];
  return last + 1;
}

int64_t OffsetOf(const Layout& layout, const Dims& index) {
  int64_t offset = 0;
  for (size_t d = 0; d < layout.rank(); ++d) offset += index[d] * layout.strides[d];
  return offset;
}

bool HasOverlap(const Layout& layout) {
  std::vector<StridedDim> dims;
  for (size_t d = 0; d < layout.rank(); ++d) {
    if (layout.sizes[d] == 1) continue;
    if (layout.strides[d] == 0) return true;
    dims.push_back({layout.strides[d], layout.sizes[d]});
  }
  std::sort(dims.begin(), dims.end(),
            [](const StridedDim& a, const StridedDim& b) { return a.stride < b.stride; });
  // A stride beyond the reach of all smaller ones keeps its elements apart; only the dimensions up
  // to the last one that does not may overlap.
  int64_t span = 0;
  int64_t overlapping_span = 0;
  int64_t overlapping_count = 1;
  int64_t count = 1;
  size_t overlapping = 0;
  for (size_t i = 0; i < dims.size(); ++i) {
    const bool apart = dims[i].stride > span;
    span += (dims[i].size - 1) * dims[i].stride;
    count *= dims[i].size;
    if (apart) continue;
    overlapping = i + 1;
    overlapping_span = span;
    overlapping_count = count;
  }
  dims.resize(overlapping);
  if (dims.empty()) return false;
  if (overlapping_count > overlapping_span + 1) return true;  // more elements than places
  std::reverse(dims.begin(), dims.end());
  const std::optional<bool> found = OverlapSearch(dims).Run();
  return found ? *found : MarksAnOffsetTwice(dims);
}

Dims IndexOf(const Dims& sizes, int64_t linear) {
  Dims index = Dims::Filled(sizes.size(), 0);
  for (size_t d = sizes.size(); d-- > 0;) {
    index[d] = linear % sizes[d];
    linear /= sizes[d];
  }
  return index;
}

}  // namespace dmlop
