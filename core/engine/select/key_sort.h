// SPDX-License-Identifier: Apache-2.0
// Sorts elements of a sequence by a key, and equal keys by place.
#pragma once

#include <algorithm>
#include <array>
#include <compare>
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "core/base/parallel.h"

namespace dmlop {

template <typename Key>
struct Candidate {
  Key key;
  uint32_t place;  // 32 bits suffice for any size

  friend auto operator<=>(const Candidate&, const Candidate&) = default;
};

// Calls body(part, begin, end) for parts of [0, count) of equal size, whatever the threads.
inline void ForEachPart(int64_t count, int64_t parts,
                        const std::function<void(size_t, int64_t, int64_t)>& body) {
  const int64_t size = (count + parts - 1) / parts;
  ParallelFor(parts, 1, 0, [&](int64_t begin, int64_t end) {
    for (int64_t part = begin; part < end; ++part) {
      body(static_cast<size_t>(part), std::min(count, part * size),
           std::min(count, (part + 1) * size));
    }
  });
}

// A stable radix sort by keys, from the lowest digit on. Each digit is counted and moved part by
// part.
template <typename Key>
class KeySort {
 public:
  void Sort(std::vector<Candidate<Key>>& candidates, int64_t parts) {
    spare_.resize(candidates.size());
    for (size_t shift = 0; shift < 8 * sizeof(Key); shift += 8) {
      Count(candidates, shift, parts);
      if (!FindPlaces(candidates.size())) continue;
      Move(candidates, shift, parts);
      candidates.swap(spare_);
    }
  }

 private:
  using Places = std::array<size_t, 256>;  // for each digit, first the count, then the place

  static size_t DigitOf(Key key, size_t shift) { return (key >> shift) & 255; }

  void Count(std::span<const Candidate<Key>> from, size_t shift, int64_t parts) {
    places_.assign(static_cast<size_t>(parts), Places{});
    ForEachPart(std::ssize(from), parts, [&](size_t part, int64_t begin, int64_t end) {
      Places counts{};
      for (int64_t i = begin; i < end; ++i)
        ++counts[DigitOf(from[static_cast<size_t>(i)].key, shift)];
      places_[part] = counts;
    });
  }

  // Turns counts into places; false if all digits are the same.
  bool FindPlaces(size_t count) {
    size_t next = 0;
    for (size_t digit = 0; digit < 256; ++digit) {
      const size_t first = next;
      for (Places& part : places_) {
        const size_t here = part[digit];
        part[digit] = next;
        next += here;
      }
      if (next - first == count) return false;
    }
    return true;
  }

  void Move(std::span<const Candidate<Key>> from, size_t shift, int64_t parts) {
    ForEachPart(std::ssize(from), parts, [&](size_t part, int64_t begin, int64_t end) {
      Places places = places_[part];
      for (int64_t i = begin; i < end; ++i) {
        const Candidate<Key> one = from[static_cast<size_t>(i)];
        spare_[places[DigitOf(one.key, shift)]++] = one;
      }
    });
  }

  std::vector<Candidate<Key>> spare_;
  std::vector<Places> places_;
};

}  // namespace dmlop
