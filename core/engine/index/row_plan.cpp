// SPDX-License-Identifier: Apache-2.0
#include "core/engine/index/row_plan.h"

#include <cstring>

namespace dmlop {
namespace {

constexpr int64_t kRangeBytes = 1 << 15;    // least work for a thread
constexpr int64_t kLongRowBytes = 1 << 20;  // rows that all threads share

int64_t StrideOf(const Layout& layout, size_t dim) {
  return dim == IndexLinks::kNone ? 0 : layout.strides[dim];
}

// True if one index serves the whole dimension and its elements have different places: otherwise
// one update could follow another.
bool IsOfRow(const LoopNest<4>& all, size_t d) {
  return all.strides[RowPlan::kIndex][d] == 0 && all.strides[RowPlan::kPosition][d] == 0 &&
         all.strides[RowPlan::kData][d] != 0;
}

}  // namespace

RowPlan::RowPlan(const IndexLinks& links, const Layout& walked, const ConstTensorView& data,
                 const Layout& index)
    : width(ByteWidth(data.type)) {
  LoopNest<4> all;
  for (size_t d = 0; d < walked.rank(); ++d) {
    if (walked.sizes[d] == 1) continue;
    all.Push(walked.sizes[d], {walked.strides[d], StrideOf(data.layout, links.dims[d].data),
                               StrideOf(index, links.dims[d].index), d == links.position ? 1 : 0});
  }
  size_t rows = all.rank();
  while (rows > 0 && IsOfRow(all, rows - 1)) --rows;
  LoopNest<4> outer;
  for (size_t d = 0; d < all.rank(); ++d) {
    if (d < rows) outer.Push(all.sizes[d], all.Step(d));
    if (d >= rows) row.Push(all.sizes[d], {all.strides[kWalked][d], all.strides[kData][d]});
  }
  nest = Merged(outer);
  row = Merged(row);
}

int64_t RowPlan::grain() const {
  return std::max<int64_t>(1, kRangeBytes / row_bytes());
}

bool RowPlan::has_long_rows() const {
  return row_bytes() >= kLongRowBytes;
}

RowCopier::RowCopier(const RowPlan& plan, RowPlan::Operand from_operand, std::byte* to_bytes,
                     const std::byte* from_bytes)
    : width_(static_cast<int64_t>(plan.width)),
      to_(to_bytes),
      from_(from_bytes),
      copy_(CopyTileFor(plan.width)) {
  const LoopNest<2>& row = plan.row;
  const size_t from = from_operand;
  const size_t to = 1 - from;
  const size_t rank = row.rank();
  if (rank > 0) {
    tile_ = {1, row.sizes[rank - 1], 0, row.strides[to][rank - 1], 0, row.strides[from][rank - 1]};
  }
  if (rank > 1) {
    tile_.outer_count = row.sizes[rank - 2];
    tile_.to_outer_stride = row.strides[to][rank - 2];
    tile_.from_outer_stride = row.strides[from][rank - 2];
  }
  for (size_t d = 0; d + 2 < rank; ++d) {
    tiles_.Push(row.sizes[d], {row.strides[to][d], row.strides[from][d]});
  }
  is_contiguous_ =
      rank <= 1 && (rank == 0 || (tile_.to_inner_stride == 1 && tile_.from_inner_stride == 1));
}

void RowCopier::Copy(int64_t to, int64_t from) const {
  if (is_contiguous_) {
    std::memcpy(to_ + to * width_, from_ + from * width_,
                static_cast<size_t>(tile_.inner_count * width_));
    return;
  }
  Walk<2> walk(tiles_, 0);
  for (int64_t i = Product(tiles_.sizes); i > 0; --i, walk.Next()) {
    copy_(tile_, to_ + (to + walk.offset(0)) * width_, from_ + (from + walk.offset(1)) * width_);
  }
}

}  // namespace dmlop
