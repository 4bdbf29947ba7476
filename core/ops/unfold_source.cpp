#include "core/ops/unfold_source.h"

namespace dmlop {

UnfoldSource::UnfoldSource(const UnfoldGeometry& geometry,
                           const std::optional<UnfoldPhases>& phases)
    : geometry_(geometry), phases_(phases) {
  if (!phases) return;
  images_ = std::make_unique_for_overwrite<std::byte[]>(static_cast<size_t>(phases->bytes()));
}

void UnfoldSource::Prepare(const UnfoldPlace& place, Range rows) {
  if (!phases_) return;
  if (place.n != n_ || place.channel != channel_) ready_ = rows.begin;
  n_ = place.n;
  channel_ = place.channel;
  const Range missing{std::max(rows.begin, ready_), rows.end};
  if (missing.count() == 0) return;
  phases_->Fill(missing, geometry_.Channel(place), images_.get());
  ready_ = rows.end;
}

const std::byte* UnfoldSource::From(const UnfoldGeometry::InsidePart& inside) const {
  const int64_t width = geometry_.width();
  if (phases_) return images_.get() + phases_->Offset(inside.row, inside.column) * width;
  return inside.plane +
         (inside.row * geometry_.row_dim().step + inside.column * geometry_.column_dim().step) *
             width;
}

GappedRows UnfoldSource::RowsOf(const UnfoldPlace& place) const {
  const UnfoldGeometry::InsidePart inside = geometry_.InsideOf(place);
  if (inside.rows.count() == 0 || inside.columns.count() == 0) return {};
  const int64_t width = geometry_.width();
  const int64_t pitch = geometry_.column_dim().blocks * width;
  return {inside.rows.begin * pitch + inside.columns.begin * width, inside.rows.count(),
          inside.columns.count() * width, pitch, From(inside)};
}

}  // namespace dmlop
