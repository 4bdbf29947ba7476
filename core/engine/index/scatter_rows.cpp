// SPDX-License-Identifier: Apache-2.0
#include <array>

#include "core/base/integers.h"
#include "core/base/parallel.h"
#include "core/engine/copy/copy_views.h"
#include "core/engine/index/indexed_rows.h"
#include "core/engine/index/row_plan.h"
#include "core/tensor/visit_data_type.h"

namespace dmlop {
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

// A target takes from a row what is to be written: an element's value, or where the row begins in
// the updates.
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

}  // namespace dmlop
