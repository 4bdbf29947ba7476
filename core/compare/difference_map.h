// SPDX-License-Identifier: Apache-2.0
// A map of where two tensors differ: a grid over one plane of them, onto which the other dimensions
// are projected.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <memory>

#include "core/compare/map_plane.h"
#include "core/tensor/dims.h"

namespace dmlop {

class DifferenceMap {
 public:
  // The badness of a cell is that of its worst element: 0 if all pass, 1 + its UlpBin, or a
  // mismatch.
  static constexpr uint8_t kPasses = 0;
  static constexpr uint8_t kMismatch = 67;

  // `sizes` are the tensors', without any 0.
  DifferenceMap(const Dims& sizes, const MapLimits& limits);

  const MapGrid& grid() const { return grid_; }
  const MapPlane& plane() const { return plane_; }

  // Returns the number of elements that do not pass.
  int64_t count(int64_t row, int64_t column) const { return At(row, column).count; }
  uint8_t worst(int64_t row, int64_t column) const { return At(row, column).worst; }

  // Returns the worst of all cells.
  uint8_t worst() const;

  // Returns the share of a cell's elements that do not pass.
  double share(int64_t row, int64_t column) const;

  // Subtracts from the UlpBin of each cell, where all are 0 or greater.
  void LowerBins(uint8_t bins);

  // Adds elements from one thread. Adjacent ones are accumulated before the map is touched.
  class Writer {
   public:
    explicit Writer(DifferenceMap& map) : map_(&map) {}
    Writer(const Writer&) = delete;
    Writer& operator=(const Writer&) = delete;
    Writer(Writer&& other) noexcept;
    ~Writer() { Flush(); }

    // `index` is the element's row-major number.
    void Add(int64_t index, uint8_t badness) {
      if (index < begin_ || index >= end_) MoveTo(index);
      ++count_;
      worst_ = std::max(worst_, badness);
    }

   private:
    void MoveTo(int64_t index);
    void Flush();

    DifferenceMap* map_;
    int64_t begin_ = 0;  // elements of the part of a cell's row being accumulated
    int64_t end_ = 0;
    size_t cell_ = 0;
    int64_t count_ = 0;
    uint8_t worst_ = kPasses;
  };

 private:
  struct Cell {
    std::atomic<int64_t> count = 0;
    std::atomic<uint8_t> worst = kPasses;
  };

  const Cell& At(int64_t row, int64_t column) const {
    return cells_[static_cast<size_t>(row * grid_.columns.cells + column)];
  }

  MapPlane plane_;
  MapGrid grid_;
  int64_t row_stride_;  // in the row-major order of all elements; that of columns is 1
  int64_t layers_;      // number of coordinates of all other dimensions
  std::unique_ptr<Cell[]> cells_;
};

}  // namespace dmlop
