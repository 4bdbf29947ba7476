// Parallel loops over index ranges. The only door to the threading library.
#pragma once

#include <cstdint>
#include <functional>

namespace dmlop {

// The number of cores that the process may use, by its affinity.
int AvailableCores();

// The number of threads that loops run on, at least 1, as far as they have ranges for them. It may
// be larger than that of the cores. Throws an Error of kind kFileSystem, and leaves the number as
// it was, where the system does not have so many. Not to be called while loops run. Results never
// depend on it.
void SetThreadCount(int count);

// What was set; else the available cores, as far as the system has been found to give so many
// threads. The second one asks the system if nobody has yet, as the first loop does.
int ThreadCount();
int SettledThreadCount();

// The threads that a loop begun here runs on: 1 within the body of a parallel one.
int ThreadsAtHand();

using RangeBody = std::function<void(int64_t begin, int64_t end)>;

// Calls body(begin, end) on disjoint ranges that cover [0, count), at least `grain` long but for
// the last. The calling thread runs loops of one grain, and those within a parallel loop's body.
// `bytes` are what the whole loop goes through, for its progress; 0 where loops within the body
// say that, or where it is not worth to be told.
void ParallelFor(int64_t count, int64_t grain, int64_t bytes, const RangeBody& body);

}  // namespace dmlop
