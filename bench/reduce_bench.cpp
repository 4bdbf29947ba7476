// SPDX-License-Identifier: Apache-2.0
// Times the reduce functions over the last, the middle, the first and all axes of 256 MiB, and of a
// tiny tensor.
#include "bench/fixture.h"
#include "core/ops/operator.h"
#include "tests/support/desc.h"

namespace dmlop {
namespace {

void Reduce(benchmark::State& state, ReduceFunction function, DataType type,
            std::vector<uint32_t> sizes, std::vector<uint32_t> axes) {
  OperatorDesc desc = OperatorNamed("REDUCE");
  Set(desc, "Function", function);
  Set(desc, "InputTensor", Desc(type, std::move(sizes)));
  Set(desc, "Axes", std::move(axes));
  RunRepeatedly(state, desc);
}

void Register(const std::string& what, DataType type, const std::vector<uint32_t>& sizes,
              const std::vector<uint32_t>& axes) {
  for (size_t i = 0; i < kReduceFunctionNames.size(); ++i) {
    const auto function = static_cast<ReduceFunction>(i);
    OperatorDesc desc = OperatorNamed("REDUCE");
    Set(desc, "Function", function);
    if (!SupportFor(desc)->rows.back().TypesOf(TypeVariable::kT).Contains(type)) continue;
    const std::string name =
        std::string(Name(function)) + "/" + std::string(Name(type)) + "/" + what;
    benchmark::RegisterBenchmark(name.c_str(), [=](benchmark::State& state) {
      Reduce(state, function, type, sizes, axes);
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
