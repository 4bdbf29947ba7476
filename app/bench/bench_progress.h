// How far the samples of a row are, on the terminal that standard error is:
//
//   [1/2] sum.json, 2 threads, hot caches: 43%  median 1.234 ms  5.2 GB/s  1 s left
#pragma once

#include <string>

#include "app/bench/bench_library.h"
#include "app/timing.h"

namespace dmlop {

class RowProgress {
 public:
  // `what` is the row, which warms up now. Shows nothing if `quiet`.
  RowProgress(std::string what, bool quiet);

  // Sampling begins: `samples` are those of all functions, of which calls of the first move
  // `bytes`.
  void Begin(size_t samples, int64_t bytes);

  void Show(SamplesSoFar samples);

  // What a call is part of: the row, and the sample that is taken.
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
