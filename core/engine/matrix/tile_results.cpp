// SPDX-License-Identifier: Apache-2.0
#include "core/engine/matrix/tile_results.h"

#include <algorithm>
#include <bit>
#include <cmath>

#include "core/base/integers.h"
#include "core/exact/double_double.h"
#include "core/kernels/matrix/pack.h"
#include "core/tensor/element.h"
#include "core/tensor/visit_data_type.h"

namespace dmlop {
namespace {

// Number of unresolved results above which they are computed.
constexpr size_t kMostUnresolved = 1 << 16;

bool Repeat(const std::vector<MatrixAddend>& addends) {
  return std::ranges::all_of(addends, [](const MatrixAddend& addend) {
    return std::ranges::all_of(addend.at.rows.strides, [](int64_t stride) { return stride == 0; });
  });
}

}  // namespace

int64_t ChainedAdditions(int64_t length) {
  return std::min(kChainLength, length) - 1 + CeilDiv(length, kChainLength);
}

TileResults::TileResults(const MatrixLines& rows, const MatrixLines& columns,
                         const MatrixTerms& terms, const MatrixOutput& output)
    : rows_(rows),
      columns_(columns),
      terms_(terms),
      output_(output),
      row_offsets_(output.rows),
      column_offsets_(output.columns),
      result_bytes_(static_cast<int64_t>(ByteWidth(output.type))),
      width_(ProductKernelsNow().column_width),
      lanes_(ProductKernelsNow().lanes),
      round_(RoundingFunctionFor(output.type)),
      addends_repeat_(Repeat(terms.addends)) {}

void TileResults::ResolveAll() {
  if (unresolved_.empty()) return;
  ResolveExactly(rows_, columns_, terms_, output_, unresolved_);
  unresolved_.clear();
}

void TileResults::Finish(const TileSums& tile) {
  LoadAddends(tile);
  const Places places = PlacesOf(tile);
  const std::array<void*, kMaxRowWidth> results = ResultsAt(places, tile.rows.count);
  RoundingCall call{};
  call.rows = tile.rows.count;
  call.columns = tile.columns.count;
  call.sums = tile.sums;
  call.stride = width_;
  call.row_errors = tile.row_errors.data();
  call.column_norms = tile.column_norms;
  call.exact_below = tile.exact_below;
  call.factor = terms_.factor;
  call.addends = terms_.addends.empty() ? nullptr : addends_.data();
  call.addend_errors = terms_.addends.size() < 2 ? nullptr : addend_errors_.data();
  call.addend_stride = addends_repeat_ ? 0 : width_;
  // Zeros in place of absent elements may have made a NaN, or changed the sign of a zero.
  call.strict_columns = tile.absent_columns;
  call.results = results.data();
  RowMasks unresolved;
  round_(call, unresolved.data());
  if (!places.are_direct) Store(tile, places);
  AddUnresolved(tile, unresolved);
}

std::array<void*, kMaxRowWidth> TileResults::ResultsAt(const Places& places, int64_t rows) {
  std::array<void*, kMaxRowWidth> results;
  for (int64_t r = 0; r < rows; ++r) {
    const size_t row = static_cast<size_t>(r);
    results[row] = places.are_direct
                       ? output_.data + (places.rows[row] + places.columns[0]) * result_bytes_
                       : results_.data() + r * width_ * result_bytes_;
  }
  return results;
}

void TileResults::AddUnresolved(const TileSums& tile, const RowMasks& unresolved) {
  for (int64_t r = 0; r < tile.rows.count; ++r) {
    for (uint32_t mask = unresolved[static_cast<size_t>(r)]; mask != 0; mask &= mask - 1) {
      const int64_t c = std::countr_zero(mask);
      if (c < tile.columns.count)
        unresolved_.push_back({tile.rows.begin + r, tile.columns.begin + c});
    }
  }
  if (unresolved_.size() > kMostUnresolved) ResolveAll();
}

// Addends that repeat in each row stay while tiles have the same columns.
void TileResults::LoadAddends(const TileSums& tile) {
  if (terms_.addends.empty()) return;
  if (!addends_repeat_) return AddAddends(tile.rows, tile.columns);
  if (tile.columns.begin == repeated_.begin && tile.columns.count == repeated_.count) return;
  repeated_ = tile.columns;
  AddAddends({0, 1}, tile.columns);
}

// Sums the addends and bounds the errors of these sums.
void TileResults::AddAddends(IndexRange rows, IndexRange columns) {
  const size_t count = static_cast<size_t>(rows.count * width_);
  for (size_t i = 0; i < terms_.addends.size(); ++i) {
    if (i == 0) {
      LoadAddend(terms_.addends[i], rows, columns, addends_.data());
      std::fill_n(addend_errors_.data(), count, 0.0);
      continue;
    }
    alignas(64) std::array<double, kMaxTile> terms;
    LoadAddend(terms_.addends[i], rows, columns, terms.data());
    for (size_t k = 0; k < count; ++k) {
      const HeadTail sum = TwoSum(addends_[k], terms[k]);
      addends_[k] = sum.head;
      addend_errors_[k] += std::fabs(sum.tail) * (1 + 0x1p-40);
    }
  }
}

void TileResults::LoadAddend(const MatrixAddend& addend, IndexRange rows, IndexRange columns,
                             double* to) const {
  Offsets row_offsets, column_offsets;
  FillOffsets(addend.at.rows, rows, row_offsets.data());
  FillOffsets(addend.at.columns, columns, column_offsets.data());
  const int64_t count = rows.count * width_;
  if (addend.at.type == DataType::kFloat64) {
    std::fill_n(to, count, 0.0);
    const double* from = reinterpret_cast<const double*>(addend.at.data);
    for (int64_t r = 0; r < rows.count; ++r) {
      for (int64_t c = 0; c < columns.count; ++c) {
        to[r * width_ + c] =
            from[row_offsets[static_cast<size_t>(r)] + column_offsets[static_cast<size_t>(c)]];
      }
    }
  } else {
    PackFunctionFor(addend.at.type)({addend.at.data, column_offsets.data(), columns.count,
                                     row_offsets.data(), rows.count, width_, to});
  }
  if (addend.factor == 1) return;
  for (int64_t k = 0; k < count; ++k) to[k] *= addend.factor;
}

TileResults::Places TileResults::PlacesOf(const TileSums& tile) {
  Places places;
  row_offsets_.Fill(tile.rows, places.rows.data());
  places.are_direct =
      tile.columns.count % lanes_ == 0 && column_offsets_.AreNeighbours(tile.columns);
  column_offsets_.Fill({tile.columns.begin, places.are_direct ? 1 : tile.columns.count},
                       places.columns.data());
  return places;
}

void TileResults::Store(const TileSums& tile, const Places& places) const {
  VisitElementWidth(output_.type, [&]<typename Bits>() {
    const Bits* from = reinterpret_cast<const Bits*>(results_.data());
    for (int64_t r = 0; r < tile.rows.count; ++r, from += width_) {
      Bits* to = reinterpret_cast<Bits*>(output_.data) + places.rows[static_cast<size_t>(r)];
      for (int64_t c = 0; c < tile.columns.count; ++c) {
        to[places.columns[static_cast<size_t>(c)]] = from[c];
      }
    }
  });
}

}  // namespace dmlop
