// SPDX-License-Identifier: Apache-2.0
// Tells which elements of the inputs contribute to which elements of the outputs of valid descs.
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "core/ops/operator.h"
#include "core/tensor/layout.h"

namespace dmlop {

struct Element {
  size_t tensor;  // index among the tensors of its role
  Dims index;

  friend bool operator==(const Element&, const Element&) = default;
};

// The distinct parts of the inputs that contribute to an output element; none if it is filled.
std::vector<Region> SourcesOf(const OperatorDesc& op, const Element& output);

// Tells how much of a list is shown.
struct ListLength {
  int64_t most;  // the longest list that is shown in full
  size_t edge;   // number of entries at each end of a longer list

  // Adds an entry to a list that shows both ends of `count` entries so far, including this one.
  template <typename Entry>
  void Add(Entry entry, int64_t count, std::vector<Entry>& list) const {
    list.push_back(std::move(entry));
    if (count <= most || list.size() <= 2 * edge) return;
    list.erase(list.begin() + static_cast<std::ptrdiff_t>(edge),
               list.end() - static_cast<std::ptrdiff_t>(edge));
  }
};

// The output elements that depend on an input element, by tensors and in row-major order.
struct Targets {
  int64_t count = 0;
  std::vector<Element> listed;  // all of them, or both ends
};
Targets TargetsOf(const OperatorDesc& op, const Element& input, ListLength length);

}  // namespace dmlop
