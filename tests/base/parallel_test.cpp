// SPDX-License-Identifier: Apache-2.0
#include "core/base/parallel.h"

#include <gtest/gtest.h>
#include <sched.h>

#include <array>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <set>
#include <thread>
#include <utility>

namespace dmlop {
namespace {

// Counts the threads that are in the body of a loop at the same time.
class Meeting {
 public:
  // Waits until `count` threads have come, or for so long that they never will.
  void Attend(size_t count) {
    std::unique_lock lock(mutex_);
    threads_.insert(std::this_thread::get_id());
    all_.notify_all();
    all_.wait_for(lock, std::chrono::seconds(60), [&] { return threads_.size() >= count; });
  }

  size_t count() const { return threads_.size(); }

 private:
  std::mutex mutex_;
  std::condition_variable all_;
  std::set<std::thread::id> threads_;
};

TEST(Parallel, RunsOnAsManyThreadsAsAreAskedFor) {
  for (const int count : {1, 2, 3, 5, 16, 4, 1}) {
    SetThreadCount(count);
    EXPECT_EQ(ThreadCount(), count);
    Meeting meeting;
    ParallelFor(16 * count, 1, /*bytes=*/0,
                [&](int64_t, int64_t) { meeting.Attend(static_cast<size_t>(count)); });
    EXPECT_EQ(meeting.count(), static_cast<size_t>(count));
  }
}

TEST(Parallel, GivesTasksSideBySideLoopsOfTheirOwn) {
  SetThreadCount(4);
  Meeting tasks;
  std::array<Meeting, 2> loops;
  SideBySide(2, [&](int64_t i) {
    tasks.Attend(2);
    ParallelFor(64, 1, /*bytes=*/0,
                [&](int64_t, int64_t) { loops[static_cast<size_t>(i)].Attend(2); });
  });
  EXPECT_EQ(tasks.count(), 2U);
  for (const Meeting& loop : loops) EXPECT_GE(loop.count(), 2U);
  SetThreadCount(1);
}

// A task may hold a lock while it waits for its loop, which another one would wait for.
TEST(Parallel, BeginsNoTaskWithinAnother) {
  static thread_local bool is_in_task = false;
  SetThreadCount(3);
  std::atomic<int> tasks = 0, within = 0;
  SideBySide(200, [&](int64_t) {
    within += std::exchange(is_in_task, true);
    ParallelFor(50, 1, /*bytes=*/0, [](int64_t, int64_t) { std::this_thread::yield(); });
    is_in_task = false;
    ++tasks;
  });
  EXPECT_EQ(tasks, 200);
  EXPECT_EQ(within, 0);
  SetThreadCount(1);
}

TEST(Parallel, CountsTheCoresOfTheAffinity) {
  cpu_set_t before;
  ASSERT_EQ(sched_getaffinity(0, sizeof before, &before), 0);
  EXPECT_EQ(AvailableCores(), CPU_COUNT(&before));
  int core = 0;
  while (!CPU_ISSET(core, &before)) ++core;
  cpu_set_t one;
  CPU_ZERO(&one);
  CPU_SET(core, &one);
  ASSERT_EQ(sched_setaffinity(0, sizeof one, &one), 0);
  EXPECT_EQ(AvailableCores(), 1);
  ASSERT_EQ(sched_setaffinity(0, sizeof before, &before), 0);
}

}  // namespace
}  // namespace dmlop
