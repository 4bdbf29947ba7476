// SPDX-License-Identifier: Apache-2.0
// Reports which long work is under way, and its progress, for a program that shows it.
#pragma once

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>

namespace dmlop {

// A piece of work, from construction to destruction; only one exists at a time.
class Work {
 public:
  // `bytes` is the amount to process; 0 if unknown.
  explicit Work(std::string what, int64_t bytes = 0);
  Work(const Work&) = delete;
  Work& operator=(const Work&) = delete;
  ~Work();

  const std::string& what() const { return what_; }
  double seconds() const;  // time since it began
  int64_t done_bytes() const { return done_; }

  // Returns 0 if unknown; grows if loops turn out to take more than expected.
  int64_t total_bytes() const { return expected_ == 0 ? 0 : std::max<int64_t>(expected_, found_); }

 private:
  friend void FindWork(int64_t bytes);
  friend void AddDone(int64_t bytes);

  const std::string what_;
  const int64_t expected_;
  const std::chrono::steady_clock::time_point start_;
  std::atomic<int64_t> found_ = 0;
  std::atomic<int64_t> done_ = 0;
};

// The watcher is called after each step, in the thread that took it, so possibly by several at
// once. An empty one ends watching. Must not be called while there is work.
void WatchWork(std::function<void(const Work&)> watcher);

// Returns true if there is work and a watcher.
bool IsWatched();

// A loop reports how much it is about to process, and how much more it has done, from any thread.
// Both cost nothing if nobody watches.
void FindWork(int64_t bytes);
void AddDone(int64_t bytes);

// Approximate amount of work between two looks at the clock.
inline constexpr int64_t kStepBytes = int64_t{1} << 20;

// Calls body(begin, size) for consecutive parts of `size` bytes, and reports each when it is done.
template <typename Body>
void ForEachStep(size_t size, Body&& body) {
  for (size_t begin = 0; begin < size; begin += kStepBytes) {
    const size_t step = std::min<size_t>(kStepBytes, size - begin);
    body(begin, step);
    AddDone(static_cast<int64_t>(step));
  }
}

}  // namespace dmlop
