// Counts with a bar for each.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace dmlop {

struct HistogramRow {
  std::string label;
  int64_t count;
};

// One row a line: label, count and bar, as wide as standard output takes. The longest bar is that
// of the largest count; a count that is not 0 has one.
std::string HistogramText(const std::vector<HistogramRow>& rows);

}  // namespace dmlop
