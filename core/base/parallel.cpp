// SPDX-License-Identifier: Apache-2.0
#include "core/base/parallel.h"

#include <fmt/format.h>
#include <sched.h>
#include <sys/stat.h>
#include <tbb/blocked_range.h>
#include <tbb/global_control.h>
#include <tbb/parallel_for.h>
#include <tbb/task_arena.h>

#ifdef DMLOP_THREAD_SANITIZER
#include <sanitizer/tsan_interface.h>
#endif

#include <algorithm>
#include <atomic>
#include <chrono>
#include <ctime>
#include <latch>
#include <memory>
#include <mutex>
#include <optional>
#include <system_error>
#include <thread>
#include <utility>

#include "core/base/error.h"
#include "core/base/progress.h"

namespace dmlop {
namespace {

constexpr int kMostCores = 1 << 20;

struct CpuSetFree {
  void operator()(cpu_set_t* set) const { CPU_FREE(set); }
};

struct ThreadLimit {
  std::atomic<int> count = AvailableCores();
  std::once_flag settled;  // the system is known to give that many
  std::optional<tbb::global_control> control;
  // Only for more threads than TBB would use by itself, one per core. Otherwise each calling thread
  // has an arena of its own.
  std::optional<tbb::task_arena> arena;
};

ThreadLimit& Threads() {
  static ThreadLimit limit;
  return limit;
}

// Loops inside the body of a parallel one run in its thread.
thread_local bool is_in_body = false;

class InBody {
 public:
  explicit InBody(bool is_of_loop = true) : before_(std::exchange(is_in_body, is_of_loop)) {}
  InBody(const InBody&) = delete;
  InBody& operator=(const InBody&) = delete;
  ~InBody() { is_in_body = before_; }

 private:
  bool before_;
};

// Everything before Pass() happens before everything after Await() in another thread. oneTBB
// ensures that, but the thread sanitizer must be told, as Debian's oneTBB is not built for it.
class Order {
 public:
#ifdef DMLOP_THREAD_SANITIZER
  void Pass() {
    __tsan_release(this);
  }
  void Await() {
    __tsan_acquire(this);
  }
#else
  void Pass() {}
  void Await() {}
#endif
};

// --- recording -----------------------------------------------------------------------------------

// The processor's time of this thread, in which other processes do not count.
double ThreadSeconds() {
  timespec time;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_nsec) * 1e-9;
}

// Stands in for the threads while loops are recorded: runs each loop in the pieces of one grain
// that they would share at most.
struct Recorder {
  int threads;
  WorkRecord record{};

  void RunRanges(int64_t count, int64_t grain, const RangeBody& body) {
    const InBody in_body;
    LoopRecord loop;
    const double start = ThreadSeconds();
    for (int64_t begin = 0; begin < count; begin += grain) {
      body(begin, std::min(begin + grain, count));
      const double seconds = ThreadSeconds() - start;
      ++loop.pieces;
      loop.longest = std::max(loop.longest, seconds - std::exchange(loop.seconds, seconds));
    }
    record.loops.push_back(loop);
  }
};
Recorder* recorder = nullptr;

class Recording {
 public:
  explicit Recording(Recorder& of_this) { recorder = &of_this; }
  Recording(const Recording&) = delete;
  Recording& operator=(const Recording&) = delete;
  ~Recording() { recorder = nullptr; }
};

// --- loops ---------------------------------------------------------------------------------------

// `has_loops`: loops inside the body are parallel, too.
void RunRanges(int64_t count, int64_t grain, const RangeBody& body, bool has_loops = false) {
  if (count <= grain || ThreadsAtHand() == 1 || SettledThreadCount() == 1) return body(0, count);
  if (recorder != nullptr) return recorder->RunRanges(count, grain, body);
  Order start;
  Order end;
  start.Pass();
  // While this thread waits for others, it takes no part in other loops, whose locks it may hold.
  const auto run = [&] {
    tbb::this_task_arena::isolate([&] {
      tbb::parallel_for(tbb::blocked_range<int64_t>(0, count, static_cast<size_t>(grain)),
                        [&](const tbb::blocked_range<int64_t>& range) {
                          const InBody in_body(!has_loops);
                          start.Await();
                          body(range.begin(), range.end());
                          end.Pass();
                        });
    });
  };
  if (Threads().arena) {
    Threads().arena->execute(run);
  } else {
    run();
  }
  end.Await();
}

// Returns the number of threads of this process, or 0 if the system does not tell.
size_t RunningThreads() {
  struct stat tasks;
  constexpr size_t kOtherLinks = 2;  // that every folder has
  return stat("/proc/self/task", &tasks) == 0 ? tasks.st_nlink - kOtherLinks : 0;
}

// A joined thread counts against limits until the kernel has removed it.
void AwaitThreads(size_t count) {
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(1);
  while (RunningThreads() > count && std::chrono::steady_clock::now() < end) sched_yield();
}

// Returns how many threads the system gives, including this one and at most `wanted`. TBB ends the
// process if it gets fewer than it asks for, so they are tried first.
int ThreadsToBeHad(int wanted) {
  const size_t before = RunningThreads();
  int count = 1;
  {
    std::latch end(1);
    std::vector<std::jthread> threads;
    try {
      for (; count < wanted; ++count) threads.emplace_back([&] { end.wait(); });
    } catch (const std::system_error&) {
      // No more threads, or no memory for them.
    } catch (const std::bad_alloc&) {
    }
    end.count_down();
  }
  AwaitThreads(before);
  return count;
}

void LimitTo(int count) {
  ThreadLimit& limit = Threads();
  limit.count = count;
  limit.arena.reset();
  if (count > AvailableCores()) limit.arena.emplace(count);
  limit.control.emplace(tbb::global_control::max_allowed_parallelism, static_cast<size_t>(count));
}

}  // namespace

// The C++ library counts the machine's cores. TBB knows the affinity too, but loads a topology
// library for that.
int AvailableCores() {
  for (int size = CPU_SETSIZE; size <= kMostCores; size *= 2) {
    const std::unique_ptr<cpu_set_t, CpuSetFree> set(CPU_ALLOC(static_cast<size_t>(size)));
    const size_t bytes = CPU_ALLOC_SIZE(static_cast<size_t>(size));
    if (set && sched_getaffinity(0, bytes, set.get()) == 0) {
      return std::max(1, CPU_COUNT_S(bytes, set.get()));
    }
  }
  return std::max(1, static_cast<int>(std::thread::hardware_concurrency()));
}

void SetThreadCount(int count) {
  static int most_had = 1;
  if (count > most_had) {
    const int had = ThreadsToBeHad(count);
    if (had < count) {
      throw Error(
          ErrorKind::kFileSystem,
          fmt::format("there are no {} threads to be had; the system ends at {}", count, had));
    }
    most_had = had;
  }
  std::call_once(Threads().settled, [] {});
  LimitTo(count);
}

int ThreadCount() {
  return recorder != nullptr ? recorder->threads : Threads().count.load();
}

int SettledThreadCount() {
  if (recorder != nullptr) return recorder->threads;
  ThreadLimit& limit = Threads();
  std::call_once(limit.settled, [&] {
    const int had = ThreadsToBeHad(limit.count);
    if (had < limit.count) LimitTo(had);
  });
  return limit.count;
}

int ThreadsAtHand() {
  return is_in_body ? 1 : ThreadCount();
}

double WorkRecord::seconds() const {
  double sum = serial_seconds;
  for (const LoopRecord& loop : loops) sum += loop.seconds;
  return sum;
}

WorkRecord RecordLoops(int threads, const std::function<void()>& work) {
  Recorder of_this{threads};
  const Recording recording(of_this);
  const double start = ThreadSeconds();
  work();
  of_this.record.serial_seconds = ThreadSeconds() - start - of_this.record.seconds();
  return std::move(of_this.record);
}

void ParallelFor(int64_t count, int64_t grain, int64_t bytes, const RangeBody& body) {
  if (count <= 0) return;
  if (bytes == 0 || !IsWatched()) return RunRanges(count, grain, body);
  // Ranges are large, so those of a watched loop are run in steps.
  FindWork(bytes);
  const int64_t step = std::max(grain, count / (bytes / kStepBytes + 1));
  const auto done_at = [&](int64_t iteration) {
    return static_cast<int64_t>(static_cast<double>(bytes) / static_cast<double>(count) *
                                static_cast<double>(iteration));
  };
  RunRanges(count, grain, [&](int64_t begin, int64_t end) {
    for (int64_t at = begin; at < end; at += step) {
      const int64_t next = std::min(at + step, end);
      body(at, next);
      AddDone(done_at(next) - done_at(at));
    }
  });
}

void SideBySide(int64_t count, const std::function<void(int64_t i)>& task) {
  const auto tasks = [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) task(i);
  };
  if (recorder != nullptr) return tasks(0, count);
  RunRanges(count, 1, tasks, /*has_loops=*/true);
}

}  // namespace dmlop
