// SPDX-License-Identifier: Apache-2.0
// Finds the values of a tensor by rank, without a sorted copy.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <mutex>
#include <type_traits>
#include <vector>

#include "core/base/parallel.h"
#include "core/compare/elements.h"

namespace dmlop {

// Numbers the values of T within a range in ascending order from 0. -0 counts as 0.
template <typename T>
class ValueOrder {
 public:
  ValueOrder(Wide<T> min, Wide<T> max) : base_(Ordered(min)), most_(NumberOf(max)) {}

  uint64_t most() const { return most_; }
  uint64_t NumberOf(Wide<T> value) const { return Ordered(value) - base_; }

  Wide<T> ValueOf(uint64_t number) const {
    const uint64_t ordered = base_ + number;
    if constexpr (std::is_integral_v<T>) {
      return static_cast<Wide<T>>(ordered);
    } else {
      const uint64_t bits = ordered & kSign ? ordered ^ kSign : kNegatives - ordered;
      return std::bit_cast<double>(bits << kSpareBits);
    }
  }

 private:
  // Number of trailing bits that are 0 in every double that is a T, and are dropped.
  static constexpr unsigned kSpareBits = std::is_integral_v<T> || sizeof(T) == 8 ? 0
                                         : sizeof(T) == 4                        ? 52 - 23
                                                                                 : 52 - 10;
  static constexpr uint64_t kSign = (uint64_t{1} << 63) >> kSpareBits;
  static constexpr uint64_t kNegatives = 2 * kSign - 1;  // larger bits mean lower values

  // Only differences matter; they follow the order of values, modulo 2^64.
  static uint64_t Ordered(Wide<T> value) {
    if constexpr (std::is_integral_v<T>) {
      return static_cast<uint64_t>(value);
    } else {
      const uint64_t bits = std::bit_cast<uint64_t>(value + 0.0) >> kSpareBits;  // turns -0 into 0
      return bits & kSign ? kNegatives - bits : bits | kSign;
    }
  }

  uint64_t base_;
  uint64_t most_;
};

// Finds values by rank: counts the values in each part of the range, then in each part of the parts
// that contain one of the ranks, and so on.
template <typename T>
class RankSearch {
 public:
  // [min, max] is the range of the finite values.
  RankSearch(const Elements<T>& elements, Wide<T> min, Wide<T> max)
      : elements_(elements), order_(min, max) {}

  // Returns the finite values of these ranks, which are ascending and count from 0.
  std::vector<Wide<T>> Find(const std::vector<int64_t>& ranks) const {
    std::vector<Target> targets;
    for (const int64_t rank : ranks) targets.push_back({0, rank});
    int shift = 0;
    while (shift < 64 && order_.most() >> shift > 0) shift += kPartBits;
    while ((shift -= kPartBits) >= 0) Narrow(shift, targets);
    std::vector<Wide<T>> values;
    for (const Target& target : targets) values.push_back(order_.ValueOf(target.part));
    return values;
  }

 private:
  static constexpr int kPartBits = 12;
  static constexpr size_t kParts = size_t{1} << kPartBits;
  static constexpr int64_t kGrain = int64_t{1} << 18;  // number of elements that are worth a table

  // The known bits of a value's number, and its rank among the values that share them.
  struct Target {
    uint64_t part;
    int64_t rank;
  };

  // The number of values in each part of a part.
  struct Table {
    uint64_t part;
    std::vector<int64_t> counts;
  };

  // Determines the next kPartBits bits of each number, down to bit `shift`.
  void Narrow(int shift, std::vector<Target>& targets) const {
    const std::vector<Table> tables = Count(shift, targets);
    for (Target& target : targets) {
      const Table& table = *std::find_if(tables.begin(), tables.end(),
                                         [&](const Table& one) { return one.part == target.part; });
      size_t part = 0;
      for (; target.rank >= table.counts[part]; ++part) target.rank -= table.counts[part];
      target.part = (target.part << kPartBits) + part;
    }
  }

  std::vector<Table> Count(int shift, const std::vector<Target>& targets) const {
    std::vector<Table> total;
    for (const Target& target : targets) {
      if (!total.empty() && total.back().part == target.part) continue;
      total.push_back({target.part, std::vector<int64_t>(kParts)});
    }
    const std::vector<Table> empty = total;
    std::mutex mutex;
    ParallelFor(elements_.count(), kGrain, elements_.bytes(), [&](int64_t begin, int64_t end) {
      std::vector<Table> part = empty;
      elements_.ForEach(begin, end, [&](Wide<T> value) {
        if (IsFinite(value)) Add(order_.NumberOf(value) >> shift, part);
      });
      const std::lock_guard lock(mutex);
      for (size_t i = 0; i < total.size(); ++i) Add(part[i].counts, total[i].counts);
    });
    return total;
  }

  static void Add(uint64_t number, std::vector<Table>& tables) {
    for (Table& table : tables) {
      if (number >> kPartBits == table.part) ++table.counts[number % kParts];
    }
  }

  static void Add(const std::vector<int64_t>& counts, std::vector<int64_t>& total) {
    for (size_t i = 0; i < kParts; ++i) total[i] += counts[i];
  }

  const Elements<T>& elements_;
  const ValueOrder<T> order_;
};

}  // namespace dmlop
