// SPDX-License-Identifier: Apache-2.0
// The places of a pooling's windows, and the outputs whose windows have the same shape.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <functional>
#include <utility>
#include <vector>

#include "core/base/integers.h"
#include "core/base/parallel.h"
#include "core/engine/copy/copy_views.h"
#include "core/engine/window/window_axis.h"
#include "core/exact/functions.h"
#include "core/kernels/window/pool_row.h"
#include "core/tensor/loop_nest.h"
#include "core/tensor/tensor.h"

namespace dmlop {

// A piece of at least kGrainTaps taps is worth handing to a thread, and what is kept of
// kMostSideBySide outputs stays in the cache.
inline constexpr int64_t kGrainTaps = 1 << 14;
inline constexpr int64_t kMostSideBySide = 1024;

// All dimensions of the tensors; the windows of N and C have one tap.
using PoolDims = std::vector<WindowAxis>;

// Adjacent outputs along one dimension whose windows have the same taps.
struct PoolSegment {
  int64_t begin, count;  // outputs
  Range taps;            // those present; its ends are out of order if there are none
  int64_t counted;
};
std::vector<PoolSegment> SegmentsOf(const WindowAxis& dim, int64_t begin, int64_t count);

// Outputs whose windows have the same taps: one segment per dimension.
using PoolBox = std::vector<PoolSegment>;

bool HasTaps(const PoolBox& box);
int64_t PresentTaps(const PoolBox& box);
Int128 CountedTaps(const PoolBox& box);  // padding may make it that large

// The numbers of taps for a part of the outputs, by index in the part.
class TapCounts {
 public:
  TapCounts(const PoolDims& dims, const Dims& begin, const Dims& sizes);

  int64_t Present(const Dims& index) const {
    int64_t taps = 1;
    for (size_t d = 0; d < index.size(); ++d) taps *= present_[d][static_cast<size_t>(index[d])];
    return taps;
  }
  Int128 Counted(const Dims& index) const {
    Int128 taps = 1;
    for (size_t d = 0; d < index.size(); ++d) taps *= counted_[d][static_cast<size_t>(index[d])];
    return taps;
  }

 private:
  std::vector<std::vector<int64_t>> present_, counted_;  // for each dimension
};

// Enumerates the boxes of the part of an output that begins at an index.
class PoolBoxes {
 public:
  PoolBoxes(const PoolDims& dims, const Dims& begin, const Dims& sizes);

  int64_t count() const { return Product(counts_); }
  PoolBox At(int64_t i) const;

 private:
  std::vector<std::vector<PoolSegment>> segments_;
  Dims counts_;
};

// Returns the box's part of a view of the outputs from index `begin` on.
TensorView PartOf(const TensorView& outputs, const Dims& begin, const PoolBox& box);

// The windows of a box that has taps, in a tensor with some layout: the dimensions of the outputs,
// followed by those of the taps, without the first two.
struct PoolWindows {
  int64_t first;  // offset in elements
  Layout layout;
};
PoolWindows WindowsOf(const PoolDims& dims, const PoolBox& box, const Layout& input);

// Returns the loops for windows in a tensor with `rank` dimensions.
TapLoops TapsOf(const PoolWindows& windows, size_t rank);

// Passes the offset of each tap from the first one to a function.
template <typename Visit>
void ForEachTap(const TapLoops& taps, Visit&& visit) {
  for (int64_t a = 0; a < taps.sizes[0]; ++a) {
    for (int64_t b = 0; b < taps.sizes[1]; ++b) {
      const int64_t first = a * taps.steps[0] + b * taps.steps[1];
      for (int64_t c = 0; c < taps.sizes[2]; ++c) visit(first + c * taps.steps[2]);
    }
  }
}
std::vector<int64_t> OffsetsOf(const TapLoops& taps);

// Returns the dimension whose outputs are computed together: of those with many outputs, the one
// whose windows are nearest to each other. `steps` are the distances of windows.
size_t PoolRowDimension(const Dims& sizes, const Dims& steps);

// Adjacent outputs that are computed together, and the loops over such rows.
struct PoolRows {
  enum Operand : size_t { kWindow, kOutput, kOperands };
  LoopNest<kOperands> loops;
  std::array<int64_t, kOperands> step;  // in a row
  int64_t count;                        // outputs of a row

  int64_t number() const { return Product(loops.sizes); }
};
PoolRows RowsOf(const PoolWindows& windows, const Layout& outputs);

// Returns whether a box of windows is faster as a reduction: one window per channel with more
// than a few taps, or a great many taps.
bool IsReduction(const PoolBox& box);

// Reduces each window of a box that has taps to one output element.
void ReduceWindows(ReduceFunction function, const PoolDims& dims, const PoolBox& box,
                   const ConstTensorView& input, const TensorView& outputs);

// --- boxes by rows -------------------------------------------------------------------------------

// Returns into how many pieces to cut boxes that have so many taps and, at most, so many rows.
int64_t SharesOf(int64_t boxes, int64_t taps, int64_t most_rows);

// Runs boxes, each of which has rows(), taps() of all its rows, and Run(rows), in one loop. A piece
// has its share of each box, the largest one first: outputs at the edges then find their elements
// in the cache.
template <typename Box>
void RunInShares(std::vector<Box> boxes, int64_t bytes) {
  std::ranges::sort(boxes, std::greater<>(), &Box::taps);
  int64_t taps = 0, most_rows = 1;
  for (const Box& box : boxes) {
    taps += box.taps();
    most_rows = std::max(most_rows, box.rows());
  }
  const int64_t shares = SharesOf(std::ssize(boxes), taps, most_rows);
  ParallelFor(shares, 1, bytes, [&](int64_t begin, int64_t end) {
    for (int64_t share = begin; share < end; ++share) {
      for (const Box& box : boxes) {
        const Range rows{box.rows() * share / shares, box.rows() * (share + 1) / shares};
        if (rows.count() > 0) box.Run(rows);
      }
    }
  });
}

// Computes a box of outputs of type T whose windows have taps. compute(row, taps, results) stores
// the results of at most kMostSideBySide adjacent windows.
template <typename T, typename Compute>
class RowsOfBox {
 public:
  RowsOfBox(const PoolDims& dims, const PoolBox& box, const ConstTensorView& input,
            const TensorView& outputs, const Compute& compute)
      : compute_(compute), to_(outputs.elements<T>()) {
    const PoolWindows windows = WindowsOf(dims, box, input.layout);
    from_ = input.elements<T>() + windows.first;
    rows_ = RowsOf(windows, outputs.layout);
    taps_ = TapsOf(windows, dims.size());
    if (taps_.count() <= kMaxPoolTaps) offsets_ = OffsetsOf(taps_);
  }

  int64_t rows() const { return rows_.number(); }
  int64_t taps() const { return rows() * rows_.count * taps_.count(); }

  void Run(Range rows) const {
    Compute compute = compute_;
    std::vector<T> apart(static_cast<size_t>(std::min(rows_.count, kMostSideBySide)));
    Walk<PoolRows::kOperands> walk(rows_.loops, rows.begin);
    for (int64_t i = rows.begin; i < rows.end; ++i, walk.Next()) {
      RunRow(compute, from_ + walk.offset(PoolRows::kWindow), to_ + walk.offset(PoolRows::kOutput),
             apart);
    }
  }

 private:
  // Results with other elements between them are computed in `apart`.
  void RunRow(Compute& compute, const T* from, T* to, std::vector<T>& apart) const {
    const auto [step, to_step] = rows_.step;
    for (int64_t i = 0; i < rows_.count; i += kMostSideBySide) {
      const int64_t some = std::min(rows_.count - i, kMostSideBySide);
      T* const results = to_step == 1 ? to + i : apart.data();
      compute({from + i * step, step, some, offsets_}, taps_, results);
      if (to_step == 1) continue;
      for (int64_t k = 0; k < some; ++k) to[(i + k) * to_step] = results[k];
    }
  }

  Compute compute_;
  const T* from_;
  T* to_;
  PoolRows rows_{};
  TapLoops taps_;
  std::vector<int64_t> offsets_;  // of the taps, if they are few
};

// Computes an output of type T from index `begin` on. A pooling has WithoutTaps(box), the element
// for windows without taps; IsReduction(box), which may say that Reduction() makes the same
// results; and RowsOf(box), which makes what RowsOfBox computes with.
template <typename T, typename Pooling>
void RunBoxes(const Pooling& pooling, const PoolDims& dims, const ConstTensorView& input,
              const Dims& begin, const TensorView& outputs) {
  const PoolBoxes boxes(dims, begin, outputs.layout.sizes);
  std::vector<RowsOfBox<T, decltype(pooling.RowsOf(boxes.At(0)))>> by_rows;
  int64_t bytes = 0;
  for (int64_t i = 0; i < boxes.count(); ++i) {
    const PoolBox box = boxes.At(i);
    const TensorView part = PartOf(outputs, begin, box);
    if (!HasTaps(box)) {
      FillView(pooling.WithoutTaps(box), part);
    } else if (pooling.IsReduction(box)) {
      ReduceWindows(pooling.Reduction(), dims, box, input, part);
    } else {
      by_rows.emplace_back(dims, box, input, part, pooling.RowsOf(box));
      bytes += part.element_bytes();
    }
  }
  RunInShares(std::move(by_rows), bytes);
}

}  // namespace dmlop
