// SPDX-License-Identifier: Apache-2.0
#include "core/engine/matrix/matrix_product.h"

#include <algorithm>
#include <array>
#include <optional>
#include <vector>

#include "core/base/integers.h"
#include "core/base/memory.h"
#include "core/base/parallel.h"
#include "core/engine/matrix/product_grid.h"
#include "core/engine/matrix/tile_results.h"
#include "core/kernels/matrix/product.h"

namespace dmlop {
namespace {

// Number of columns whose sums stay in the first-level cache: many if neighbours are read in place,
// fewer if columns are packed, because the second-level cache must hold those, too.
constexpr int64_t kNeighbours = 22 * kMaxPanelWidth;
constexpr int64_t kLongLines = kMaxPanelWidth;
constexpr int64_t kMostPacked = 1 << 15;  // in elements

class ThinProduct {
 public:
  ThinProduct(const MatrixLines& rows, const MatrixLines& columns, const MatrixTerms& terms,
              const MatrixOutput& output)
      : rows_(rows),
        columns_(columns),
        terms_(terms),
        output_(output),
        plain_(columns.AsPlain()),
        step_(StepOf(rows.length())),
        vector_(static_cast<size_t>(rows.length())) {
    rows.Extract(0, vector_.data());
  }

  void Run() const {
    const int64_t grain = std::max<int64_t>(1, kParallelElements / (step_ * rows_.length()));
    ParallelFor(CeilDiv(columns_.count(), step_), grain, 0, [&](int64_t begin, int64_t end) {
      TileResults results(rows_, columns_, terms_, output_);
      for (int64_t i = begin; i < end; ++i) {
        RunPart({i * step_, std::min(step_, columns_.count() - i * step_)}, results);
      }
      results.ComputeDoubtful();
    });
  }

 private:
  using Numbers = std::array<double, kNeighbours>;

  int64_t StepOf(int64_t length) const {
    if (plain_) return HasLongLines() ? kLongLines : kNeighbours;
    const int64_t columns = kMostPacked / std::min(length, kChainLength);
    return std::clamp(columns / kMaxPanelWidth * kMaxPanelWidth, kMaxPanelWidth, kNeighbours);
  }

  bool HasLongLines() const { return plain_ && plain_->inner_stride == 1; }

  void RunPart(IndexRange columns, TileResults& results) const {
    alignas(64) Numbers sums;
    alignas(64) Numbers magnitudes;
    std::fill(sums.begin(), sums.end(), -0.0);
    std::fill(magnitudes.begin(), magnitudes.end(), 0.0);
    if (HasLongLines()) {
      Add(columns, {0, rows_.length()}, sums, magnitudes);
    } else {
      for (int64_t k = 0; k < rows_.length(); k += kChainLength) {
        AddChains(columns, {k, std::min(kChainLength, rows_.length() - k)}, sums, magnitudes);
      }
    }
    const int64_t width = ProductKernelsNow().column_width;
    for (int64_t c = 0; c < columns.count; c += width) {
      TileSums tile{};
      tile.rows = {0, 1};
      tile.columns = {columns.begin + c, std::min(width, columns.count - c)};
      tile.sums = sums.data() + c;
      // The relative error is enlarged because the magnitudes are rounded, too.
      tile.row_errors[0] = RelativeError(rows_.length()) * (1 + 0x1p-20);
      tile.column_norms = magnitudes.data() + c;
      tile.absent_columns = columns_.WithAbsent(tile.columns);
      results.Finish(tile);
    }
  }

  void AddChains(IndexRange columns, IndexRange elements, Numbers& sums,
                 Numbers& magnitudes) const {
    alignas(64) Numbers chains;
    alignas(64) Numbers chain_magnitudes;
    std::fill_n(chains.begin(), columns.count, -0.0);
    std::fill_n(chain_magnitudes.begin(), columns.count, 0.0);
    Add(columns, elements, chains, chain_magnitudes);
    for (size_t i = 0; i < static_cast<size_t>(columns.count); ++i) {
      sums[i] += chains[i];
      magnitudes[i] += chain_magnitudes[i];
    }
  }

  void Add(IndexRange columns, IndexRange elements, Numbers& sums, Numbers& magnitudes) const {
    ThinCall call{};
    call.lines = columns.count;
    call.depth = elements.count;
    call.vector = vector_.data() + elements.begin;
    call.sums = sums.data();
    call.magnitudes = magnitudes.data();
    if (plain_) {
      const int64_t offset =
          columns.begin * plain_->line_stride + elements.begin * plain_->inner_stride;
      call.data = plain_->data + offset * static_cast<int64_t>(ByteWidth(plain_->type));
      call.line_stride = plain_->line_stride;
      call.inner_stride = plain_->inner_stride;
      ThinFunctionFor(plain_->type)(call);
    } else {
      AddPacked(columns, elements, call);
    }
  }

  void AddPacked(IndexRange columns, IndexRange elements, ThinCall& call) const {
    const AlignedNumbers<double> packed(columns.count * elements.count);
    columns_.Pack(columns, elements, columns.count, packed.data());
    call.data = reinterpret_cast<const std::byte*>(packed.data());
    call.line_stride = 1;
    call.inner_stride = columns.count;
    ThinFunctionFor(DataType::kFloat64)(call);
  }

  const MatrixLines& rows_;
  const MatrixLines& columns_;
  const MatrixTerms& terms_;
  const MatrixOutput& output_;
  std::optional<PlainLines> plain_;
  int64_t step_;  // columns computed at a time
  std::vector<double> vector_;
};

}  // namespace

bool IsThin(const MatrixLines& rows, const MatrixLines& columns) {
  if (rows.count() > 1 || rows.HasAbsent(0)) return false;
  if (columns.PacksAnyNumber()) return true;
  const std::optional<PlainLines> plain = columns.AsPlain();
  return plain && (plain->line_stride == 1 || plain->inner_stride == 1);
}

void MultiplyThin(const MatrixLines& rows, const MatrixLines& columns, const MatrixTerms& terms,
                  const MatrixOutput& output) {
  ThinProduct(rows, columns, terms, output).Run();
}

}  // namespace dmlop
