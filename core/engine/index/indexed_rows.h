// SPDX-License-Identifier: Apache-2.0
// Gathers rows of elements from where the values of indices lead, or scatters them to there.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>

#include "core/engine/index/place_rule.h"
#include "core/kernels/copy/copy.h"
#include "core/tensor/loop_nest.h"
#include "core/tensor/tensor.h"

namespace dmlop {

// Fills the walked output with elements of the data. All places lie within the data.
void GatherRows(const IndexLinks& links, const PlaceRule& rule, const ConstTensorView& data,
                const Layout& index, const TensorView& output);

// Writes the walked updates to their places in the data; updates without a place are dropped. If
// several have the same place, the last one in row-major order wins, whatever the number of
// threads.
void ScatterRows(const IndexLinks& links, const PlaceRule& rule, const ConstTensorView& updates,
                 const Layout& index, const TensorView& data);

// Copies the input to the output, and writes the walked updates to the places in it that the
// indices choose, clamped to it (IDX-2). If several go to one place, the last in row-major order
// wins, whatever the threads.
void CopyAndScatter(const IndexLinks& links, const ConstTensorView& input,
                    const ConstTensorView& index, const ConstTensorView& updates,
                    const TensorView& output);

// --- plans ---------------------------------------------------------------------------------------

// The walk over rows of elements that share one index each, runs of such rows, and how to copy one.

struct RowPlan {
  enum Operand : size_t { kWalked, kData, kIndex, kPosition };

  LoopNest<4> nest;  // over the rows
  LoopNest<2> row;   // strides in the walked tensor and in the data
  size_t width;      // size of an element in bytes

  RowPlan(const IndexLinks& links, const Layout& walked, const ConstTensorView& data,
          const Layout& index);

  int64_t row_count() const { return Product(nest.sizes); }
  int64_t row_bytes() const { return Product(row.sizes) * static_cast<int64_t>(width); }

  // Least number of rows for a thread.
  int64_t grain() const;

  // True if all threads together copy each row.
  bool has_long_rows() const;
};

// Rows that are a fixed step apart in the walked tensor, and anywhere in the data.
struct RowRun {
  static constexpr int64_t kMaxCount = 256;

  int64_t count;
  int64_t walked;  // offset of the first row
  int64_t walked_step;
  int64_t data;  // offset that the places are relative to
  int64_t data_step;
  const int64_t* places;

  int64_t WalkedAt(int64_t i) const { return walked + i * walked_step; }
  int64_t DataAt(int64_t i) const { return data + i * data_step + places[i]; }
  bool HasPlace(int64_t i) const { return places[i] != PlaceRule::kNowhere; }
};

// Calls visit(run) for rows [begin, end).
template <typename Visit>
void ForEachRowRun(const RowPlan& plan, const PlaceRule& rule, int64_t begin, int64_t end,
                   Visit&& visit) {
  std::array<int64_t, RowRun::kMaxCount> places;
  const LoopNest<4>& nest = plan.nest;
  const bool is_one = nest.rank() == 0;
  const LoopNest<4> outer = is_one ? nest : Without(nest, nest.rank() - 1);
  const int64_t length = is_one ? 1 : nest.sizes.back();
  const std::array<int64_t, 4> step =
      is_one ? std::array<int64_t, 4>{} : nest.Step(nest.rank() - 1);
  Walk<4> walk(outer, begin / length);
  int64_t at = begin % length;
  for (int64_t left = end - begin; left > 0;) {
    const int64_t count = std::min({left, length - at, RowRun::kMaxCount});
    const auto offset = [&](size_t k) { return walk.offset(k) + at * step[k]; };
    rule.Find({count, offset(RowPlan::kIndex), step[RowPlan::kIndex], offset(RowPlan::kPosition),
               step[RowPlan::kPosition]},
              places.data());
    visit(RowRun{count, offset(RowPlan::kWalked), step[RowPlan::kWalked], offset(RowPlan::kData),
                 step[RowPlan::kData], places.data()});
    left -= count;
    at += count;
    if (at == length) {
      at = 0;
      walk.Next();
    }
  }
}

// Copies rows of one shape from one offset to another.
class RowCopier {
 public:
  // `from` says which operand of the row is read.
  RowCopier(const RowPlan& plan, RowPlan::Operand from, std::byte* to_bytes,
            const std::byte* from_bytes);

  bool is_contiguous() const { return is_contiguous_; }
  bool is_element() const { return is_contiguous_ && tile_.inner_count == 1; }

  void Copy(int64_t to, int64_t from) const;

 private:
  int64_t width_;
  std::byte* to_;
  const std::byte* from_;
  CopyTileFunction copy_;
  CopyTile tile_{1, 1, 0, 1, 0, 1};
  LoopNest<2> tiles_;  // strides of the destination and of the source
  bool is_contiguous_;
};

// One row as a view.
template <typename View>
View RowOf(const View& tensor, const LoopNest<2>& row, size_t operand, int64_t offset) {
  return {tensor.data + offset * static_cast<int64_t>(ByteWidth(tensor.type)),
          tensor.type,
          {row.sizes, row.strides[operand]}};
}

}  // namespace dmlop
