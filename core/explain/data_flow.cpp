// SPDX-License-Identifier: Apache-2.0
#include "core/explain/data_flow.h"

#include <algorithm>

#include "core/base/integers.h"

namespace dmlop {
namespace {

bool Contains(const Region& region, const Element& element) {
  if (region.tensor != element.tensor) return false;
  for (size_t d = 0; d < region.sizes.size(); ++d) {
    const int64_t place = element.index[d] - region.begin[d];
    if (place < 0 || place >= region.sizes[d]) return false;
  }
  return true;
}

// Halves an output until single elements are left. Parts are dropped if no map's sources for them
// include the element.
class TargetFinder {
 public:
  TargetFinder(const Element& input, ListLength length) : input_(input), length_(length) {}

  void Search(const Region& output, const std::vector<const SourceMap*>& maps) {
    std::vector<const SourceMap*> left;
    for (const SourceMap* map : maps) {
      const auto source = (*map)(output);
      if (source && Contains(*source, input_)) left.push_back(map);
    }
    if (left.empty()) return;
    const auto cut = std::find_if(output.sizes.begin(), output.sizes.end(),
                                  [](int64_t size) { return size > 1; });
    if (cut == output.sizes.end()) {
      return length_.Add({output.tensor, output.begin}, ++found_.count, found_.listed);
    }
    const size_t d = static_cast<size_t>(cut - output.sizes.begin());
    Region half = output;
    half.sizes[d] = output.sizes[d] / 2;
    Search(half, left);
    half.begin[d] += half.sizes[d];
    half.sizes[d] = output.sizes[d] - half.sizes[d];
    Search(half, left);
  }

  Targets Found() && { return std::move(found_); }

 private:
  const Element& input_;
  ListLength length_;
  Targets found_;
};

bool Overlap(const Region& a, const Region& b) {
  if (a.tensor != b.tensor) return false;
  for (size_t d = 0; d < a.sizes.size(); ++d) {
    const int64_t end = std::min(a.begin[d] + a.sizes[d], b.begin[d] + b.sizes[d]);
    if (std::max(a.begin[d], b.begin[d]) >= end) return false;
  }
  return true;
}

// Adds the region without its overlap with regions from number `first` on, as disjoint parts.
void AddRest(Region region, size_t first, std::vector<Region>& regions) {
  while (first < regions.size() && !Overlap(region, regions[first])) ++first;
  if (first == regions.size()) return regions.push_back(region);
  const Region taken = regions[first];
  for (size_t d = 0; d < region.sizes.size(); ++d) {
    const int64_t end = region.begin[d] + region.sizes[d];
    const int64_t inner_begin = std::max(region.begin[d], taken.begin[d]);
    const int64_t inner_end = std::min(end, taken.begin[d] + taken.sizes[d]);
    for (const Range outside : {Range{region.begin[d], inner_begin}, Range{inner_end, end}}) {
      if (outside.count() == 0) continue;
      Region part = region;
      part.begin[d] = outside.begin;
      part.sizes[d] = outside.count();
      AddRest(part, first + 1, regions);
    }
    region.begin[d] = inner_begin;
    region.sizes[d] = inner_end - inner_begin;
  }
}

}  // namespace

std::vector<Region> SourcesOf(const OperatorDesc& op, const Element& output) {
  const Region element{output.tensor, output.index, Dims::Filled(output.index.size(), 1)};
  std::vector<Region> sources;
  for (const SourceMap& source : SourcesOf(op)) {
    if (const auto region = source(element)) AddRest(*region, 0, sources);
  }
  return sources;
}

Targets TargetsOf(const OperatorDesc& op, const Element& input, ListLength length) {
  const std::vector<SourceMap> sources = SourcesOf(op);
  std::vector<const SourceMap*> maps;
  for (const SourceMap& source : sources) maps.push_back(&source);
  TargetFinder finder(input, length);
  const std::vector<TensorSlot> outputs = TensorSlots(op, TensorRole::kOutput);
  for (size_t i = 0; i < outputs.size(); ++i) {
    const Dims sizes(outputs[i].desc->sizes->begin(), outputs[i].desc->sizes->end());
    finder.Search(Region{i, Dims::Filled(sizes.size(), 0), sizes}, maps);
  }
  return std::move(finder).Found();
}

}  // namespace dmlop
