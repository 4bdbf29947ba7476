#include "core/explain/data_flow.h"

#include <algorithm>
#include <variant>

#include "core/base/range.h"

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

bool ComesBefore(const Element& a, const Element& b) {
  if (a.tensor != b.tensor) return a.tensor < b.tensor;
  return std::lexicographical_compare(a.index.begin(), a.index.end(), b.index.begin(),
                                      b.index.end());
}

// Halves an output until single elements are left. A part whose sources do not have the element is
// dropped.
class TargetFinder {
 public:
  TargetFinder(const SourceMap& source, const Element& input, std::vector<Element>& found)
      : source_(source), input_(input), found_(found) {}

  void Search(const Region& output) const {
    const auto source = source_(output);
    if (!source || !Contains(*source, input_)) return;
    const auto cut = std::find_if(output.sizes.begin(), output.sizes.end(),
                                  [](int64_t size) { return size > 1; });
    if (cut == output.sizes.end()) {
      found_.push_back({output.tensor, output.begin});
      return;
    }
    const size_t d = static_cast<size_t>(cut - output.sizes.begin());
    Region half = output;
    half.sizes[d] = output.sizes[d] / 2;
    Search(half);
    half.begin[d] += half.sizes[d];
    half.sizes[d] = output.sizes[d] - half.sizes[d];
    Search(half);
  }

 private:
  const SourceMap& source_;
  const Element& input_;
  std::vector<Element>& found_;
};

bool Overlap(const Region& a, const Region& b) {
  if (a.tensor != b.tensor) return false;
  for (size_t d = 0; d < a.sizes.size(); ++d) {
    const int64_t end = std::min(a.begin[d] + a.sizes[d], b.begin[d] + b.sizes[d]);
    if (std::max(a.begin[d], b.begin[d]) >= end) return false;
  }
  return true;
}

// Adds what the regions from number `first` on do not have, in parts that do not overlap.
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

std::vector<Element> TargetsOf(const OperatorDesc& op, const Element& input) {
  std::vector<Element> targets;
  const std::vector<TensorSlot> outputs = TensorSlots(op, TensorRole::kOutput);
  for (const SourceMap& source : SourcesOf(op)) {
    const TargetFinder finder(source, input, targets);
    for (size_t i = 0; i < outputs.size(); ++i) {
      const Dims sizes(outputs[i].desc->sizes->begin(), outputs[i].desc->sizes->end());
      finder.Search({i, Dims::Filled(sizes.size(), 0), sizes});
    }
  }
  std::sort(targets.begin(), targets.end(), ComesBefore);
  targets.erase(std::unique(targets.begin(), targets.end()), targets.end());
  return targets;
}

}  // namespace dmlop
