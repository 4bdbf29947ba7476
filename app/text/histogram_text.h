// Counts with a bar for each.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace dmlop {

struct HistogramRow {
  std::string label;
  int64_t count;
  int64_t dotted = 0;  // of the count: the part of the bar that is drawn with dots
};

// One row a line: label, count and bar, as wide as standard output takes. The longest bar is that
// of the largest count; a count that is not 0 has one, and so has each of its parts.
std::string HistogramText(const std::vector<HistogramRow>& rows);

}  // namespace dmlop
