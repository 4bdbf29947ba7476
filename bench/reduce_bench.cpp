// The reduce functions over the last, the middle, the first and all axes of 256 MiB, and a tiny
// tensor, beside what memory allows: each row's share of the limit is the ratio of their bytes per
// second.
#include "bench/fixture.h"
#include "core/base/parallel.h"
#include "core/kernels/integer_fold.h"

namespace dmlop {
namespace {

// The limit of reductions: the least that can be done to every byte.
void LimitRead(benchmark::State& state) {
  constexpr int64_t kCount = int64_t{1} << 25;
  constexpr int64_t kChunk = 1 << 17;
  Buffer buffer(kCount * sizeof(uint64_t));
  Fill(buffer);
  const uint64_t* values = reinterpret_cast<const uint64_t*>(buffer.data());
  const auto fold_row = IntegerFoldKernelsFor<uint64_t>(IntegerFold::kSum).fold_row;
  for (auto _ : state) {
    ParallelFor(kCount / kChunk, 1, [&](int64_t begin, int64_t end) {
      uint64_t sum = 0;
      fold_row(values + begin * kChunk, (end - begin) * kChunk, &sum);
      benchmark::DoNotOptimize(sum);
    });
  }
  state.SetBytesProcessed(state.iterations() * static_cast<int64_t>(buffer.size()));
}
BENCHMARK(LimitRead)->UseRealTime();

void Reduce(benchmark::State& state, ReduceFunction function, DataType type,
            std::vector<uint32_t> sizes, std::vector<uint32_t> axes) {
  ReduceDesc desc;
  desc.function = function;
  desc.input_tensor = Desc(type, std::move(sizes));
  desc.axes = std::move(axes);
  RunRepeatedly(state, desc);
}

void Register(const std::string& what, DataType type, const std::vector<uint32_t>& sizes,
              const std::vector<uint32_t>& axes) {
  for (size_t i = 0; i < kReduceFunctionNames.size(); ++i) {
    ReduceDesc desc;
    desc.function = static_cast<ReduceFunction>(i);
    if (!SupportFor(desc)->rows.back().input.Contains(type)) continue;
    const std::string name =
        std::string(Name(*desc.function)) + "/" + std::string(Name(type)) + "/" + what;
    benchmark::RegisterBenchmark(name.c_str(), [=](benchmark::State& state) {
      Reduce(state, *desc.function, type, sizes, axes);
    })->UseRealTime();
  }
}

const bool kRegistered = [] {
  for (const DataType type : {DataType::kFloat32, DataType::kFloat16, DataType::kInt32,
                              DataType::kInt64, DataType::kInt8}) {
    const uint32_t rows = (1u << 15) / static_cast<uint32_t>(ByteWidth(type));
    Register("last", type, {rows, 1 << 13}, {1});
    Register("middle", type, {rows / 128, 1 << 10, 1 << 10}, {1});
    Register("first", type, {rows, 1 << 13}, {0});
    Register("all", type, {rows, 1 << 13}, {0, 1});
  }
  Register("tiny", DataType::kFloat32, {3, 3}, {0});
  return true;
}();

}  // namespace
}  // namespace dmlop
