// SPDX-License-Identifier: Apache-2.0
// Progress of work in text that fits the terminal:
//
//  REDUCE: 43%  3.4 of 8.0 GB  5.2 GB/s  1 s left
//  batch: 43%  430 of 1000 cases  2 failed  210 cases/s  3 s left
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "app/timing.h"

namespace dmlop {

// --- text ----------------------------------------------------------------------------------------

struct ProgressState {
  std::string what;
  int64_t done_bytes = 0;
  int64_t total_bytes = 0;  // 0 if unknown
  double seconds = 0;       // since the work began
};

// At most `width` columns: the rightmost parts are left out first, then `what` is shortened.
// `unicode` says whether the terminal shows more than ASCII.
std::string ProgressText(const ProgressState& state, size_t width, bool unicode);

// Takes any parts, at least one.
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

// --- showing it ----------------------------------------------------------------------------------

// While it exists, work that takes longer than a second is shown if standard error is a terminal.
class ProgressDisplay {
 public:
  explicit ProgressDisplay(bool quiet);
  ProgressDisplay(const ProgressDisplay&) = delete;
  ProgressDisplay& operator=(const ProgressDisplay&) = delete;
  ~ProgressDisplay();
};

// Draws the line that `text` gives for a width in columns, if there is a display and its last line
// is old enough. May be called from any thread.
void DrawProgress(const std::function<std::string(size_t width)>& text);

// While it exists, shows the progress of many cases instead of each case's work.
class CaseProgress {
 public:
  explicit CaseProgress(int64_t total);

  // Counts a case that has ended; may be called from any thread.
  void Add(bool failed);

  double seconds() const;  // since the beginning

 private:
  const int64_t total_;
  const Clock::time_point start_;
  std::atomic<int64_t> done_ = 0;
  std::atomic<int64_t> failed_ = 0;
};

}  // namespace dmlop
