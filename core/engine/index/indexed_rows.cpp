// SPDX-License-Identifier: Apache-2.0
#include "core/engine/index/indexed_rows.h"

#include <cstring>
#include <vector>

#include "core/base/integers.h"
#include "core/base/memory.h"
#include "core/base/parallel.h"
#include "core/engine/copy/copy_views.h"
#include "core/engine/copy/tile_shape.h"
#include "core/kernels/copy/stream.h"
#include "core/kernels/simd/prefetch.h"
#include "core/tensor/visit_data_type.h"

namespace dmlop {

// --- gathering -----------------------------------------------------------------------------------

namespace {

constexpr int64_t kStreamedRowBytes = 1 << 8;  // shorter rows have too few whole lines

template <typename Bits>
void GatherElements(const RowRun& run, const Bits* from, Bits* to) {
  for (int64_t i = 0; i < run.count; ++i) to[run.WalkedAt(i)] = from[run.DataAt(i)];
}

void GatherLongRows(const RowPlan& plan, const PlaceRule& rule, const ConstTensorView& data,
                    const TensorView& output) {
  ForEachRowRun(plan, rule, 0, plan.row_count(), [&](const RowRun& run) {
    for (int64_t i = 0; i < run.count; ++i) {
      CopyView(RowOf(data, plan.row, RowPlan::kData, run.DataAt(i)),
               RowOf(output, plan.row, RowPlan::kWalked, run.WalkedAt(i)));
    }
  });
}

// Copies rows past the caches. The rows are prefetched, because the hardware cannot predict where
// they are and would wait for each of them.
void StreamRows(const RowPlan& plan, const RowRun& run, const std::byte* from, std::byte* to) {
  constexpr int64_t kBytesAhead = 1 << 12;
  const StreamRowsFunction stream = StreamRowsForIsa();
  const int64_t width = static_cast<int64_t>(plan.width);
  const int64_t bytes = plan.row_bytes();
  const int64_t ahead = CeilDiv(kBytesAhead, bytes);
  const auto source = [&](int64_t i) { return from + run.DataAt(i) * width; };
  for (int64_t i = 0; i < std::min(ahead, run.count); ++i) PrefetchLines(source(i), bytes);
  for (int64_t i = 0; i < run.count; ++i) {
    if (i + ahead < run.count) PrefetchLines(source(i + ahead), bytes);
    stream(1, bytes, to + run.WalkedAt(i) * width, 0, source(i), 0);
  }
}

}  // namespace

void GatherRows(const IndexLinks& links, const PlaceRule& rule, const ConstTensorView& data,
                const Layout& index, const TensorView& output) {
  const RowPlan plan(links, output.layout, data, index);
  if (plan.has_long_rows()) return GatherLongRows(plan, rule, data, output);
  const RowCopier copier(plan, RowPlan::kData, output.data, data.data);
  const bool streams = copier.is_contiguous() && plan.row_bytes() >= kStreamedRowBytes &&
                       output.element_bytes() >= kStreamBytes;
  const auto gather = [&](const RowRun& run) {
    if (streams) return StreamRows(plan, run, data.data, output.data);
    if (copier.is_element()) {
      return VisitElementWidth(data.type, [&]<typename Bits>() {
        GatherElements(run, data.elements<Bits>(), output.elements<Bits>());
      });
    }
    for (int64_t i = 0; i < run.count; ++i) copier.Copy(run.WalkedAt(i), run.DataAt(i));
  };
  ParallelFor(plan.row_count(), plan.grain(), output.element_bytes(),
              [&](int64_t begin, int64_t end) {
                ForEachRowRun(plan, rule, begin, end, gather);
                if (streams) FlushStreams();
              });
}

// --- scattering ----------------------------------------------------------------------------------

namespace {

void ScatterLongRows(const RowPlan& plan, const PlaceRule& rule, const ConstTensorView& updates,
                     const TensorView& data) {
  ForEachRowRun(plan, rule, 0, plan.row_count(), [&](const RowRun& run) {
    for (int64_t i = 0; i < run.count; ++i) {
      if (!run.HasPlace(i)) continue;
      CopyView(RowOf(updates, plan.row, RowPlan::kWalked, run.WalkedAt(i)),
               RowOf(data, plan.row, RowPlan::kData, run.DataAt(i)));
    }
  });
}

// A target takes from a row what is to be written: a value, or where it begins in the updates.
template <typename Bits>
struct ElementTarget {
  using Payload = Bits;

  const Bits* from;
  Bits* to;

  Bits Take(const RowRun& run, int64_t i) const { return from[run.WalkedAt(i)]; }
  void Prefetch(int64_t place) const { __builtin_prefetch(to + place, /*rw=*/1); }
  void Write(int64_t place, Bits value) const { to[place] = value; }
};

struct RowTarget {
  using Payload = int64_t;

  const RowCopier& copier;

  int64_t Take(const RowRun& run, int64_t i) const { return run.WalkedAt(i); }
  void Prefetch(int64_t) const {}
  void Write(int64_t place, int64_t walked) const { copier.Copy(place, walked); }
};

// The places that one thread owns.
struct PlaceRange {
  int64_t begin;
  int64_t end;
};

// Writes the rows whose places are in the range. They are found without branches and their places
// are prefetched, because neither is predictable.
template <typename Target>
void ScatterRun(const Target& target, const RowRun& run, const PlaceRange& range) {
  std::array<int64_t, RowRun::kMaxCount> places;
  std::array<typename Target::Payload, RowRun::kMaxCount> payloads;
  size_t count = 0;
  for (int64_t i = 0; i < run.count; ++i) {
    const int64_t place = run.DataAt(i);
    places[count] = place;
    payloads[count] = target.Take(run, i);
    const bool is_in = run.HasPlace(i) & (range.begin <= place) & (place < range.end);
    count += is_in ? 1 : 0;
  }
  for (size_t i = 0; i < count; ++i) target.Prefetch(places[i]);
  for (size_t i = 0; i < count; ++i) target.Write(places[i], payloads[i]);
}

// Each thread walks all rows and writes those whose places it owns.
template <typename Target>
void ScatterTo(const Target& target, const RowPlan& plan, const PlaceRule& rule, int64_t extent) {
  const int64_t rows = plan.row_count();
  const int64_t threads = rows > plan.grain() ? ThreadsAtHand() : 1;
  const int64_t share = CeilDiv(extent, threads);
  ParallelFor(threads, 1, rows * plan.row_bytes(), [&](int64_t begin, int64_t end) {
    ForEachRowRun(plan, rule, 0, rows, [&](const RowRun& run) {
      ScatterRun(target, run, {begin * share, end * share});
    });
  });
}

}  // namespace

void ScatterRows(const IndexLinks& links, const PlaceRule& rule, const ConstTensorView& updates,
                 const Layout& index, const TensorView& data) {
  const RowPlan plan(links, updates.layout, AsConst(data), index);
  if (plan.has_long_rows()) return ScatterLongRows(plan, rule, updates, data);
  const RowCopier copier(plan, RowPlan::kWalked, data.data, updates.data);
  const int64_t extent = Extent(data.layout);
  if (!copier.is_element()) return ScatterTo(RowTarget{copier}, plan, rule, extent);
  VisitElementWidth(data.type, [&]<typename Bits>() {
    ScatterTo(ElementTarget<Bits>{updates.elements<Bits>(), data.elements<Bits>()}, plan, rule,
              extent);
  });
}

// --- copying and scattering ----------------------------------------------------------------------

namespace {

constexpr int64_t kPartBytes = kReadAheadBytes / 2;  // fits in the second-level cache

// A dimension along which the output is cut: no index chooses a place beyond its own part.
struct PartDim {
  size_t walked;
  size_t data;
  size_t index;
  int64_t size;
  int64_t step;
};

struct Operands {
  ConstTensorView input, index, updates;
  TensorView output;
};

// Parts of the output that no update leaves.
class Parts {
 public:
  Parts(const IndexLinks& links, const Operands& whole) : whole_(whole) {
    const Layout& output = whole.output.layout;
    for (size_t d = 0; d < links.dims.size(); ++d) {
      const auto [data, index] = links.dims[d];
      if (data == IndexLinks::kNone || index == IndexLinks::kNone) continue;
      dims_.push_back({d, data, index, output.sizes[data], output.sizes[data]});
    }
    std::stable_sort(dims_.begin(), dims_.end(), [&](const PartDim& a, const PartDim& b) {
      return output.strides[a.data] > output.strides[b.data];
    });
    const int64_t all = whole.output.element_bytes();
    Cut(std::clamp(all / ThreadsAtHand(), kParallelBytes, kPartBytes));
  }

  int64_t count() const { return Product(grid_); }
  int64_t bytes() const { return bytes_; }

  Operands At(int64_t number) const {
    Operands part = whole_;
    const Dims place = IndexOf(grid_, number);
    for (size_t i = 0; i < dims_.size(); ++i) {
      const PartDim& dim = dims_[i];
      const int64_t start = place[i] * dim.step;
      const int64_t size = std::min(dim.step, dim.size - start);
      part.input = part.input.Slice(dim.data, start, size);
      part.output = part.output.Slice(dim.data, start, size);
      part.index = part.index.Slice(dim.index, start, size);
      part.updates = part.updates.Slice(dim.walked, start, size);
    }
    return part;
  }

 private:
  // Cuts the output into parts of at most `most` bytes, if that is possible with whole cache lines.
  void Cut(int64_t most) {
    const int64_t width = static_cast<int64_t>(ByteWidth(whole_.output.type));
    bytes_ = whole_.output.element_bytes();
    for (PartDim& dim : dims_) {
      const bool is_line = whole_.output.layout.strides[dim.data] == 1;
      const int64_t least = std::min(dim.size, is_line ? kLineBytes / width : 1);
      const int64_t bytes = bytes_ / dim.size;
      if (bytes_ > most) dim.step = std::clamp(most / bytes, least, dim.size);
      bytes_ = bytes * dim.step;
      grid_.push_back(CeilDiv(dim.size, dim.step));
    }
  }

  const Operands& whole_;
  std::vector<PartDim> dims_;  // strides of the output decrease
  Dims grid_;
  int64_t bytes_;  // size of the largest part
};

void Scatter(const IndexLinks& links, const Operands& operands) {
  const auto places = ChosenPlaces(links, operands.output.layout, operands.index);
  ScatterRows(links, *places, operands.updates, operands.index.layout, operands.output);
}

void RunMove(const ConstTensorView& from, const TensorView& to, int64_t all_bytes) {
  const TiledMove move(from, to, all_bytes, nullptr);
  move.Run(0, move.tiles(), 0, 0);
}

}  // namespace

void CopyAndScatter(const IndexLinks& links, const ConstTensorView& input,
                    const ConstTensorView& index, const ConstTensorView& updates,
                    const TensorView& output) {
  const Operands whole{input, index, updates, output};
  const Parts parts(links, whole);
  if (parts.count() == 1 || parts.bytes() > kPartBytes) {
    CopyView(input, output);
    return Scatter(links, whole);
  }
  // A part is packed in a cache even if the lines of the output are far apart.
  const int64_t all_bytes = output.element_bytes();
  ParallelFor(parts.count(), 1, all_bytes, [&](int64_t begin, int64_t end) {
    Buffer buffer(static_cast<size_t>(parts.bytes()));
    for (int64_t number = begin; number < end; ++number) {
      Operands part = parts.At(number);
      const TensorView to = part.output;
      part.output = {buffer.data(), to.type, PackedLayout(to.layout.sizes)};
      RunMove(part.input, part.output, /*all_bytes=*/0);
      Scatter(links, part);
      RunMove(AsConst(part.output), to, all_bytes);
    }
    FlushStreams();
  });
}

// --- plans ---------------------------------------------------------------------------------------

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
