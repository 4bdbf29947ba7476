// SPDX-License-Identifier: Apache-2.0
#include "core/explain/element_trace.h"

#include <algorithm>
#include <cstdint>
#include <functional>
#include <iterator>
#include <map>
#include <unordered_set>

#include "core/ops/family.h"
#include "core/tensor/data_type.h"

namespace dmlop {
namespace {

// A set of places in memory, stored as intervals.
class PlaceSet {
 public:
  bool empty() const { return ends_.empty(); }
  size_t size() const { return ends_.size(); }  // number of intervals

  // Returns whether any place in [begin, end) is in the set.
  bool Meets(uint64_t begin, uint64_t end) const {
    const auto next = ends_.lower_bound(end);
    return next != ends_.begin() && std::prev(next)->second > begin;
  }

  // Returns whether all places in [begin, end) are in the set.
  bool Contains(uint64_t begin, uint64_t end) const {
    const auto next = ends_.upper_bound(begin);
    return next != ends_.begin() && std::prev(next)->second >= end;
  }

  void Add(uint64_t begin, uint64_t end) {
    auto next = ends_.upper_bound(begin);
    if (next != ends_.begin() && std::prev(next)->second >= begin) {
      --next;
      if (next->second >= end) return;
      begin = next->first;
    }
    while (next != ends_.end() && next->first <= end) {
      end = std::max(end, next->second);
      next = ends_.erase(next);
    }
    ends_.emplace_hint(next, begin, end);
  }

  void Add(const PlaceSet& other) {
    for (const auto& [begin, end] : other.ends_) Add(begin, end);
  }

  void Remove(const PlaceSet& other) {
    for (const auto& [begin, end] : other.ends_) Remove(begin, end);
  }

 private:
  void Remove(uint64_t begin, uint64_t end) {
    auto next = ends_.upper_bound(begin);
    if (next != ends_.begin() && std::prev(next)->second > begin) --next;
    while (next != ends_.end() && next->first < end) {
      const auto [from, to] = *next;
      next = ends_.erase(next);
      if (from < begin) ends_.emplace_hint(next, from, begin);
      if (to > end) ends_.emplace_hint(next, end, to);
    }
  }

  std::map<uint64_t, uint64_t> ends_;  // by begin; intervals do not touch
};

// Places are counted in half bytes, since elements of 4 bits have places of their own.
uint64_t PlaceOf(const ConstTensorView& view, int64_t offset) {
  const uint64_t width = BitWidth(view.type) / 4;
  return reinterpret_cast<uintptr_t>(view.data) * 2 + static_cast<uint64_t>(offset) * width;
}

PlaceSet PlacesOf(std::span<const std::byte> bytes) {
  const uint64_t begin = reinterpret_cast<uintptr_t>(bytes.data()) * 2;
  PlaceSet places;
  places.Add(begin, begin + bytes.size() * 2);
  return places;
}

// Finds the elements of a view whose places are in a set, in order, as regions of adjacent ones.
class ElementFinder {
 public:
  using Found = std::function<void(const Region& region, int64_t offset)>;

  ElementFinder(const ConstTensorView& view, const PlaceSet& places, const Found& found)
      : view_(view),
        places_(places),
        found_(found),
        region_{0, Dims::Filled(view.layout.rank(), 0), view.layout.sizes} {}

  void Find() { Search(0, 0); }

 private:
  // Searches the elements whose first d indices are fixed and lead to `offset`.
  void Search(size_t d, int64_t offset) {
    const Layout& layout = view_.layout;
    int64_t reach = 1;
    int64_t count = 1;
    for (size_t k = d; k < layout.rank(); ++k) {
      reach += (layout.sizes[k] - 1) * layout.strides[k];
      count *= layout.sizes[k];
    }
    const uint64_t begin = PlaceOf(view_, offset);
    const uint64_t end = PlaceOf(view_, offset + reach);
    if (!places_.Meets(begin, end)) return;
    const bool is_one = d == layout.rank();
    if (is_one || (reach == count && places_.Contains(begin, end))) return found_(region_, offset);
    const int64_t size = layout.strides[d] == 0 ? 1 : layout.sizes[d];  // the first of equal places
    for (int64_t i = 0; i < size; ++i) {
      region_.begin[d] = i;
      region_.sizes[d] = 1;
      Search(d + 1, offset + i * layout.strides[d]);
    }
    region_.begin[d] = 0;
    region_.sizes[d] = layout.sizes[d];
  }

  const ConstTensorView& view_;
  const PlaceSet& places_;
  const Found& found_;
  Region region_;
};

// A set of more intervals than this is not kept exactly.
constexpr int64_t kMostIntervals = 1 << 16;

// Adds the places of a region, or those between them as well if the set would have too many
// intervals; returns false then.
bool AddPlaces(const ConstTensorView& view, const Region& region, PlaceSet& places) {
  // The strides and sizes of the dimensions along which there are other elements in memory.
  std::vector<std::pair<int64_t, int64_t>> steps;
  for (size_t d = 0; d < region.sizes.size(); ++d) {
    const int64_t stride = view.layout.strides[d];
    if (region.sizes[d] > 1 && stride != 0) steps.emplace_back(stride, region.sizes[d]);
  }
  std::ranges::sort(steps, std::greater());
  int64_t run = 1;
  while (!steps.empty() && steps.back().first == run) {
    run *= steps.back().second;
    steps.pop_back();
  }
  Dims sizes, strides;
  int64_t reach = run;
  for (const auto& [stride, size] : steps) {
    strides.push_back(stride);
    sizes.push_back(size);
    reach += stride * (size - 1);
  }
  const int64_t first = OffsetOf(view.layout, region.begin);
  const int64_t count = Product(sizes);
  if (count > 1 && count + static_cast<int64_t>(places.size()) > kMostIntervals) {
    places.Add(PlaceOf(view, first), PlaceOf(view, first + reach));
    return false;
  }
  for (int64_t i = 0; i < count; ++i) {
    const int64_t offset = first + OffsetOf(Layout{sizes, strides}, IndexOf(sizes, i));
    places.Add(PlaceOf(view, offset), PlaceOf(view, offset + run));
  }
  return true;
}

// Adds all elements of the region, or only as many at both ends as a list can show.
void Add(const Region& region, ListLength length, TracedElements& elements) {
  const int64_t count = region.count();
  const int64_t edge = static_cast<int64_t>(length.edge);
  const bool is_abridged = elements.count + count > length.most && count > 2 * edge;
  for (int64_t k = 0; k < count; ++k) {
    if (is_abridged && k == edge) {
      elements.count += count - 2 * edge;
      k = count - edge;
    }
    length.Add(region.IndexAt(k), ++elements.count, elements.listed);
  }
}

// Returns the elements of a view that are needed, and adds their places to `taken`.
TracedElements Take(const ConstTensorView& view, const PlaceSet& needed, ListLength length,
                    PlaceSet& taken, const std::function<void(const Region&)>& found = {}) {
  TracedElements elements{view, 0, {}};
  const ElementFinder::Found take = [&](const Region& region, int64_t offset) {
    Add(region, length, elements);
    taken.Add(PlaceOf(view, offset), PlaceOf(view, offset + region.count()));
    if (found) found(region);
  };
  ElementFinder(view, needed, take).Find();
  return elements;
}

// Remembers the last region that a map led to, and as many others as are worth their memory.
class RegionsMet {
 public:
  // Returns false if the region is known to have been met before.
  bool MayBeNew(const Region& region) {
    if (last_ && AreEqual()(*last_, region)) return false;
    last_ = region;
    return met_.size() < kMost ? met_.insert(region).second : !met_.contains(region);
  }

 private:
  static constexpr size_t kMost = 1 << 14;

  struct Hash {
    size_t operator()(const Region& region) const {
      uint64_t hash = 0;
      for (const Dims* dims : {&region.begin, &region.sizes}) {
        for (const int64_t number : *dims) {
          hash = (hash ^ static_cast<uint64_t>(number)) * 0x9E3779B97F4A7C15;
          hash ^= hash >> 32;
        }
      }
      return static_cast<size_t>(hash);
    }
  };
  struct AreEqual {
    bool operator()(const Region& a, const Region& b) const {
      return a.begin == b.begin && a.sizes == b.sizes;  // the map, and so the tensor, is the same
    }
  };

  std::optional<Region> last_;
  std::unordered_set<Region, Hash, AreEqual> met_;
};

// Makes `part` the union of two parts of one input if that is a region; returns false otherwise.
bool Join(Region& part, const Region& other) {
  std::optional<size_t> differing;
  for (size_t d = 0; d < part.begin.size(); ++d) {
    if (part.begin[d] == other.begin[d] && part.sizes[d] == other.sizes[d]) continue;
    if (differing) return false;
    differing = d;
  }
  if (!differing) return true;
  const size_t d = *differing;
  const int64_t begin = std::min(part.begin[d], other.begin[d]);
  const int64_t end = std::max(part.begin[d] + part.sizes[d], other.begin[d] + other.sizes[d]);
  if (end - begin > part.sizes[d] + other.sizes[d]) return false;
  part.begin[d] = begin;
  part.sizes[d] = end - begin;
  return true;
}

// Adds the parts of an input that the elements of an output's region are computed from. Those of
// neighbors become one where they can, as the map of several elements may lead to too much.
void AddParts(const SourceMap& map, const Region& output, std::vector<Region>& parts) {
  const auto split = std::ranges::find_if(output.sizes, [](int64_t size) { return size > 1; });
  if (split == output.sizes.end()) {
    if (const auto part = map(output)) parts.push_back(*part);
    return;
  }
  const auto d = static_cast<size_t>(split - output.sizes.begin());
  Region first = output, second = output;
  first.sizes[d] /= 2;
  second.begin[d] += first.sizes[d];
  second.sizes[d] -= first.sizes[d];
  const size_t begin = parts.size();
  AddParts(map, first, parts);
  const size_t middle = parts.size();
  AddParts(map, second, parts);
  const bool are_one_each = middle == begin + 1 && parts.size() == middle + 1;
  if (are_one_each && Join(parts[begin], parts[middle])) parts.pop_back();
}

// Regions with more elements than this are not followed element by element.
constexpr int64_t kMostFollowed = 1 << 12;

// The parts of an input that a region of an output is computed from; perhaps more unless each of
// its elements is followed.
std::vector<Region> PartsOf(const SourceMap& map, const Region& output, bool is_followed) {
  std::vector<Region> parts;
  if (is_followed) {
    AddParts(map, output, parts);
  } else if (const auto part = map(output)) {
    parts.push_back(*part);
  }
  return parts;
}

class Tracer {
 public:
  Tracer(std::span<const TraceStep> steps, ListLength length) : steps_(steps), length_(length) {}

  Trace Run(const TraceElement& element) {
    const ConstTensorView& view = element.view;
    const int64_t offset = OffsetOf(view.layout, element.index);
    needed_.Add(PlaceOf(view, offset), PlaceOf(view, offset + 1));
    for (size_t number = steps_.size(); number-- > 0 && !needed_.empty();) Visit(number);
    for (auto step = trace_.steps.rbegin(); step != trace_.steps.rend(); ++step) {
      for (const size_t input : step->inputs) AddOrigin(steps_[step->number].inputs[input]);
    }
    AddOrigin(view);
    return std::move(trace_);
  }

 private:
  // If outputs of the step are needed, replaces them by the inputs that they are computed from.
  void Visit(size_t number) {
    const TraceStep& step = steps_[number];
    TracedStep traced{number, false, {}, {}};
    PlaceSet filled, read;
    std::vector<bool> is_read(step.inputs.size());
    const std::vector<SourceMap> sources = SourcesOf(*step.op);
    for (size_t i = 0; i < step.outputs.size(); ++i) {
      std::vector<RegionsMet> met(sources.size());
      const auto follow = [&](Region places) {
        places.tensor = i;
        const bool is_followed = places.count() <= kMostFollowed;
        traced.at_most |= !is_followed && !RunsOnAnyPart(*step.op);
        for (size_t s = 0; s < sources.size(); ++s) {
          for (const Region& part : PartsOf(sources[s], places, is_followed)) {
            if (!met[s].MayBeNew(part)) continue;
            traced.at_most |= !AddPlaces(step.inputs[part.tensor], part, read);
            is_read[part.tensor] = true;
          }
        }
      };
      traced.outputs.push_back(Take(step.outputs[i], needed_, length_, filled, follow));
    }
    needed_.Remove(filled);
    for (const std::span<std::byte> bytes : step.cleared) needed_.Remove(PlacesOf(bytes));
    if (filled.empty()) return;
    needed_.Add(read);
    for (size_t i = 0; i < is_read.size(); ++i) {
      if (is_read[i]) traced.inputs.push_back(i);
    }
    trace_.steps.push_back(std::move(traced));
  }

  // Adds the needed elements of the view, which no step filled and no earlier view contains.
  void AddOrigin(const ConstTensorView& view) {
    PlaceSet taken;
    TracedElements elements = Take(view, needed_, length_, taken);
    needed_.Remove(taken);
    if (elements.count > 0) trace_.origins.push_back(std::move(elements));
  }

  std::span<const TraceStep> steps_;
  ListLength length_;
  PlaceSet needed_;
  Trace trace_;
};

}  // namespace

Trace TraceBack(std::span<const TraceStep> steps, const TraceElement& element, ListLength length) {
  return Tracer(steps, length).Run(element);
}

std::optional<StepOutput> FilledBefore(std::span<const TraceStep> steps, size_t before,
                                       const ConstTensorView& view) {
  const auto end = [](const ConstTensorView& v) { return PlaceOf(v, Extent(v.layout)); };
  while (before-- > 0) {
    const std::vector<ConstTensorView>& outputs = steps[before].outputs;
    const auto found = std::find_if(outputs.begin(), outputs.end(), [&](const auto& output) {
      return PlaceOf(output, 0) < end(view) && PlaceOf(view, 0) < end(output);
    });
    if (found != outputs.end()) {
      return StepOutput{before, static_cast<size_t>(found - outputs.begin())};
    }
  }
  return std::nullopt;
}

}  // namespace dmlop
