// SPDX-License-Identifier: Apache-2.0
// The work and the span of parallel loops, recorded on one thread: how much faster any number of
// threads could make them, without a machine that has so many.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

namespace dmlop {

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
