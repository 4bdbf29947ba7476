#include "core/engine/index/indexed_rows.h"

#include <algorithm>
#include <array>
#include <cstring>

#include "core/base/parallel.h"
#include "core/engine/copy/tiled_loop.h"
#include "core/kernels/copy/copy.h"
#include "core/tensor/loop_nest.h"
#include "core/tensor/visit_data_type.h"

namespace dmlop {
namespace {

constexpr int64_t kRangeBytes = 1 << 15;    // of the least work for a thread
constexpr int64_t kLongRowBytes = 1 << 20;  // rows that threads share
constexpr int64_t kMaxRun = 256;            // elements whose places are found at a time
constexpr size_t kData = 1;                 // operands of the nest; 0 is what is walked
constexpr size_t kIndex = 2;
constexpr size_t kPosition = 3;

int64_t StrideOf(const Layout& layout, size_t dim) {
  return dim == IndexLinks::kNone ? 0 : layout.strides[dim];
}

// The walk over rows that have one index each, and what a row is.
struct RowPlan {
  LoopNest<4> nest;
  std::array<int64_t, 4> base{};  // offsets of the first row
  LoopNest<2> row;                // walked, data

  RowPlan(const IndexLinks& links, const Layout& walked, const Layout& data, const Layout& index) {
    LoopNest<4> all;
    for (size_t d = 0; d < walked.rank(); ++d) {
      if (walked.sizes[d] == 1) continue;
      all.Push(walked.sizes[d],
               {walked.strides[d], StrideOf(data, links.dims[d].data),
                StrideOf(index, links.dims[d].index), d == links.position ? 1 : 0});
    }
    size_t rows = all.rank();
    while (rows > 0 && IsOfRow(all, rows - 1)) --rows;
    LoopNest<4> outer;
    for (size_t d = 0; d < all.rank(); ++d) {
      if (d < rows) outer.Push(all.sizes[d], all.Step(d));
      if (d >= rows) row.Push(all.sizes[d], {all.strides[0][d], all.strides[kData][d]});
    }
    nest = Merged(outer);
    row = Merged(row);
  }

  // One index says where all along the dimension lie, and no two at one place, where an update
  // could come after another.
  static bool IsOfRow(const LoopNest<4>& all, size_t d) {
    return all.strides[kIndex][d] == 0 && all.strides[kPosition][d] == 0 &&
           all.strides[kData][d] != 0;
  }

  int64_t row_count() const { return Product(nest.sizes); }
  int64_t row_elements() const { return Product(row.sizes); }

  // The longest dimension that the data shares: rows of different coordinates in it are never
  // written to one place. The rank where there is none.
  size_t SharedDim() const {
    size_t longest = nest.rank();
    for (size_t d = 0; d < nest.rank(); ++d) {
      if (nest.strides[kData][d] == 0) continue;
      if (longest == nest.rank() || nest.sizes[d] > nest.sizes[longest]) longest = d;
    }
    return longest;
  }

  // The rows whose coordinate in a dimension is in [begin, end).
  RowPlan Part(size_t d, int64_t begin, int64_t end) const {
    RowPlan part = *this;
    part.nest.sizes[d] = end - begin;
    for (size_t k = 0; k < 4; ++k) part.base[k] += begin * nest.strides[k][d];
    return part;
  }
};

// Rows that begin `step` elements apart in what is walked, and anywhere in the data.
struct RowRun {
  int64_t count;
  int64_t walked;  // offset of the first
  int64_t walked_step;
  int64_t data;  // offset from which the places are counted
  int64_t data_step;
  const int64_t* places;

  int64_t WalkedAt(int64_t i) const { return walked + i * walked_step; }
  int64_t DataAt(int64_t i) const { return data + i * data_step + places[i]; }

  // Whether row i has a place, in [first, last).
  bool IsIn(int64_t i, int64_t first, int64_t last) const {
    const int64_t at = DataAt(i);
    return (places[i] != PlaceRule::kNowhere) & (at >= first) & (at < last);
  }
};

// Calls visit(run) for the rows in [begin, end).
template <typename Visit>
void ForEachRowRun(const RowPlan& plan, const PlaceRule& rule, int64_t begin, int64_t end,
                   Visit&& visit) {
  std::array<int64_t, kMaxRun> places;
  const LoopNest<4>& nest = plan.nest;
  const bool is_one = nest.rank() == 0;
  const LoopNest<4> outer = is_one ? nest : Without(nest, nest.rank() - 1);
  const int64_t length = is_one ? 1 : nest.sizes.back();
  const std::array<int64_t, 4> step =
      is_one ? std::array<int64_t, 4>{} : nest.Step(nest.rank() - 1);
  Walk<4> walk(outer, begin / length);
  int64_t at = begin % length;
  for (int64_t left = end - begin; left > 0;) {
    const int64_t count = std::min({left, length - at, kMaxRun});
    const auto offset = [&](size_t k) { return plan.base[k] + walk.offset(k) + at * step[k]; };
    rule.Find({count, offset(kIndex), step[kIndex], offset(kPosition), step[kPosition]},
              places.data());
    visit(RowRun{count, offset(0), step[0], offset(kData), step[kData], places.data()});
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
  RowCopier(const LoopNest<2>& row, size_t width, size_t from, std::byte* to_bytes,
            const std::byte* from_bytes)
      : width_(static_cast<int64_t>(width)),
        to_(to_bytes),
        from_(from_bytes),
        copy_(CopyTileFor(width)) {
    const size_t to = 1 - from;
    const size_t rank = row.rank();
    if (rank > 0) {
      tile_ = {1, row.sizes[rank - 1],        0, row.strides[to][rank - 1],
               0, row.strides[from][rank - 1]};
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

  bool is_element() const { return is_contiguous_ && tile_.inner_count == 1; }
  std::byte* to() const { return to_; }
  const std::byte* from() const { return from_; }

  void Copy(int64_t to, int64_t from) const {
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

 private:
  int64_t width_;
  std::byte* to_;
  const std::byte* from_;
  CopyTileFunction copy_;
  CopyTile tile_{1, 1, 0, 1, 0, 1};
  LoopNest<2> tiles_;  // to, from
  bool is_contiguous_;
};

int64_t GrainOf(const RowPlan& plan, size_t width) {
  const int64_t bytes = plan.row_elements() * static_cast<int64_t>(width);
  return std::max<int64_t>(1, kRangeBytes / bytes);
}

// A row by itself as a view; rows of kLongRowBytes are copied by all threads together.
template <typename View>
View RowOf(const View& tensor, const LoopNest<2>& row, size_t operand, int64_t offset) {
  return {tensor.data + offset * static_cast<int64_t>(ByteWidth(tensor.type)),
          tensor.type,
          {row.sizes, row.strides[operand]}};
}

// Writes those in [first, last), which are found without a branch: they are anyone's guess.
template <typename Bits>
void ScatterElements(const RowRun& run, const Bits* from, int64_t first, int64_t last, Bits* to) {
  std::array<int64_t, kMaxRun> targets;
  std::array<Bits, kMaxRun> values;
  size_t count = 0;
  for (int64_t i = 0; i < run.count; ++i) {
    targets[count] = run.DataAt(i);
    values[count] = from[run.WalkedAt(i)];
    count += run.IsIn(i, first, last) ? 1 : 0;
  }
  for (size_t i = 0; i < count; ++i) to[targets[i]] = values[i];
}

bool HasLongRows(const RowPlan& plan, DataType type) {
  return plan.row_elements() * static_cast<int64_t>(ByteWidth(type)) >= kLongRowBytes;
}

}  // namespace

void GatherRows(const IndexLinks& links, const PlaceRule& rule, const ConstTensorView& data,
                const Layout& index, const TensorView& output) {
  const RowPlan plan(links, output.layout, data.layout, index);
  if (HasLongRows(plan, data.type)) {
    ForEachRowRun(plan, rule, 0, plan.row_count(), [&](const RowRun& run) {
      for (int64_t i = 0; i < run.count; ++i) {
        CopyView(RowOf(data, plan.row, kData, run.DataAt(i)),
                 RowOf(output, plan.row, 0, run.WalkedAt(i)));
      }
    });
    return;
  }
  const size_t width = ByteWidth(data.type);
  const RowCopier copier(plan.row, width, kData, output.data, data.data);
  const auto copy_rows = [&](const RowRun& run) {
    for (int64_t i = 0; i < run.count; ++i) copier.Copy(run.WalkedAt(i), run.DataAt(i));
  };
  VisitElementWidth(data.type, [&]<typename Bits>() {
    const auto copy_elements = [&](const RowRun& run) {
      Bits* const to = output.elements<Bits>();
      const Bits* const from = data.elements<Bits>();
      for (int64_t i = 0; i < run.count; ++i) to[run.WalkedAt(i)] = from[run.DataAt(i)];
    };
    ParallelFor(plan.row_count(), GrainOf(plan, width), output.element_bytes(),
                [&](int64_t begin, int64_t end) {
                  if (copier.is_element()) {
                    ForEachRowRun(plan, rule, begin, end, copy_elements);
                  } else {
                    ForEachRowRun(plan, rule, begin, end, copy_rows);
                  }
                });
  });
}

void ScatterRows(const IndexLinks& links, const PlaceRule& rule, const ConstTensorView& updates,
                 const Layout& index, const TensorView& data) {
  const RowPlan plan(links, updates.layout, data.layout, index);
  const int64_t rows = plan.row_count();
  if (HasLongRows(plan, data.type)) {
    ForEachRowRun(plan, rule, 0, rows, [&](const RowRun& run) {
      for (int64_t i = 0; i < run.count; ++i) {
        if (run.places[i] == PlaceRule::kNowhere) continue;
        CopyView(RowOf(updates, plan.row, 0, run.WalkedAt(i)),
                 RowOf(data, plan.row, kData, run.DataAt(i)));
      }
    });
    return;
  }
  const size_t width = ByteWidth(data.type);
  const RowCopier copier(plan.row, width, 0, data.data, updates.data);
  VisitElementWidth(data.type, [&]<typename Bits>() {
    const auto scatter = [&](const RowPlan& part, int64_t first, int64_t last) {
      ForEachRowRun(part, rule, 0, part.row_count(), [&](const RowRun& run) {
        if (copier.is_element()) {
          ScatterElements(run, updates.elements<Bits>(), first, last, data.elements<Bits>());
          return;
        }
        for (int64_t i = 0; i < run.count; ++i) {
          if (!run.IsIn(i, first, last)) continue;
          copier.Copy(run.DataAt(i), run.WalkedAt(i));
        }
      });
    };
    const int64_t extent = Extent(data.layout);
    const int64_t grain = GrainOf(plan, width);
    const int64_t threads = ThreadCount();
    if (rows <= grain) return scatter(plan, 0, extent);
    const size_t shared = plan.SharedDim();
    if (shared < plan.nest.rank() && plan.nest.sizes[shared] >= threads) {
      const int64_t dependent = rows / plan.nest.sizes[shared];
      return ParallelFor(
          plan.nest.sizes[shared], std::max<int64_t>(1, grain / dependent), updates.element_bytes(),
          [&](int64_t begin, int64_t end) { scatter(plan.Part(shared, begin, end), 0, extent); });
    }
    // Each thread goes through all rows and writes those whose places are its own.
    ParallelFor(threads, 1, updates.element_bytes(), [&](int64_t begin, int64_t end) {
      const auto place = [&](int64_t part) { return extent / threads * part; };
      scatter(plan, place(begin), end == threads ? extent : place(end));
    });
  });
}

}  // namespace dmlop
