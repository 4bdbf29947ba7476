// SPDX-License-Identifier: Apache-2.0
// The taps of an output's last dimension in the form that the kernel of weighted rows takes.
#pragma once

#include <cstdint>
#include <iterator>
#include <optional>
#include <span>
#include <vector>

#include "core/engine/weighted/taps.h"
#include "core/kernels/weighted/weighted_row.h"

namespace dmlop {

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
