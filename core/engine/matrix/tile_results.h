// SPDX-License-Identifier: Apache-2.0
// Rounds the sums of a tile to results; unresolved ones are computed once more, exactly.
#pragma once

#include <array>
#include <span>
#include <vector>

#include "core/engine/matrix/matrix_product.h"
#include "core/kernels/matrix/product.h"

namespace dmlop {

// --- elements for which the fast sum cannot decide the rounding ----------------------------------

struct MatrixPlace {
  int64_t row, column;
};

// Computes the output's elements at `places`, whose order may change.
void ResolveExactly(const MatrixLines& rows, const MatrixLines& columns, const MatrixTerms& terms,
                    const MatrixOutput& output, std::span<MatrixPlace> places);

// --- tiles ---------------------------------------------------------------------------------------

inline constexpr int64_t kMaxRowWidth = 8;
inline constexpr int64_t kMaxTile = kMaxRowWidth * kMaxPanelWidth;

// The additions that follow one another in a sum of `length` products, in chains of kChainLength.
int64_t ChainedAdditions(int64_t length);

// The error bound of a sum with so many such additions, relative to the sum of the magnitudes.
constexpr double RelativeErrorOf(int64_t additions) {
  return static_cast<double>(additions) * 0x1p-53 * (1 + 0x1p-20);
}

// Rows of sums, each as long as the column width of ProductKernels, and their error bounds:
// row_errors of the row times column_norms of the column, or 0 if that is below `exact_below`.
struct TileSums {
  IndexRange rows;
  IndexRange columns;
  const double* sums;
  std::array<double, kMaxRowWidth> row_errors;
  const double* column_norms;
  double exact_below;
  uint32_t absent_columns;  // a bit mask of the columns with absent elements
};

// Serves one thread. All that it refers to must outlive it.
class TileResults {
 public:
  TileResults(const MatrixLines& rows, const MatrixLines& columns, const MatrixTerms& terms,
              const MatrixOutput& output);

  void Finish(const TileSums& tile);

  // Computes the unresolved results that remain; to be called at the end.
  void ResolveAll();

 private:
  using Offsets = std::array<int64_t, kMaxPanelWidth>;
  using RowMasks = std::array<uint32_t, kMaxRowWidth>;  // a bit for each column

  // Offsets in the output.
  struct Places {
    Offsets rows, columns;
    bool are_direct;  // true if a row consists of whole vectors of neighbours; then only the first
                      // column is set
  };

  void LoadAddends(const TileSums& tile);
  void AddAddends(IndexRange rows, IndexRange columns);
  void LoadAddend(const MatrixAddend& addend, IndexRange rows, IndexRange columns,
                  double* to) const;
  Places PlacesOf(const TileSums& tile);
  // Returns where each row of a tile is rounded to.
  std::array<void*, kMaxRowWidth> ResultsAt(const Places& places, int64_t rows);
  void Store(const TileSums& tile, const Places& places) const;
  void AddUnresolved(const TileSums& tile, const RowMasks& unresolved);

  const MatrixLines& rows_;
  const MatrixLines& columns_;
  const MatrixTerms& terms_;
  const MatrixOutput& output_;
  LineOffsets row_offsets_, column_offsets_;
  int64_t result_bytes_;
  int64_t width_;
  int64_t lanes_;  // of a vector
  RoundingFunction* round_;
  std::vector<MatrixPlace> unresolved_;
  bool addends_repeat_;        // in each row, as a bias does
  IndexRange repeated_{0, 0};  // the columns whose addends are loaded if they repeat
  alignas(64) std::array<double, kMaxTile> addends_;
  alignas(64) std::array<double, kMaxTile> addend_errors_;
  alignas(64) std::array<std::byte, kMaxTile * sizeof(float)> results_;
};

}  // namespace dmlop
