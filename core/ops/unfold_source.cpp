#include "core/ops/unfold_source.h"

namespace dmlop {
namespace {

int64_t OffsetOf(const UnfoldGeometry& geometry, const std::optional<UnfoldPhases>& phases,
                 int64_t row, int64_t column) {
  if (phases) return phases->Offset(row, column);
  return row * geometry.row_dim().step + column * geometry.column_dim().step;
}

int64_t RowPitch(const UnfoldGeometry& geometry, const std::optional<UnfoldPhases>& phases) {
  if (phases) return phases->row_pitch();
  return geometry.row_dim().stride * geometry.row_dim().step;
}

}  // namespace

GappedRows RowsOfTap(const UnfoldGeometry& geometry, const std::optional<UnfoldPhases>& phases,
                     int64_t row_tap, int64_t column_tap) {
  const UnfoldGeometry::InsidePart inside = geometry.InsideOf(row_tap, column_tap);
  if (inside.rows.count() == 0 || inside.columns.count() == 0) return {};
  const int64_t width = geometry.width();
  const int64_t pitch = geometry.column_dim().blocks * width;
  return {inside.rows.begin * pitch + inside.columns.begin * width,
          inside.rows.count(),
          inside.columns.count() * width,
          pitch,
          OffsetOf(geometry, phases, inside.row, inside.column) * width,
          RowPitch(geometry, phases) * width};
}

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

std::span<const std::byte> UnfoldSource::NextRows(const UnfoldPlace& place, int64_t end) const {
  if (!phases_) return {};
  const int64_t row_bytes = geometry_.row_dim().step * geometry_.width();
  return geometry_.PackedInput(geometry_.Channel(place) + ready_ * row_bytes,
                               (end - ready_) * row_bytes);
}

}  // namespace dmlop
