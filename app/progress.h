// SPDX-License-Identifier: Apache-2.0
// Shows the progress of a command's work if standard error is a terminal.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>

#include "app/timing.h"

namespace dmlop {

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
