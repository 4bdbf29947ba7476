// The progress of whatever work a command does, on the terminal that standard error is.
#pragma once

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

}  // namespace dmlop
