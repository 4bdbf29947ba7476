// SPDX-License-Identifier: Apache-2.0
// Measures the limits of memory along with every benchmark: a row's share of its limit is the ratio
// of their bytes per second.
#include "bench/limits.h"

#include <benchmark/benchmark.h>

namespace dmlop {
namespace {

void RunLimit(benchmark::State& state, const LimitWay& way) {
  LimitWorkload workload(way);
  for (auto _ : state) workload.Run();
  state.SetBytesProcessed(state.iterations() * workload.bytes());
}

const bool kRegistered = [] {
  for (const LimitWay& way : kLimitWays) {
    benchmark::RegisterBenchmark(way.name, RunLimit, way)->UseRealTime();
  }
  return true;
}();

}  // namespace
}  // namespace dmlop
