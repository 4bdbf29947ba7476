// SPDX-License-Identifier: Apache-2.0
// Progress of work in text that fits the terminal:
//
//  REDUCE: 43%  3.4 of 8.0 GB  5.2 GB/s  1 s left
//  batch: 43%  430 of 1000 cases  2 failed  210 cases/s  3 s left
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace dmlop {

struct ProgressState {
  std::string what;
  int64_t done_bytes = 0;
  int64_t total_bytes = 0;  // 0 if unknown
  double seconds = 0;       // since the work began
};

// At most `width` columns: the rightmost parts are left out first, then `what` is shortened.
// `unicode` says whether the terminal shows more than ASCII.
std::string ProgressText(const ProgressState& state, size_t width, bool unicode);

// As above for any parts, at least one.
std::string ProgressText(const std::string& what, const std::vector<std::string>& parts,
                         size_t width, bool unicode);

// Returns text such as "5 s left".
std::string TimeLeftText(double seconds);

struct CaseCounts {
  int64_t done = 0;  // including failed ones
  int64_t total = 0;
  int64_t failed = 0;
  double seconds = 0;
};

std::string ProgressText(const CaseCounts& counts, size_t width, bool unicode);

}  // namespace dmlop
