// What memory allows, measured beside every benchmark: a row's share of its limit is the ratio of
// their bytes per second.
#include <benchmark/benchmark.h>

#include <algorithm>

#include "core/base/parallel.h"
#include "core/kernels/integer_fold.h"
#include "core/kernels/stream.h"
#include "core/tensor/tensor.h"

namespace dmlop {
namespace {

constexpr int64_t kBytes = int64_t{1} << 28;
constexpr int64_t kChunk = 1 << 20;

// Zeros would do better than memory does with anything else.
Buffer Filled(int64_t size) {
  Buffer buffer(static_cast<size_t>(size));
  std::fill_n(buffer.data(), size, std::byte{0x5A});
  return buffer;
}

// Of copies and moves: the best copy that writes past the caches.
void LimitCopy(benchmark::State& state) {
  const Buffer from = Filled(kBytes);
  Buffer to(kBytes);
  for (auto _ : state) {
    ParallelFor(kBytes / kChunk, 1, [&](int64_t begin, int64_t end) {
      StreamRowsForIsa()(end - begin, kChunk, to.data() + begin * kChunk, kChunk,
                         from.data() + begin * kChunk, kChunk);
      FlushStreams();
    });
  }
  state.SetBytesProcessed(state.iterations() * 2 * kBytes);
}
BENCHMARK(LimitCopy)->UseRealTime();

// Of UNFOLD: the best write past the caches, from a source that stays in the first one.
void LimitWrite(benchmark::State& state) {
  constexpr int64_t kRow = 1 << 12;
  const Buffer from = Filled(kRow);
  Buffer to(kBytes);
  for (auto _ : state) {
    ParallelFor(kBytes / kChunk, 1, [&](int64_t begin, int64_t end) {
      StreamRowsForIsa()((end - begin) * kChunk / kRow, kRow, to.data() + begin * kChunk, kRow,
                         from.data(), 0);
      FlushStreams();
    });
  }
  state.SetBytesProcessed(state.iterations() * kBytes);
}
BENCHMARK(LimitWrite)->UseRealTime();

// Of reductions: the best read, with next to nothing done to what is read.
void LimitRead(benchmark::State& state) {
  const Buffer from = Filled(kBytes);
  const uint64_t* words = reinterpret_cast<const uint64_t*>(from.data());
  constexpr int64_t kWords = kChunk / static_cast<int64_t>(sizeof(uint64_t));
  const auto add_up = IntegerFoldKernelsFor<uint64_t>(IntegerFold::kSum).fold_row;
  for (auto _ : state) {
    ParallelFor(kBytes / kChunk, 1, [&](int64_t begin, int64_t end) {
      uint64_t sum = 0;
      add_up(words + begin * kWords, (end - begin) * kWords, &sum);
      benchmark::DoNotOptimize(sum);
    });
  }
  state.SetBytesProcessed(state.iterations() * kBytes);
}
BENCHMARK(LimitRead)->UseRealTime();

}  // namespace
}  // namespace dmlop
