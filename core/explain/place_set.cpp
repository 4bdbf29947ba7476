// SPDX-License-Identifier: Apache-2.0
#include "core/explain/place_set.h"

#include <algorithm>
#include <iterator>

namespace dmlop {

bool PlaceSet::Meets(uint64_t begin, uint64_t end) const {
  const auto next = ends_.lower_bound(end);
  return next != ends_.begin() && std::prev(next)->second > begin;
}

bool PlaceSet::Contains(uint64_t begin, uint64_t end) const {
  const auto next = ends_.upper_bound(begin);
  return next != ends_.begin() && std::prev(next)->second >= end;
}

void PlaceSet::Add(uint64_t begin, uint64_t end) {
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

void PlaceSet::Add(const PlaceSet& other) {
  for (const auto& [begin, end] : other.ends_) Add(begin, end);
}

void PlaceSet::Remove(const PlaceSet& other) {
  for (const auto& [begin, end] : other.ends_) Remove(begin, end);
}

void PlaceSet::Remove(uint64_t begin, uint64_t end) {
  auto next = ends_.upper_bound(begin);
  if (next != ends_.begin() && std::prev(next)->second > begin) --next;
  while (next != ends_.end() && next->first < end) {
    const auto [from, to] = *next;
    next = ends_.erase(next);
    if (from < begin) ends_.emplace_hint(next, from, begin);
    if (to > end) ends_.emplace_hint(next, end, to);
  }
}

}  // namespace dmlop
