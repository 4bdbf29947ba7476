// The progress of whatever work a command does, on the terminal that standard error is.
#pragma once

#include <cstddef>
#include <functional>
#include <string>

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

}  // namespace dmlop
