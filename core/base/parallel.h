// Parallel loops over index ranges. The only door to the threading library.
#pragma once

#include <cstdint>
#include <functional>

namespace dmlop {

// The number of threads that loops may use, at least 1. Results never depend on it.
void SetThreadCount(int count);
int ThreadCount();

// Calls body(begin, end) on disjoint ranges that together cover [0, count). A range is at least
// `grain` long unless it is the last; a loop of one grain runs in the calling thread.
void ParallelFor(int64_t count, int64_t grain,
                 const std::function<void(int64_t begin, int64_t end)>& body);

}  // namespace dmlop
