// SPDX-License-Identifier: Apache-2.0
// Summary statistics of a tensor's values.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <optional>
#include <variant>
#include <vector>

#include "core/tensor/tensor.h"

namespace dmlop {

// A value of any type without rounding: a float as double, an integer as the widest of its sign.
using Number = std::variant<double, int64_t, uint64_t>;

// The values from `least` up to the next bin.
struct HistogramBin {
  Number least;
  int64_t count;

  bool operator==(const HistogramBin&) const = default;
};

// Statistics of the finite values. -0 counts as 0.
struct FiniteStatistics {
  static constexpr size_t kBinCount = 16;

  Number min;
  Number max;
  double mean = 0.0;
  double deviation = 0.0;  // the square root of the mean of (value - mean)^2
  // For each of kPercents, the least value that so many percent of the values do not exceed.
  static constexpr std::array<int, 7> kPercents = {1, 5, 25, 50, 75, 95, 99};
  std::vector<Number> percentiles;
  // kBinCount equal parts of [min, max], which begin at doubles (64-bit integers are rounded to
  // double for them); the last one includes the maximum. If there are at most as many integers,
  // each has a bin, and a single value is the only bin.
  std::vector<HistogramBin> histogram;
};

struct Statistics {
  int64_t count = 0;
  int64_t nan_count = 0;
  int64_t positive_infinity_count = 0;
  int64_t negative_infinity_count = 0;
  int64_t zero_count = 0;                  // including -0
  int64_t subnormal_count = 0;             // floats between 0 and the least normal number
  std::optional<FiniteStatistics> finite;  // empty if no value is finite

  int64_t finite_count() const {
    return count - nan_count - positive_infinity_count - negative_infinity_count;
  }
};

// Takes a view in any layout, of a type at least a byte wide.
Statistics ComputeStatistics(const ConstTensorView& view);

// Numbers that are computed anew whenever they are looked at, from so many bytes of memory.
struct NumberSequence {
  int64_t count;
  int64_t bytes;
  std::function<void(int64_t begin, int64_t end, uint64_t* numbers)> read;
};

// Returns the numbers of these ranks, which count from 0 and ascend. Those beyond `most` have the
// last ranks, which are not asked for.
std::vector<uint64_t> NumbersOfRanks(const NumberSequence& sequence, uint64_t most,
                                     const std::vector<int64_t>& ranks);

}  // namespace dmlop
