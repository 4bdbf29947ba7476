// SPDX-License-Identifier: Apache-2.0
// A command of the shell that may fail, hang, or leave processes behind.
#pragma once

#include <string>

namespace dmlop {

struct ProcessEnd {
  int status = 0;          // if it ended by itself
  int signal = 0;          // that ended it; 0 for none
  bool timed_out = false;  // it took too long, and was ended
  double seconds = 0;      // that it took
  std::string last_words;  // the last lines that it wrote to standard error

  bool succeeded() const { return status == 0 && signal == 0 && !timed_out; }
};

// Runs /bin/sh -c COMMAND in a process group of its own, without input, in the current folder. When
// it returns, no process of the group is left. If `is_shown`, what the command prints goes to
// standard error. Throws an Error of kind kFileSystem if no process can be started.
ProcessEnd RunShell(const std::string& command, double most_seconds, bool is_shown);

}  // namespace dmlop
