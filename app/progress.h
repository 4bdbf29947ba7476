// The progress of whatever work a command does, on the terminal that standard error is.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>

#include "app/timing.h"

namespace dmlop {

// While it exists, work is shown from its second second on; nothing where standard error is no
// terminal.
class ProgressDisplay {
 public:
  explicit ProgressDisplay(bool quiet);
  ProgressDisplay(const ProgressDisplay&) = delete;
  ProgressDisplay& operator=(const ProgressDisplay&) = delete;
  ~ProgressDisplay();
};

// Draws the line that `text` gives for a width in columns, where there is a display and its last
// line is old enough. From any thread.
void DrawProgress(const std::function<std::string(size_t width)>& text);

// The progress of many cases, while it exists in place of that of the work of each.
class CaseProgress {
 public:
  explicit CaseProgress(int64_t total);

  // A case has ended; from any thread.
  void Add(bool failed);

  double seconds() const;  // since the beginning

 private:
  const int64_t total_;
  const Clock::time_point start_;
  std::atomic<int64_t> done_ = 0;
  std::atomic<int64_t> failed_ = 0;
};

}  // namespace dmlop
