// Where planes of UNFOLD are copied from that are runs: the input itself or, where windows move by
// several elements, images of its phases. One for each thread.
#pragma once

#include <memory>
#include <optional>

#include "core/kernels/gapped_rows.h"
#include "core/ops/unfold_geometry.h"
#include "core/ops/unfold_phases.h"

namespace dmlop {

class UnfoldSource {
 public:
  // Keeps both.
  UnfoldSource(const UnfoldGeometry& geometry, const std::optional<UnfoldPhases>& phases);

  // Makes these rows of the place's channel ready. Those of a channel are asked for in their order.
  void Prepare(const UnfoldPlace& place, Range rows);

  // A plane, as far as its rows are ready.
  GappedRows RowsOf(const UnfoldPlace& place) const;

 private:
  const std::byte* From(const UnfoldGeometry::InsidePart& inside) const;

  const UnfoldGeometry& geometry_;
  const std::optional<UnfoldPhases>& phases_;
  std::unique_ptr<std::byte[]> images_;  // of the channel
  int64_t n_ = -1, channel_ = -1;
  int64_t ready_ = 0;  // where the rows end that the images hold
};

}  // namespace dmlop
