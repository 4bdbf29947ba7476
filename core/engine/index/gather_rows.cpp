// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "core/base/integers.h"
#include "core/base/machine.h"
#include "core/base/parallel.h"
#include "core/engine/copy/copy_views.h"
#include "core/engine/index/indexed_rows.h"
#include "core/engine/index/row_plan.h"
#include "core/kernels/copy/stream.h"
#include "core/kernels/simd/prefetch.h"
#include "core/tensor/visit_data_type.h"

namespace dmlop {
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

}  // namespace dmlop
