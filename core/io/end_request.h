// SPDX-License-Identifier: Apache-2.0
// Signals for commands that run other programs: the first request to end lets them finish what they
// are at, and nothing of theirs outlives them.
#pragma once

#include <sys/types.h>

#include <list>
#include <string>

namespace dmlop {

// While it exists, the first SIGHUP, SIGINT or SIGTERM only asks the work to end, and the next one
// ends the process as usual; ignored ones stay ignored. The end of the object ends the process by
// the signal that has come.
class EndRequest {
 public:
  EndRequest();
  EndRequest(const EndRequest&) = delete;
  EndRequest& operator=(const EndRequest&) = delete;
  ~EndRequest();

  static bool has_come();
};

// Other processes that a signal ends first: all of a process group. It must be made while the
// signals are held in which the group was started.
class ProcessGroup {
 public:
  explicit ProcessGroup(pid_t leader);
  ProcessGroup(const ProcessGroup&) = delete;
  ProcessGroup& operator=(const ProcessGroup&) = delete;
  ~ProcessGroup();

 private:
  std::list<pid_t>::iterator entry_;
};

// A folder that a signal removes with all that is in it.
class TemporaryTree {
 public:
  explicit TemporaryTree(std::string path);
  TemporaryTree(const TemporaryTree&) = delete;
  TemporaryTree& operator=(const TemporaryTree&) = delete;
  ~TemporaryTree();

  const std::string& get() const { return *entry_; }

 private:
  std::list<std::string>::iterator entry_;
};

}  // namespace dmlop
