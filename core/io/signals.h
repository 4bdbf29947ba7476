// What must be undone or said when a signal ends the process. Without HandleSignals, signals do
// what they always do and the classes below only keep a list.
#pragma once

#include <signal.h>

#include <cstddef>
#include <functional>
#include <list>
#include <string>
#include <thread>

namespace dmlop {

// The signals that end a process and can be caught, such as SIGINT, SIGTERM and SIGUSR1, remove the
// temporary files that have names before they end it. SIGBUS in a mapped file, which another
// process has made shorter or whose disk has failed, is told as such and ends the process with
// `bus_status`.
void HandleSignals(int bus_status);

// Holds back those signals for as long as it lives, in every thread.
class SignalsHeld {
 public:
  SignalsHeld();
  SignalsHeld(const SignalsHeld&) = delete;
  SignalsHeld& operator=(const SignalsHeld&) = delete;
  ~SignalsHeld();
};

// While it exists, SIGHUP, SIGINT and SIGTERM end the process once say() has been called in a
// thread of its own, which has ten seconds for it; those that were ignored still are. It is made
// before any thread that is to outlive a signal. Where there is no thread to be had, these signals
// end the process as ever.
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

// A file that a signal removes.
class TemporaryPath {
 public:
  explicit TemporaryPath(std::string path);
  TemporaryPath(const TemporaryPath&) = delete;
  TemporaryPath& operator=(const TemporaryPath&) = delete;
  ~TemporaryPath();

  const std::string& get() const { return *entry_; }

 private:
  std::list<std::string>::iterator entry_;
};

// Memory that shows a file; `name` is what the file is called in messages.
class MappedRange {
 public:
  MappedRange(const void* address, size_t size, std::string name);
  MappedRange(const MappedRange&) = delete;
  MappedRange& operator=(const MappedRange&) = delete;
  ~MappedRange();

 private:
  struct Entry {
    const std::byte* begin;
    size_t size;
    std::string name;
  };
  friend struct SignalLists;

  std::list<Entry>::iterator entry_;
};

}  // namespace dmlop
