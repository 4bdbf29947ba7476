// Places in memory, as intervals.
#pragma once

#include <cstdint>
#include <map>

namespace dmlop {

class PlaceSet {
 public:
  bool empty() const { return ends_.empty(); }

  // Whether any place of [begin, end) is in the set.
  bool Meets(uint64_t begin, uint64_t end) const;

  // Whether all of them are.
  bool Contains(uint64_t begin, uint64_t end) const;

  void Add(uint64_t begin, uint64_t end);
  void Add(const PlaceSet& other);
  void Remove(const PlaceSet& other);

 private:
  void Remove(uint64_t begin, uint64_t end);

  std::map<uint64_t, uint64_t> ends_;  // by begin; no two of them touch
};

}  // namespace dmlop
