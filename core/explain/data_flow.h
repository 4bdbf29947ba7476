// Which elements of an operator's inputs feed which elements of its outputs. All descriptors are
// valid.
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "core/ops/operator.h"
#include "core/tensor/dims.h"

namespace dmlop {

struct Element {
  size_t tensor;  // its number among those of its role
  Dims index;

  friend bool operator==(const Element&, const Element&) = default;
};

// The parts of the inputs that feed an output element, each element once: none where it is filled.
std::vector<Region> SourcesOf(const OperatorDesc& op, const Element& output);

// How much of a list is told.
struct ListLength {
  int64_t most;  // of a whole list
  size_t edge;   // at each end of a list that is longer

  // Adds to a list that has both ends of `count` entries, this one included.
  template <typename Entry>
  void Add(Entry entry, int64_t count, std::vector<Entry>& list) const {
    list.push_back(std::move(entry));
    if (count <= most || list.size() <= 2 * edge) return;
    list.erase(list.begin() + static_cast<std::ptrdiff_t>(edge),
               list.end() - static_cast<std::ptrdiff_t>(edge));
  }
};

// The output elements that an input element reaches, by tensors and in row-major order.
struct Targets {
  int64_t count = 0;
  std::vector<Element> listed;  // all, or both ends
};
Targets TargetsOf(const OperatorDesc& op, const Element& input, ListLength length);

}  // namespace dmlop
