// SPDX-License-Identifier: Apache-2.0
// Actions when a signal ends the process: temporary files are removed, and messages are printed.
// Without HandleSignals, signals have their default effect, and the classes below only keep a list.
#pragma once

#include <signal.h>
#include <sys/types.h>

#include <cstddef>
#include <functional>
#include <list>
#include <string>
#include <thread>

namespace dmlop {

// Makes the signals that end a process and can be caught, such as SIGINT, SIGTERM and SIGUSR1,
// remove named temporary files first. SIGBUS in a mapped file that another process has truncated,
// or whose disk has failed, is reported as such, and ends the process with `bus_status`.
void HandleSignals(int bus_status);

// Defers those signals in every thread while it exists. Any number of threads may hold them.
class SignalsHeld {
 public:
  SignalsHeld();
  SignalsHeld(const SignalsHeld&) = delete;
  SignalsHeld& operator=(const SignalsHeld&) = delete;
  ~SignalsHeld();
};

// While it exists, SIGHUP, SIGINT and SIGTERM end the process only after say() was called in a
// thread of its own, which has ten seconds; ignored ones stay ignored. It must be created before
// any thread that is to outlive a signal. If no thread is available, these signals end the process
// as usual.
class LastWords {
 public:
  explicit LastWords(std::function<void()> say);
  LastWords(const LastWords&) = delete;
  LastWords& operator=(const LastWords&) = delete;
  ~LastWords();

 private:
  void Await(const sigset_t& requests) const;

  std::function<void()> say_;
  sigset_t mask_before_;
  std::thread waiting_;
};

// A part of a file in memory, and the file's name in messages.
struct MappedBytes {
  const std::byte* begin;
  size_t size;
  std::string name;
};

// What the signals are about.
struct SignalLists {
  std::list<std::string> temporaries;  // files
  std::list<std::string> trees;        // folders
  std::list<pid_t> groups;
  std::list<MappedBytes> ranges;
};

// An entry of such a list, which is in it from construction to destruction.
template <typename Entry, std::list<Entry> SignalLists::*kList>
class ListedForSignals {
 public:
  explicit ListedForSignals(Entry entry);
  ListedForSignals(const ListedForSignals&) = delete;
  ListedForSignals& operator=(const ListedForSignals&) = delete;
  ~ListedForSignals();

  const Entry& get() const { return *entry_; }

 private:
  typename std::list<Entry>::iterator entry_;
};

// A file, and a folder with all that is in it, that a signal removes.
using TemporaryPath = ListedForSignals<std::string, &SignalLists::temporaries>;
using TemporaryTree = ListedForSignals<std::string, &SignalLists::trees>;

// A memory-mapped file.
using MappedRange = ListedForSignals<MappedBytes, &SignalLists::ranges>;

// Other processes that a signal ends first: all of the process group of this leader. It must be
// made while the signals are held in which the group was started.
using ProcessGroup = ListedForSignals<pid_t, &SignalLists::groups>;

// --- requests to end -----------------------------------------------------------------------------

// Signals for commands that run other programs: the first request to end lets them finish what they
// are at, and nothing of theirs outlives them.

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

}  // namespace dmlop
