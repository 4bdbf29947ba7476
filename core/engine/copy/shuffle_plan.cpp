// SPDX-License-Identifier: Apache-2.0
#include "core/engine/copy/shuffle_plan.h"

#include <algorithm>
#include <limits>

namespace dmlop {
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
