// SPDX-License-Identifier: Apache-2.0
// A set of places in memory, stored as intervals.
#pragma once

#include <cstdint>
#include <map>

namespace dmlop {

class PlaceSet {
 public:
  bool empty() const { return ends_.empty(); }

  // Whether any place in [begin, end) is in the set.
  bool Meets(uint64_t begin, uint64_t end) const;

  // Whether all places in [begin, end) are in the set.
  bool Contains(uint64_t begin, uint64_t end) const;

  void Add(uint64_t begin, uint64_t end);
  void Add(const PlaceSet& other);
  void Remove(const PlaceSet& other);

 private:
  void Remove(uint64_t begin, uint64_t end);

  std::map<uint64_t, uint64_t> ends_;  // by begin; intervals do not touch
};

}  // namespace dmlop
