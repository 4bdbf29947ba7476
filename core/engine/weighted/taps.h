// SPDX-License-Identifier: Apache-2.0
// The taps of an output's dimensions, and their products.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "core/engine/weighted/weighted_sum.h"
#include "core/exact/double_double.h"

namespace dmlop {

// A bound of what is lost if numbers become too small for binary64.
inline constexpr double kTinyTerm = 0x1p-900;

struct Tap {
  int64_t offset;
  double part;  // numerator of the weight, rounded
  DoubleDouble weight;
  bool is_exact;  // whether the weight is exact
};

// Returns the product of taps of two dimensions.
Tap Both(const Tap& a, const Tap& b);

// Facts about the parts and wholes of a dimension that a kernel needs.
struct TapRange {
  int64_t most_taps = 0;  // greatest number for an index
  int64_t least_exponent = 0;
  int64_t part_bits = 0;  // greatest number
  int64_t whole_bits = 0;
  double most_sum = 0;      // greatest sum of the parts of an index
  bool is_ordinary = true;  // products for a few dimensions stay in binary64
};

// The taps of consecutive indices of one dimension.
struct TapTable {
  std::vector<size_t> begins = {0};
  std::vector<Tap> taps;
  std::vector<double> wholes;
  TapRange range;

  int64_t size() const { return static_cast<int64_t>(wholes.size()); }
  std::span<const Tap> At(int64_t index) const {
    const size_t i = static_cast<size_t>(index);
    return {taps.data() + begins[i], begins[i + 1] - begins[i]};
  }
};

TapTable TableOf(const TapAxis& axis, int64_t begin, int64_t end);

// Takes some taps of one index, since all of them may not fit into memory.
TapTable TableOf(const TapAxis& axis, int64_t index, Range some);

}  // namespace dmlop
