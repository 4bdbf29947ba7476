// A range of integers, [begin, end).
#pragma once

#include <algorithm>
#include <cstdint>

namespace dmlop {

struct Range {
  int64_t begin, end;

  int64_t count() const { return std::max<int64_t>(0, end - begin); }
  bool Contains(int64_t number) const { return begin <= number && number < end; }
};

inline Range Intersection(Range a, Range b) {
  return {std::max(a.begin, b.begin), std::min(a.end, b.end)};
}

}  // namespace dmlop
