// What memory allows, measured beside every benchmark: a row's share of its limit is the ratio of
// their bytes per second.
#include <benchmark/benchmark.h>

#include "core/ops/bandwidth.h"
#include "core/tensor/sample_values.h"
#include "core/tensor/tensor.h"

namespace dmlop {
namespace {

constexpr size_t kBytes = size_t{1} << 28;

// Zeros would do better than memory does with anything else.
Buffer Filled() {
  Buffer buffer(kBytes);
  FillWithSampleValues(DataType::kUint8, {buffer.data(), buffer.size()});
  return buffer;
}

// Of copies and moves: the best copy that writes past the caches.
void LimitCopy(benchmark::State& state) {
  const Buffer from = Filled();
  Buffer to(kBytes);
  for (auto _ : state) {
    CopyBytes({to.data(), to.size()}, from.bytes(), WritePath::kStreamed);
  }
  state.SetBytesProcessed(state.iterations() * 2 * static_cast<int64_t>(kBytes));
}
BENCHMARK(LimitCopy)->UseRealTime();

// Of UNFOLD: the best write past the caches.
void LimitWrite(benchmark::State& state) {
  Buffer to(kBytes);
  for (auto _ : state) WriteBytes({to.data(), to.size()}, WritePath::kStreamed);
  state.SetBytesProcessed(state.iterations() * static_cast<int64_t>(kBytes));
}
BENCHMARK(LimitWrite)->UseRealTime();

// Of reductions: the best read, which is the quicker of both.
void LimitRead(benchmark::State& state, ReadPath path) {
  const Buffer from = Filled();
  for (auto _ : state) ReadBytes(from.bytes(), path);
  state.SetBytesProcessed(state.iterations() * static_cast<int64_t>(kBytes));
}
BENCHMARK_CAPTURE(LimitRead, one_stream, ReadPath::kOneStream)->UseRealTime();
BENCHMARK_CAPTURE(LimitRead, few_streams, ReadPath::kFewStreams)->UseRealTime();

}  // namespace
}  // namespace dmlop
