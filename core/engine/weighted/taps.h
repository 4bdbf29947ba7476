// SPDX-License-Identifier: Apache-2.0
// The taps of an output's dimensions, and their products.
#pragma once

#include <cstdint>
#include <iterator>
#include <optional>
#include <span>
#include <vector>

#include "core/engine/weighted/weighted_sum.h"
#include "core/exact/double_double.h"
#include "core/kernels/weighted/weighted_row.h"

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

// The taps of an output's last dimension in the form that the kernel of weighted rows takes.
class KernelTaps {
 public:
  // Returns nothing if the kernel cannot use the tables of an output's dimensions.
  static std::optional<KernelTaps> Of(std::span<const TapTable> tables);

  // Returns the row for given products of the other dimensions' taps and wholes.
  template <typename T>
  WeightedRow<T> Row(const T* x, std::span<const WeightedTap> outer, double whole) {
    return {.x = x,
            .outer = outer,
            .runs = runs_,
            .scratch = scratch_.data(),
            .count = count_,
            .taps = taps_,
            .places = places_.data(),
            .rise = rise_.data(),
            .parts = parts_.data(),
            .whole = whole,
            .wholes = wholes_.data(),
            .most_sum = most_sum_,
            .exact_range = exact_range_,
            .relative_error = RelativeError(std::ssize(outer)),
            .divides = divides_};
  }

 private:
  KernelTaps() = default;

  void FillRuns(const TapTable& inner);
  void FillTaps(const TapTable& inner);
  void FillRange(std::span<const TapTable> tables);
  int32_t PlaceOf(int64_t offset, int32_t before) const;
  double RelativeError(int64_t outer_taps) const;

  std::vector<int64_t> offsets_;  // those of the columns, ascending
  std::vector<ColumnRun> runs_;
  std::vector<double> scratch_;
  int64_t count_ = 0;
  int64_t taps_ = 0;
  std::vector<int32_t> places_;
  std::vector<uint8_t> rise_;
  std::vector<double> parts_;
  std::vector<double> wholes_;
  double most_sum_ = 1;
  double exact_range_ = 0;
  bool divides_ = false;
};

}  // namespace dmlop
