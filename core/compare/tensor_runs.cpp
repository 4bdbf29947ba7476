// SPDX-License-Identifier: Apache-2.0
#include "core/compare/find_tensor.h"

#include <algorithm>
#include <atomic>
#include <bitset>
#include <cmath>
#include <mutex>
#include <utility>

#include "core/base/parallel.h"

namespace dmlop {
namespace {

constexpr size_t kRunBytes = 16;
constexpr size_t kLeastRun = 4;      // elements of a run, if the row has as many
constexpr size_t kGroups = 8;        // for each dimension
constexpr size_t kChoices = 24;      // candidates of which the rarest run is taken
constexpr uint32_t kMostHits = 512;  // of a run that is worth searching for
constexpr size_t kKeys = 1 << 16;

}  // namespace

TensorRuns::TensorRuns(std::span<const std::byte> memory, const ConstTensorView& tensor)
    : memory_(memory), tensor_(tensor), code_(tensor.type), sizes_(tensor.layout.sizes) {
  CountKeys();
  for (size_t d = 0; d < sizes_.size(); ++d) {
    if (sizes_[d] > 1) AddGroups(d);
  }
  if (groups_.empty()) AddGroups(0);
}

bool TensorRuns::AreCommon() const {
  return std::all_of(groups_.begin(), groups_.end(),
                     [&](const RunGroup& group) { return runs_[group.base].is_common; });
}

Dims TensorRuns::AnyIndex() {
  Dims index;
  for (const int64_t size : sizes_) {
    index.push_back(static_cast<int64_t>(random_() % static_cast<uint64_t>(size)));
  }
  return index;
}

// Estimates by samples how often each key occurs in memory.
void TensorRuns::CountKeys() {
  constexpr size_t kKeySamples = size_t{1} << 18;
  frequencies_.assign(kKeys, 0);
  if (memory_.size() < code_.width() + 2) return;
  for (size_t i = 0; i < kKeySamples; ++i) {
    ++frequencies_[KeyAt(random_() % (memory_.size() - code_.width() - 1), 1)];
  }
}

// Returns the key of the element at `place`, with that of the next one if they have a byte.
uint16_t TensorRuns::KeyAt(size_t place, int64_t gap) const {
  uint16_t key = 0;
  if (code_.width() > 1) {
    std::memcpy(&key, memory_.data() + place + code_.key_begin(), sizeof(key));
    return key;
  }
  const auto byte = [&](size_t at) { return std::to_integer<unsigned>(memory_[at]); };
  return static_cast<uint16_t>(byte(place) | byte(place + static_cast<size_t>(gap)) << 8);
}

TensorRun TensorRuns::RunAt(const Dims& index, size_t axis) const {
  TensorRun run{index, {}, {}, false};
  const int64_t row = axis < sizes_.size() ? sizes_[axis] : 1;
  const size_t most = std::max(kLeastRun, kRunBytes / code_.width());
  const int64_t count = std::min<int64_t>(row, static_cast<int64_t>(most));
  if (axis < sizes_.size()) run.index[axis] = std::min(index[axis], row - count);
  Dims at = run.index;
  for (int64_t i = 0; i < count; ++i) {
    if (axis < sizes_.size()) at[axis] = run.index[axis] + i;
    run.codes.push_back(CodeAt(at));
  }
  return run;
}

// Calls visit(key) for each key that memory may have at the run. Any may follow a one-byte element.
template <typename Visit>
void TensorRuns::ForEachKey(const TensorRun& run, size_t element, Visit&& visit) const {
  if (code_.width() > 1 || element + 1 < run.codes.size()) {
    const uint64_t next = element + 1 < run.codes.size() ? run.codes[element + 1] : 0;
    return code_.ForEachKey(run.codes[element], next, visit);
  }
  for (uint64_t next = 0; next < 256; ++next) code_.ForEachKey(run.codes[element], next, visit);
}

// Returns the logarithm of how often memory would contain the run by chance; the lower, the rarer.
double TensorRuns::Commonness(const TensorRun& run) const {
  double sum = 0;
  for (size_t i = 0; i < run.codes.size(); ++i) {
    uint64_t count = 0;
    ForEachKey(run, i, [&](uint16_t key) { count += frequencies_[key]; });
    const bool repeats = std::find(run.codes.begin(), run.codes.begin() + static_cast<ptrdiff_t>(i),
                                   run.codes[i]) != run.codes.begin() + static_cast<ptrdiff_t>(i);
    if (!repeats) sum += std::log2(static_cast<double>(count + 1)) - 18;
  }
  return sum;
}

// Returns whether a group already begins with that run: with the same rarest one each time, wrong
// elements in one row could hide the tensor.
bool TensorRuns::IsBase(const TensorRun& run, size_t axis) const {
  return std::any_of(groups_.begin(), groups_.end(), [&](const RunGroup& group) {
    return group.axis == axis && runs_[group.base].index == run.index;
  });
}

void TensorRuns::AddGroups(size_t axis) {
  for (size_t g = 0; g < kGroups; ++g) {
    std::optional<TensorRun> rarest;
    for (size_t i = 0; i < kChoices; ++i) {
      TensorRun run = RunAt(AnyIndex(), axis);
      if (IsBase(run, axis)) continue;
      if (!rarest || Commonness(run) < Commonness(*rarest)) rarest = std::move(run);
    }
    if (!rarest) return;  // a small tensor has no more
    RunGroup group{axis, runs_.size()};
    runs_.push_back(*rarest);
    for (size_t d = 0; d < sizes_.size(); ++d) {
      if (d == axis || sizes_[d] == 1) continue;
      if (auto beside = RarestBeside(*rarest, axis, d)) {
        group.beside[d] = runs_.size();
        runs_.push_back(*std::move(beside));
      }
    }
    groups_.push_back(group);
  }
}

// Among the runs along a dimension that differ from a run, considers the nearest and some others.
std::optional<TensorRun> TensorRuns::RarestBeside(const TensorRun& run, size_t axis,
                                                  size_t dimension) {
  std::optional<TensorRun> rarest;
  for (size_t i = 0; i < kChoices; ++i) {
    Dims index = run.index;
    const int64_t near = index[dimension] + (i == 0 ? 1 : -1);
    index[dimension] = i < 2 ? near : AnyIndex()[dimension];
    if (index[dimension] < 0 || index[dimension] >= sizes_[dimension]) continue;
    TensorRun other = RunAt(index, axis);
    if (other.codes == run.codes) continue;
    if (!rarest || Commonness(other) < Commonness(*rarest)) rarest = std::move(other);
  }
  return rarest;
}

void TensorRuns::Find(int64_t gap) {
  std::bitset<kKeys> is_key;
  std::vector<std::vector<size_t>> runs_of(kKeys);
  for (size_t r = 0; r < runs_.size(); ++r) {
    ForEachKey(runs_[r], 0, [&](uint16_t key) {
      is_key.set(key);
      if (runs_of[key].empty() || runs_of[key].back() != r) runs_of[key].push_back(r);
    });
    runs_[r].places.clear();
  }
  const size_t behind = std::max(code_.width(), size_t{1} + static_cast<size_t>(gap));
  if (memory_.size() < behind) return;
  std::vector<std::atomic<uint32_t>> counts(runs_.size());
  std::mutex mutex;
  const int64_t count = static_cast<int64_t>(memory_.size() - behind + 1);
  ParallelFor(count, int64_t{1} << 20, count, [&](int64_t begin, int64_t end) {
    std::vector<std::pair<size_t, uint64_t>> found;
    for (size_t at = static_cast<size_t>(begin); at < static_cast<size_t>(end); ++at) {
      const uint16_t key = KeyAt(at, gap);
      if (!is_key.test(key)) continue;
      for (const size_t r : runs_of[key]) {
        if (IsAt(runs_[r], at, gap) && counts[r]++ < kMostHits) found.emplace_back(r, at);
      }
    }
    const std::scoped_lock lock(mutex);
    for (const auto& [run, place] : found) runs_[run].places.push_back(place);
  });
  for (size_t r = 0; r < runs_.size(); ++r) {
    runs_[r].is_common = counts[r] > kMostHits;
    if (runs_[r].is_common) runs_[r].places.clear();
    std::sort(runs_[r].places.begin(), runs_[r].places.end());
  }
}

bool TensorRuns::IsAt(const TensorRun& run, size_t place, int64_t gap) const {
  const size_t step = code_.width() * static_cast<size_t>(gap);
  if (memory_.size() - place < (run.codes.size() - 1) * step + code_.width()) return false;
  for (size_t i = 0; i < run.codes.size(); ++i) {
    if (!code_.IsNear(code_.At(memory_.data() + place + i * step), run.codes[i])) return false;
  }
  return true;
}

}  // namespace dmlop
