// Where planes of UNFOLD are copied from that are runs: the input itself or, where windows move by
// several elements, images of its phases.
#pragma once

#include <memory>
#include <optional>
#include <span>

#include "core/kernels/gapped_rows.h"
#include "core/ops/unfold_geometry.h"
#include "core/ops/unfold_phases.h"

namespace dmlop {

// What two taps, of the last two dimensions, see: the same in every channel.
GappedRows RowsOfTap(const UnfoldGeometry& geometry, const std::optional<UnfoldPhases>& phases,
                     int64_t row_tap, int64_t column_tap);

// One for each thread.
class UnfoldSource {
 public:
  // Keeps both.
  UnfoldSource(const UnfoldGeometry& geometry, const std::optional<UnfoldPhases>& phases);

  // Makes these rows of the place's channel ready. Those of a channel are asked for in their order.
  void Prepare(const UnfoldPlace& place, Range rows);

  // What Prepare would read to make the rows up to there ready.
  std::span<const std::byte> NextRows(const UnfoldPlace& place, int64_t end) const;

  // The source of the rows of taps, as far as it is ready; null where the plane lies in the
  // padding.
  const std::byte* PlaneOf(const UnfoldPlace& place) const {
    return phases_ ? images_.get() : geometry_.InputPlane(place);
  }

 private:
  const UnfoldGeometry& geometry_;
  const std::optional<UnfoldPhases>& phases_;
  std::unique_ptr<std::byte[]> images_;  // of the channel
  int64_t n_ = -1, channel_ = -1;
  int64_t ready_ = 0;  // where the rows end that the images hold
};

}  // namespace dmlop
