// SPDX-License-Identifier: Apache-2.0
// Rows that lie side by side in one destination, and the quickest way to pack them.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "core/kernels/copy/copy.h"

namespace dmlop {

class RowGroup {
 public:
  // `width` is the size of an element in bytes.
  RowGroup(std::span<const RowsCopy> copies, int64_t width);

  int64_t row_bytes() const { return row_bytes_; }
  std::byte* row(int64_t number) const { return copies_.front().to + number * pitch(); }
  bool is_packed() const { return pitch() == row_bytes_; }
  std::span<const RowsCopy> copies() const { return copies_; }

  // Packs `rows` rows, from number `row` on, to `to`, laid out as in the destination.
  void Pack(int64_t row, int64_t rows, std::byte* to) const;

 private:
  int64_t pitch() const { return copies_.front().to_pitch; }
  void PlanShuffles(int64_t width);
  bool TryPlanShuffles(int64_t width, int64_t block_rows);
  bool CanGoByRows() const;
  void Copy(int64_t row, int64_t rows, std::byte* to) const;
  void CopyByRows(int64_t row, int64_t rows, std::byte* to) const;
  void Shuffle(int64_t row, int64_t blocks, std::byte* to) const;

  std::span<const RowsCopy> copies_;
  int64_t row_bytes_ = 0;
  CopyTileFunction copy_ = CopyTileFor(1);  // rows are counted in bytes
  ShuffleFunction shuffle_ = ShuffleForIsa();
  bool goes_by_rows_;  // copies one row of each copy in turn
  ShortRowsFunction copy_short_ = ShortRowsForIsa();
  std::optional<ShuffleProgram> program_;  // set if vectors hold pieces of several rows
  int64_t block_rows_ = 1;                 // rows that the program packs at once
};

// Divides the copies, in their order, into groups that are as long as possible.
std::vector<RowGroup> GroupsOf(std::span<const RowsCopy> copies, int64_t width);

// --- shuffles ------------------------------------------------------------------------------------

// Plans how vector shuffles compose short rows and small planes.

// The place from which an element of a block's destination is copied.
struct Origin {
  size_t source;
  int64_t offset;  // in bytes from the beginning of the source's block
};

// The program for blocks of consecutive elements of `width` bytes; elements without an origin
// become zero. It touches only each block's destination and, in each source, what lies between the
// first and the last origin. Null if one of these is shorter than a vector.
std::optional<ShuffleProgram> PlanShuffle(std::span<const std::optional<Origin>> origins,
                                          int64_t width, int64_t to_step,
                                          std::vector<int64_t> from_steps);

}  // namespace dmlop
