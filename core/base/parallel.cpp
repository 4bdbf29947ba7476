#include "core/base/parallel.h"

#include <tbb/blocked_range.h>
#include <tbb/global_control.h>
#include <tbb/parallel_for.h>

#include <algorithm>
#include <optional>
#include <thread>
#include <utility>

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

}  // namespace

void SetThreadCount(int count) {
  Limit& limit = ThreadLimit();
  limit.count = count;
  limit.control.emplace(tbb::global_control::max_allowed_parallelism, static_cast<size_t>(count));
}

int ThreadCount() {
  return ThreadLimit().count;
}

void ParallelFor(int64_t count, int64_t grain,
                 const std::function<void(int64_t begin, int64_t end)>& body) {
  if (count <= 0) return;
  if (count <= grain || is_in_body || ThreadCount() == 1) return body(0, count);
  tbb::parallel_for(tbb::blocked_range<int64_t>(0, count, static_cast<size_t>(grain)),
                    [&](const tbb::blocked_range<int64_t>& range) {
                      const InBody in_body;
                      body(range.begin(), range.end());
                    });
}

}  // namespace dmlop
