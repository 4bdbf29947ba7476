// SPDX-License-Identifier: Apache-2.0
// Parallel loops over index ranges, the only interface to the threading library.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

namespace dmlop {

// Returns the number of cores that the process may use, by its affinity.
int AvailableCores();

// Sets the number of threads, at least 1, that loops with enough ranges run on. It may exceed the
// number of cores. Throws an Error of kind kFileSystem, and leaves the number unchanged, if the
// system does not have so many. Must not be called while loops run. Results never depend on it.
void SetThreadCount(int count);

// Return the number that was set; otherwise that of the available cores, as far as the system is
// known to give that many threads. The second function asks the system if nobody has yet, as the
// first loop does.
int ThreadCount();
int SettledThreadCount();

// Returns the number of threads that a loop begun here would run on: 1 in the body of a parallel
// one.
int ThreadsAtHand();

using RangeBody = std::function<void(int64_t begin, int64_t end)>;

// Calls body(begin, end) on disjoint ranges that cover [0, count), each at least `grain` long
// except for the last. The calling thread runs loops of a single grain, and those inside a parallel
// loop's body. `bytes` is the amount of data that the whole loop processes, for progress reports; 0
// if loops inside the body report it, or if it is not worth reporting.
void ParallelFor(int64_t count, int64_t grain, int64_t bytes, const RangeBody& body);

// Calls task(i) for each i in [0, count), several at once. Unlike the body of a loop, a task has
// parallel loops of its own: threads that one task leaves idle work for another.
void SideBySide(int64_t count, const std::function<void(int64_t i)>& task);

// --- recorded loops ------------------------------------------------------------------------------

// The work and the span of parallel loops, recorded on one thread: how much faster any number of
// threads could make them, without a machine that has so many.

// A loop outside of all others, cut into the shortest pieces that its grain allows.
struct LoopRecord {
  int64_t pieces = 0;
  double seconds = 0;  // of all pieces
  double longest = 0;  // of a piece, in seconds
};

struct WorkRecord {
  double serial_seconds = 0;  // outside of loops
  std::vector<LoopRecord> loops;

  double seconds() const;
};

// Runs `work` on the calling thread, with loops planned and cut as for `threads` threads. Nothing
// else may run meanwhile. With one thread there are no loops: all is serial.
WorkRecord RecordLoops(int threads, const std::function<void()>& work);

}  // namespace dmlop
