// SPDX-License-Identifier: Apache-2.0
#include "core/engine/copy/row_group.h"

#include <algorithm>
#include <array>
#include <limits>

#include "core/base/integers.h"

namespace dmlop {
namespace {

constexpr int64_t kMaxShuffledBytes = 16;  // per row of a copy, on average
constexpr size_t kMaxShuffledCopies = 64;
constexpr int64_t kMinBytesByRows = 5;       // per row of a copy, on average; shuffles win below it
constexpr int64_t kMaxBlockBytes = 1 << 10;  // keeps the program in the first-level cache
constexpr int64_t kMinBlocks = 64;           // fewer blocks do not repay the planning

// True if the vectors of a block hardly overlap.
bool FillsVectors(int64_t block_bytes) {
  const int64_t vectors = CeilDiv(block_bytes, kShuffleBytes);
  return block_bytes * 16 >= vectors * kShuffleBytes * 15;
}

}  // namespace

RowGroup::RowGroup(std::span<const RowsCopy> copies, int64_t width) : copies_(copies) {
  for (const RowsCopy& copy : copies) row_bytes_ += copy.row_bytes;
  goes_by_rows_ = CanGoByRows();
  if (!goes_by_rows_) PlanShuffles(width);
}

bool RowGroup::CanGoByRows() const {
  const int64_t count = std::ssize(copies_);
  return is_packed() && count > 1 && copies_.size() <= kMaxShortCopies &&
         row_bytes_ >= count * kMinBytesByRows && row_bytes_ < count * kMaxShuffledBytes &&
         std::all_of(copies_.begin(), copies_.end(), [](const RowsCopy& copy) {
           return copy.row_bytes <= kMaxShortCopyBytes && copy.from_pitch >= copy.row_bytes;
         });
}

void RowGroup::PlanShuffles(int64_t width) {
  const int64_t count = std::ssize(copies_);
  if (!is_packed() || copies_.size() > kMaxShuffledCopies ||
      row_bytes_ >= count * kMaxShuffledBytes) {
    return;
  }
  const int64_t max_rows = std::min(copies_.front().rows / kMinBlocks, kMaxBlockBytes / row_bytes_);
  for (int64_t rows = 1; rows <= std::min(max_rows, kShuffleBytes); ++rows) {
    if (FillsVectors(rows * row_bytes_) && TryPlanShuffles(width, rows)) return;
  }
}

bool RowGroup::TryPlanShuffles(int64_t width, int64_t block_rows) {
  std::vector<int64_t> steps;
  for (const RowsCopy& copy : copies_) {
    steps.push_back(block_rows * copy.from_pitch);
    if ((block_rows - 1) * copy.from_pitch + copy.row_bytes < kShuffleBytes) return false;
  }
  std::vector<std::optional<Origin>> origins;
  for (int64_t row = 0; row < block_rows; ++row) {
    for (size_t c = 0; c < copies_.size(); ++c) {
      for (int64_t byte = 0; byte < copies_[c].row_bytes; byte += width) {
        origins.push_back(Origin{c, row * copies_[c].from_pitch + byte});
      }
    }
  }
  program_ = PlanShuffle(origins, width, block_rows * row_bytes_, std::move(steps));
  if (!program_) return false;
  block_rows_ = block_rows;
  // A term costs as much as copying a piece of a row, and twice as much as packing a row.
  const int64_t max_terms = copies_.size() == 1 ? block_rows / 2 : block_rows * std::ssize(copies_);
  if (std::ssize(program_->terms) > max_terms) program_.reset();
  return true;
}

void RowGroup::Pack(int64_t row, int64_t rows, std::byte* to) const {
  if (goes_by_rows_) return CopyByRows(row, rows, to);
  if (!program_ || rows < block_rows_) return Copy(row, rows, to);
  Shuffle(row, rows / block_rows_, to);
  // The last block overlaps the one before it.
  if (rows % block_rows_ != 0) {
    Shuffle(row + rows - block_rows_, 1, to + (rows - block_rows_) * row_bytes_);
  }
}

void RowGroup::Copy(int64_t row, int64_t rows, std::byte* to) const {
  for (const RowsCopy& copy : copies_) {
    copy_({rows, copy.row_bytes, pitch(), 1, copy.from_pitch, 1}, to,
          copy.from + row * copy.from_pitch);
    to += copy.row_bytes;
  }
}

void RowGroup::CopyByRows(int64_t row, int64_t rows, std::byte* to) const {
  std::array<RowsCopy, kMaxShortCopies> copies;
  int64_t offset = 0;
  for (size_t c = 0; c < copies_.size(); ++c) {
    copies[c] = copies_[c];
    copies[c].rows = rows;
    copies[c].to = to + offset;
    copies[c].from += row * copies_[c].from_pitch;
    offset += copies_[c].row_bytes;
  }
  const int64_t copied = copy_short_(std::span(copies).first(copies_.size()));
  Copy(row + copied, rows - copied, to + copied * row_bytes_);
}

void RowGroup::Shuffle(int64_t row, int64_t blocks, std::byte* to) const {
  std::array<const std::byte*, kMaxShuffledCopies> from;
  for (size_t c = 0; c < copies_.size(); ++c) {
    from[c] = copies_[c].from + row * copies_[c].from_pitch;
  }
  shuffle_(*program_, blocks, to, from.data());
}

std::vector<RowGroup> GroupsOf(std::span<const RowsCopy> copies, int64_t width) {
  std::vector<RowGroup> groups;
  size_t begin = 0;
  int64_t row_bytes = 0;
  for (size_t end = 1; end <= copies.size(); ++end) {
    const RowsCopy& first = copies[begin];
    row_bytes += copies[end - 1].row_bytes;
    if (end < copies.size() && copies[end].to == first.to + row_bytes &&
        copies[end].to_pitch == first.to_pitch &&
        row_bytes + copies[end].row_bytes <= first.to_pitch) {
      continue;
    }
    groups.emplace_back(copies.subspan(begin, end - begin), width);
    begin = end;
    row_bytes = 0;
  }
  return groups;
}

// --- shuffles ------------------------------------------------------------------------------------

namespace {

// The range of bytes that a block may read from a source.
struct Extent {
  int64_t begin = std::numeric_limits<int64_t>::max();
  int64_t end = 0;
};

class Planner {
 public:
  Planner(std::span<const std::optional<Origin>> origins, int64_t width, int64_t to_step,
          std::vector<int64_t> from_steps)
      : origins_(origins),
        width_(width),
        extents_(from_steps.size()),
        program_{to_step, std::move(from_steps), {}, {}} {
    for (const std::optional<Origin>& origin : origins) {
      if (!origin) continue;
      Extent& extent = extents_[origin->source];
      extent.begin = std::min(extent.begin, origin->offset);
      extent.end = std::max(extent.end, origin->offset + width);
    }
  }

  std::optional<ShuffleProgram> Plan() {
    const int64_t bytes = std::ssize(origins_) * width_;
    if (bytes < kShuffleBytes) return std::nullopt;
    for (const Extent& extent : extents_) {
      if (extent.end - extent.begin < kShuffleBytes) return std::nullopt;
    }
    for (int64_t to = 0; to < bytes; to += kShuffleBytes) {
      AddVector(std::min(to, bytes - kShuffleBytes));  // the last vector may overlap the one before
    }
    return std::move(program_);
  }

 private:
  void AddVector(int64_t to) {
    const size_t first_term = program_.terms.size();
    for (int64_t i = 0; i < kShuffleBytes; i += width_) {
      const std::optional<Origin>& origin = origins_[static_cast<size_t>((to + i) / width_)];
      if (!origin) continue;
      ShuffleTerm& term = TermFor(*origin, first_term);
      for (int64_t byte = 0; byte < width_; ++byte) {
        term.table[static_cast<size_t>(i + byte)] =
            static_cast<uint8_t>(origin->offset - term.from + byte);
      }
    }
    program_.vectors.push_back({to, program_.terms.size() - first_term});
  }

  ShuffleTerm& TermFor(const Origin& origin, size_t first_term) {
    for (size_t t = first_term; t < program_.terms.size(); ++t) {
      ShuffleTerm& term = program_.terms[t];
      if (term.source == origin.source && term.from <= origin.offset &&
          origin.offset + width_ <= term.from + kShuffleBytes) {
        return term;
      }
    }
    ShuffleTerm term;
    term.table.fill(ShuffleTerm::kNone);
    term.source = origin.source;
    term.from = std::min(origin.offset, extents_[origin.source].end - kShuffleBytes);
    return program_.terms.emplace_back(term);
  }

  std::span<const std::optional<Origin>> origins_;
  int64_t width_;
  std::vector<Extent> extents_;  // one for each source
  ShuffleProgram program_;
};

}  // namespace

std::optional<ShuffleProgram> PlanShuffle(std::span<const std::optional<Origin>> origins,
                                          int64_t width, int64_t to_step,
                                          std::vector<int64_t> from_steps) {
  return Planner(origins, width, to_step, std::move(from_steps)).Plan();
}

}  // namespace dmlop
