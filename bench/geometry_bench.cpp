// SPDX-License-Identifier: Apache-2.0
// Times reductions over geometries that are hard to read in order: narrow, short, strided, or with
// many loops.
#include <span>
#include <string>
#include <utility>

#include "bench/fixture.h"

namespace dmlop {
namespace {

struct Geometry {
  const char* name;
  std::vector<uint32_t> sizes;
  std::vector<uint32_t> axes;
  std::vector<uint32_t> strides;  // empty for packed
};

constexpr uint32_t k1M = 1 << 20;

const Geometry kUnusual[] = {
    {"first_of_N_2", {16 * k1M, 2}, {0}, {}},
    {"first_of_N_3", {16 * k1M, 3}, {0}, {}},
    {"first_of_N_7", {8 * k1M, 7}, {0}, {}},
    {"first_of_N_16", {4 * k1M, 16}, {0}, {}},
    {"first_of_N_100", {k1M, 100}, {0}, {}},
    {"last_of_N_3", {16 * k1M, 3}, {1}, {}},
    {"last_of_N_8", {8 * k1M, 8}, {1}, {}},
    {"last_of_N_32", {2 * k1M, 32}, {1}, {}},
    {"last_of_N_100", {k1M, 100}, {1}, {}},
    {"middle_of_7", {8192, 1000, 7}, {1}, {}},
    {"middle_of_20_3", {k1M, 20, 3}, {1}, {}},
    {"last_two", {4 * k1M, 4, 4}, {1, 2}, {}},
    {"few_rows", {64, k1M}, {1}, {}},
    {"every_other_all", {32 * k1M}, {0}, {2}},
    {"every_other_last", {4096, 8192}, {1}, {16384, 2}},
    {"every_other_first", {4096, 8192}, {0}, {16384, 2}},
    {"three_of_four_first", {16 * k1M, 3}, {0}, {4, 1}},
    {"transposed_last", {8192, 8192}, {1}, {1, 8192}},
    {"broadcast_rows_first", {8192, 8192}, {0}, {0, 1}},
    {"broadcast_rows_last", {8192, 8192}, {1}, {0, 1}},
    {"broadcast_columns_last", {8192, 8192}, {1}, {1, 0}},
    {"rank_8_even", {8, 8, 8, 8, 8, 8, 8, 16}, {0, 2, 4, 6}, {}},
    {"rank_8_odd", {8, 8, 8, 8, 8, 8, 8, 16}, {1, 3, 5, 7}, {}},
    {"rank_8_reversed",
     {8, 8, 8, 8, 8, 8, 8, 8},
     {0, 2, 4, 6},
     {1, 1 << 3, 1 << 6, 1 << 9, 1 << 12, 1 << 15, 1 << 18, 1 << 21}},
};
const Geometry kSmall[] = {
    {"3_3", {3, 3}, {0}, {}},
    {"100_100", {100, 100}, {0}, {}},
    {"32Ki", {1 << 15}, {0}, {}},
    {"128Ki", {1 << 17}, {0}, {}},
    {"512Ki", {1 << 19}, {0}, {}},
    {"256_256_last", {256, 256}, {1}, {}},
    {"512_512_last", {512, 512}, {1}, {}},
};

void Reduce(benchmark::State& state, ReduceFunction function, DataType type,
            const Geometry& geometry) {
  OperatorDesc desc = OperatorNamed("REDUCE");
  Set(desc, "Function", function);
  Set(desc, "InputTensor", Desc(type, geometry.sizes));
  if (!geometry.strides.empty()) desc.at(kInputTensor).strides = geometry.strides;
  Set(desc, "Axes", geometry.axes);
  RunRepeatedly(state, desc);
}

void Register(ReduceFunction function, DataType type, std::span<const Geometry> geometries) {
  for (const Geometry& geometry : geometries) {
    const std::string name =
        std::string(Name(function)) + "/" + std::string(Name(type)) + "/" + geometry.name;
    benchmark::RegisterBenchmark(
        name.c_str(),
        [=, &geometry](benchmark::State& state) { Reduce(state, function, type, geometry); })
        ->MeasureProcessCPUTime()
        ->UseRealTime();
  }
}

const bool kRegistered = [] {
  for (const auto& [function, type] : {std::pair{ReduceFunction::kMax, DataType::kFloat32},
                                       std::pair{ReduceFunction::kArgMax, DataType::kFloat32},
                                       std::pair{ReduceFunction::kSum, DataType::kFloat32},
                                       std::pair{ReduceFunction::kSum, DataType::kFloat16},
                                       std::pair{ReduceFunction::kMultiply, DataType::kFloat32}}) {
    Register(function, type, kUnusual);
    Register(function, type, kSmall);
  }
  return true;
}();

}  // namespace
}  // namespace dmlop
