// Every reduce function over the last, the first and all axes of a 64 MiB tensor, and a tiny one.
#include "bench/fixture.h"

namespace dmlop {
namespace {

void Reduce(benchmark::State& state, ReduceFunction function, std::vector<uint32_t> sizes,
            std::vector<uint32_t> axes) {
  ReduceDesc desc;
  desc.function = function;
  desc.input_tensor = Desc(DataType::kFloat32, std::move(sizes));
  desc.axes = std::move(axes);
  RunRepeatedly(state, desc);
}

void Register(const std::string& what, const std::vector<uint32_t>& sizes,
              const std::vector<uint32_t>& axes) {
  for (size_t i = 0; i < kReduceFunctionNames.size(); ++i) {
    const ReduceFunction function = static_cast<ReduceFunction>(i);
    const std::string name = std::string(Name(function)) + "/" + what;
    benchmark::RegisterBenchmark(name.c_str(), [=](benchmark::State& state) {
      Reduce(state, function, sizes, axes);
    })->UseRealTime();
  }
}

const bool kRegistered = [] {
  Register("last", {1 << 13, 1 << 13}, {1});
  Register("first", {1 << 13, 1 << 13}, {0});
  Register("all", {1 << 13, 1 << 13}, {0, 1});
  Register("tiny", {3, 3}, {0});
  return true;
}();

}  // namespace
}  // namespace dmlop
