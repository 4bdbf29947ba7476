#include "core/base/parallel.h"

#include <tbb/blocked_range.h>
#include <tbb/global_control.h>
#include <tbb/parallel_for.h>

#ifdef DMLOP_THREAD_SANITIZER
#include <sanitizer/tsan_interface.h>
#endif

#include <algorithm>
#include <optional>
#include <thread>
#include <utility>

#include "core/base/progress.h"

namespace dmlop {
namespace {

struct Limit {
  // The cores that the process may use. TBB knows too, but loads a topology library to find out.
  int count = std::max(1, static_cast<int>(std::thread::hardware_concurrency()));
  std::optional<tbb::global_control> control;
};

Limit& ThreadLimit() {
  static Limit limit;
  return limit;
}

// Loops within the body of a parallel one run in its thread.
thread_local bool is_in_body = false;

class InBody {
 public:
  InBody() : before_(std::exchange(is_in_body, true)) {}
  InBody(const InBody&) = delete;
  InBody& operator=(const InBody&) = delete;
  ~InBody() { is_in_body = before_; }

 private:
  bool before_;
};

// What is done before Pass() is done before what follows Await() in another thread. oneTBB sees to
// it; the thread sanitizer, for which Debian's oneTBB is not built, has to be told.
class Order {
 public:
#ifdef DMLOP_THREAD_SANITIZER
  void Pass() { __tsan_release(this); }
  void Await() { __tsan_acquire(this); }
#else
  void Pass() {}
  void Await() {}
#endif
};

void RunRanges(int64_t count, int64_t grain, const RangeBody& body) {
  if (count <= grain || is_in_body || ThreadCount() == 1) return body(0, count);
  Order start;
  Order end;
  start.Pass();
  tbb::parallel_for(tbb::blocked_range<int64_t>(0, count, static_cast<size_t>(grain)),
                    [&](const tbb::blocked_range<int64_t>& range) {
                      const InBody in_body;
                      start.Await();
                      body(range.begin(), range.end());
                      end.Pass();
                    });
  end.Await();
}

}  // namespace

void SetThreadCount(int count) {
  Limit& limit = ThreadLimit();
  limit.count = count;
  limit.control.emplace(tbb::global_control::max_allowed_parallelism, static_cast<size_t>(count));
}

int ThreadCount() {
  return ThreadLimit().count;
}

void ParallelFor(int64_t count, int64_t grain, int64_t bytes, const RangeBody& body) {
  if (count <= 0) return;
  if (bytes == 0 || !IsWatched()) return RunRanges(count, grain, body);
  // Ranges are large, so those of a loop that is watched are gone through in steps.
  FindWork(bytes);
  const int64_t step = std::max(grain, count / (bytes / kStepBytes + 1));
  const auto done_at = [&](int64_t turn) {
    return static_cast<int64_t>(static_cast<double>(bytes) / static_cast<double>(count) *
                                static_cast<double>(turn));
  };
  RunRanges(count, grain, [&](int64_t begin, int64_t end) {
    for (int64_t at = begin; at < end; at += step) {
      const int64_t next = std::min(at + step, end);
      body(at, next);
      AddDone(done_at(next) - done_at(at));
    }
  });
}

}  // namespace dmlop
