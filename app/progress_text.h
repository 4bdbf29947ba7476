// How far work is, in words:
//
//   REDUCE: 43%  3.4 of 8.0 GB  5.2 GB/s  1 s left
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

namespace dmlop {

struct ProgressState {
  std::string what;
  int64_t done_bytes = 0;
  int64_t total_bytes = 0;  // 0: not known
  double seconds = 0;       // since the work began
};

// At most `width` columns: what is to the right is left out first, then `what` is shortened.
std::string ProgressText(const ProgressState& state, size_t width);

}  // namespace dmlop
