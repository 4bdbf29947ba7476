// SPDX-License-Identifier: Apache-2.0
// Shows the progress of a row's samples if standard error is a terminal:
//
//  [1/2] sum.json, 2 threads, hot caches: 43%  median 1.234 ms  5.2 GB/s  1 s left
#pragma once

#include <string>

#include "app/bench/bench_library.h"
#include "app/timing.h"

namespace dmlop {

class RowProgress {
 public:
  // `what` names the row, which now warms up. Shows nothing if `quiet`.
  RowProgress(std::string what, bool quiet);

  // Begins sampling: `samples` counts those of all functions; a call of the first moves `bytes`.
  void Begin(size_t samples, int64_t bytes);

  void Show(SamplesSoFar samples);

  // A name for the current call: the row and its sample.
  std::string NameOfCall() const;

 private:
  std::string what_;
  bool quiet_;
  size_t expected_ = 0;
  size_t done_ = 0;
  int64_t bytes_ = 0;
  Clock::time_point start_;
};

}  // namespace dmlop
