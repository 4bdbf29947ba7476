// SPDX-License-Identifier: Apache-2.0
// Histograms: counts with a bar each.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace dmlop {

struct HistogramRow {
  std::string label;
  int64_t count;
  int64_t dotted = 0;  // part of the count; its share of the bar is dotted
};

// One line for each row: label, count and bar, as wide as standard output allows. The largest count
// has the longest bar; each nonzero count, and each nonzero part of one, has a visible bar.
std::string HistogramText(const std::vector<HistogramRow>& rows);

}  // namespace dmlop
