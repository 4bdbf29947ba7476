// SPDX-License-Identifier: Apache-2.0
// The search looks for runs, a few elements of one row each. First, all memory is scanned once for
// runs from several parts of the tensor, so that wrong elements in some do not matter, and for
// their neighbors along each dimension. If one is found, the positions of its neighbors give the
// stride of each dimension independently. The resulting candidate is checked on samples, then on
// all elements.
#include "core/compare/find_tensor.h"

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <set>
#include <tuple>
#include <utility>

#include "core/base/parallel.h"
#include "core/base/progress.h"
#include "core/tensor/loop_nest.h"

namespace dmlop {
namespace {

constexpr int64_t kGaps[] = {1, 2, 3, 4, 8, 16, 32, 64};  // strides along a run, by likelihood
constexpr size_t kSamples = 256;
constexpr size_t kLineSamples = 16;
constexpr size_t kMostPlaces = 8;

// A possible position of the tensor in memory.
struct Candidate {
  int64_t offset = 0;  // in bytes
  Dims strides;

  auto Key() const { return std::pair(offset, std::vector(strides.begin(), strides.end())); }
};

// Looks for as many equal elements in a row as a tensor of them has. No strides can be told from
// them; of places that overlap, that of aligned elements is taken, or else the first.
class EqualElements {
 public:
  EqualElements(std::span<const std::byte> memory, const ConstTensorView& tensor)
      : memory_(memory),
        code_(tensor.type),
        element_(code_.At(tensor.data)),
        width_(static_cast<int64_t>(code_.width())),
        bytes_(tensor.layout.element_count() * width_) {}

  // No places where they are in too many.
  TensorSearch Find(const Layout& layout) {
    for (int64_t residue = 0; residue < width_; ++residue) FindAt(residue);
    TensorSearch search{{}, found_.size() > kMostPlaces, /*is_constant=*/true};
    if (search.is_common) return search;
    std::ranges::sort(found_);
    const int64_t count = layout.element_count();
    for (const int64_t offset : found_) {
      search.places.push_back(
          {static_cast<uint64_t>(offset), PackedStrides(layout.sizes), count, count});
    }
    return search;
  }

 private:
  bool IsAt(int64_t place) const {
    return place >= 0 && place + width_ <= std::ssize(memory_) &&
           code_.At(memory_.data() + place) == element_;
  }

  // Any run of as many elements as are looked for has one of those that are tried.
  void FindAt(int64_t residue) {
    for (int64_t tried = residue; tried + width_ <= std::ssize(memory_); tried += bytes_) {
      if (!IsAt(tried)) continue;
      int64_t begin = tried, end = tried;
      while (tried - begin < bytes_ && IsAt(begin - width_)) begin -= width_;
      while (IsAt(end)) end += width_;
      for (; begin + bytes_ <= end; begin += bytes_) {
        if (found_.size() > kMostPlaces) return;
        begin = BehindOthers(begin);
        if (begin + bytes_ <= end) found_.push_back(begin);
      }
      tried += (end - tried) / bytes_ * bytes_;
    }
  }

  // The first place from there on that overlaps none which has been found.
  int64_t BehindOthers(int64_t place) const {
    for (const int64_t other : found_) {
      if (std::abs(place - other) >= bytes_) continue;
      const int64_t step = other + bytes_ - place;
      return BehindOthers(place + (step + width_ - 1) / width_ * width_);
    }
    return place;
  }

  const std::span<const std::byte> memory_;
  const ElementCode code_;
  const uint64_t element_;
  const int64_t width_;
  const int64_t bytes_;         // of all elements
  std::vector<int64_t> found_;  // in bytes
};

bool AllEqual(const ConstTensorView& tensor) {
  const ElementCode code(tensor.type);
  const LoopNest<1> nest = Merged(LoopNest<1>{tensor.layout.sizes, {tensor.layout.strides}});
  Walk<1> walk(nest, 0);
  int64_t left = tensor.layout.element_count();
  const auto at = [&](int64_t offset) {
    return code.At(tensor.data + offset * static_cast<int64_t>(code.width()));
  };
  for (; left > 0 && at(walk.offset(0)) == at(0); --left) walk.Next();
  return left == 0;
}

class Search {
 public:
  Search(std::span<const std::byte> memory, const ConstTensorView& tensor, bool is_constant)
      : memory_(memory),
        tensor_(tensor),
        is_constant_(is_constant),
        sizes_(tensor.layout.sizes),
        runs_(memory, tensor) {
    for (size_t i = 0; i < kSamples; ++i) samples_.push_back(runs_.AnyIndex());
  }

  TensorSearch Find() {
    TensorSearch found{{}, false, is_constant_};
    const bool has_rows = tensor_.layout.element_count() > 1;
    for (const int64_t gap : kGaps) {
      runs_.Find(gap);
      found.places = Verified(Solved(gap));
      if (gap == 1) found.is_common = runs_.AreCommon();
      if (!found.places.empty() || !has_rows || is_constant_) break;
    }
    return found;
  }

 private:
  std::vector<Candidate> Solved(int64_t gap) const {
    std::vector<std::pair<size_t, Candidate>> scored;
    std::set<decltype(Candidate().Key())> known;
    for (const RunGroup& group : runs_.groups()) {
      for (const uint64_t place : runs_.run(group.base).places) {
        const Candidate candidate = Solve(group, static_cast<int64_t>(place), gap);
        const size_t score = Score(candidate);
        if (2 * score < kSamples || !known.insert(candidate.Key()).second) continue;
        scored.emplace_back(score, candidate);
      }
    }
    std::stable_sort(scored.begin(), scored.end(),
                     [](const auto& a, const auto& b) { return a.first > b.first; });
    std::vector<Candidate> best;
    for (const auto& [score, candidate] : scored) {
      if (best.size() < kMostPlaces) best.push_back(candidate);
    }
    return best;
  }

  // Finds the strides of the dimensions one by one from the last, then each given the others.
  Candidate Solve(const RunGroup& group, int64_t place, int64_t gap) const {
    const TensorRun& base = runs_.run(group.base);
    if (is_constant_) return CandidateAt(base, place, PackedStrides(sizes_));
    Dims strides = Dims::Filled(sizes_.size(), 0);
    if (group.axis < sizes_.size()) strides[group.axis] = gap;
    std::array<std::vector<int64_t>, Dims::kMaxCount> choices;
    for (size_t d = sizes_.size(); d-- > 0;) {
      if (d == group.axis || sizes_[d] == 1) continue;
      choices[d] = StridesOf(group, d, place, strides);
      strides[d] =
          Best(choices[d], [&](int64_t stride) { return LineScore(base, place, d, stride); });
    }
    for (size_t d = sizes_.size(); d-- > 0;) {
      if (choices[d].size() < 2) continue;
      strides[d] = Best(choices[d], [&](int64_t stride) {
        Dims others = strides;
        others[d] = stride;
        return Score(CandidateAt(base, place, others));
      });
    }
    return CandidateAt(base, place, strides);
  }

  // Returns the stride with the highest score, the first of equals.
  template <typename ScoreOf>
  static int64_t Best(const std::vector<int64_t>& strides, ScoreOf&& score_of) {
    int64_t best = 0;
    size_t most = 0;
    for (const int64_t stride : strides) {
      const size_t score = score_of(stride);
      if (score <= most) continue;
      most = score;
      best = stride;
    }
    return best;
  }

  // Returns possible strides of a dimension: without gaps, as the neighbor runs suggest, and 0.
  std::vector<int64_t> StridesOf(const RunGroup& group, size_t dimension, int64_t place,
                                 const Dims& known) const {
    std::vector<int64_t> strides;
    for (size_t d = 0; d < sizes_.size(); ++d) {
      if (known[d] > 0) strides.push_back(known[d] * sizes_[d]);
    }
    std::sort(strides.begin(), strides.end());
    if (const auto& beside = group.beside[dimension]) {
      const int64_t distance =
          (runs_.run(*beside).index[dimension] - runs_.run(group.base).index[dimension]) * width();
      for (const uint64_t other : runs_.run(*beside).places) {
        const int64_t bytes = static_cast<int64_t>(other) - place;
        const bool is_stride = bytes % distance == 0 && bytes / distance > 0;
        if (is_stride && bytes / distance <= UINT32_MAX) strides.push_back(bytes / distance);
      }
    }
    strides.push_back(0);
    return strides;
  }

  Candidate CandidateAt(const TensorRun& base, int64_t place, const Dims& strides) const {
    return {place - width() * OffsetOf({sizes_, strides}, base.index), strides};
  }

  bool IsNearAt(int64_t place, uint64_t code) const {
    if (place < 0 || place + width() > static_cast<int64_t>(memory_.size())) return false;
    return runs_.code().IsNear(runs_.code().At(memory_.data() + place), code);
  }

  // Returns how many elements of a line through the run are where the stride predicts.
  size_t LineScore(const TensorRun& base, int64_t place, size_t dimension, int64_t stride) const {
    const int64_t step =
        std::max<int64_t>(1, sizes_[dimension] / static_cast<int64_t>(kLineSamples));
    size_t score = 0;
    Dims index = base.index;
    for (int64_t i = 0; i < sizes_[dimension]; i += step) {
      index[dimension] = i;
      const int64_t distance = (i - base.index[dimension]) * stride * width();
      score += IsNearAt(place + distance, runs_.CodeAt(index));
    }
    return score;
  }

  // Returns how many samples are where the candidate predicts; 0 if it leads out of memory.
  size_t Score(const Candidate& candidate) const {
    const int64_t bytes = Extent({sizes_, candidate.strides}) * width();
    if (candidate.offset < 0 || candidate.offset + bytes > static_cast<int64_t>(memory_.size())) {
      return 0;
    }
    size_t score = 0;
    for (const Dims& index : samples_) {
      const int64_t place = OffsetOf({sizes_, candidate.strides}, index) * width();
      score += IsNearAt(candidate.offset + place, runs_.CodeAt(index));
    }
    return score;
  }

  std::vector<FoundTensor> Verified(const std::vector<Candidate>& candidates) const {
    std::vector<FoundTensor> places;
    for (const Candidate& candidate : candidates) {
      const FoundTensor place = Count(candidate);
      if (2 * place.near_count >= tensor_.layout.element_count()) places.push_back(place);
    }
    std::stable_sort(places.begin(), places.end(), [&](const FoundTensor& a, const FoundTensor& b) {
      const auto rank = [&](const FoundTensor& place) {
        return std::tuple(-place.near_count, -place.equal_count, !IsPacked({sizes_, place.strides}),
                          place.offset);
      };
      return rank(a) < rank(b);
    });
    DropFurtherOff(places);
    return places;
  }

  // If most elements are 0, any zeros would seem to be a near match.
  void DropFurtherOff(std::vector<FoundTensor>& places) const {
    if (places.empty()) return;
    const int64_t count = tensor_.layout.element_count();
    const int64_t most = 2 * (count - places[0].near_count) + count / 50;
    std::erase_if(places,
                  [&](const FoundTensor& place) { return count - place.near_count > most; });
  }

  FoundTensor Count(const Candidate& candidate) const {
    const LoopNest<2> nest =
        Merged(LoopNest<2>{sizes_, {candidate.strides, tensor_.layout.strides}});
    const std::byte* const memory = memory_.data() + candidate.offset;
    std::atomic<int64_t> equal = 0, near = 0;
    const int64_t count = tensor_.layout.element_count();
    ParallelFor(count, int64_t{1} << 16, count * width(), [&](int64_t begin, int64_t end) {
      int64_t equal_here = 0, near_here = 0;
      Walk<2> walk(nest, begin);
      for (int64_t i = begin; i < end; ++i, walk.Next()) {
        const uint64_t found = runs_.code().At(memory + walk.offset(0) * width());
        const uint64_t sought = runs_.code().At(tensor_.data + walk.offset(1) * width());
        equal_here += found == sought;
        near_here += runs_.code().IsNear(found, sought);
      }
      equal += equal_here;
      near += near_here;
    });
    return {static_cast<uint64_t>(candidate.offset), WithUnits(candidate.strides), equal, near};
  }

  // Gives dimensions of size 1 the strides that they would have without gaps.
  Dims WithUnits(Dims strides) const {
    for (size_t d = sizes_.size(); d-- > 0;) {
      if (sizes_[d] > 1) continue;
      strides[d] = d + 1 < sizes_.size() ? strides[d + 1] * sizes_[d + 1] : 1;
    }
    return strides;
  }

  int64_t width() const { return static_cast<int64_t>(runs_.code().width()); }

  const std::span<const std::byte> memory_;
  const ConstTensorView& tensor_;
  const bool is_constant_;  // no strides can be told
  const Dims sizes_;
  TensorRuns runs_;
  std::vector<Dims> samples_;
};

}  // namespace

TensorSearch FindTensor(std::span<const std::byte> memory, const ConstTensorView& tensor) {
  const Work work("searching", static_cast<int64_t>(memory.size()));
  const bool is_constant = tensor.layout.element_count() > 1 && AllEqual(tensor);
  if (is_constant) {
    const TensorSearch found = EqualElements(memory, tensor).Find(tensor.layout);
    if (found.is_common || !found.places.empty()) return found;
  }
  return Search(memory, tensor, is_constant).Find();
}

}  // namespace dmlop
