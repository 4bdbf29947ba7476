// What the taps of UNFOLD see of one dimension.
#pragma once

#include <algorithm>
#include <cstdint>

#include "core/ops/unfold_loop.h"

namespace dmlop {

struct Range {
  int64_t begin, end;

  int64_t count() const { return std::max<int64_t>(0, end - begin); }
};

inline int64_t Position(const UnfoldDim& dim, int64_t block, int64_t tap) {
  return block * dim.stride - dim.padding + tap * dim.dilation;
}

inline int64_t Offset(const UnfoldDim& dim, int64_t block, int64_t tap) {
  return Position(dim, block, tap) * dim.step;
}

// Blocks whose tap lies inside the input.
inline Range Inside(const UnfoldDim& dim, int64_t tap) {
  const auto blocks_before = [&](int64_t position) {
    return position <= 0 ? 0 : std::min((position + dim.stride - 1) / dim.stride, dim.blocks);
  };
  const int64_t start = dim.padding - tap * dim.dilation;
  return {blocks_before(start), blocks_before(dim.size + start)};
}

}  // namespace dmlop
