// The operators that move data, from cache sizes to memory sizes.
#include "bench/fixture.h"

namespace dmlop {
namespace {

void Copy(benchmark::State& state) {
  IdentityDesc desc;
  desc.input_tensor = Desc(DataType::kFloat32, {static_cast<uint32_t>(state.range(0))});
  RunRepeatedly(state, desc);
}
BENCHMARK(Copy)->RangeMultiplier(16)->Range(1 << 8, 1 << 26)->UseRealTime();

void Transpose(benchmark::State& state) {
  const uint32_t side = static_cast<uint32_t>(state.range(0));
  IdentityDesc desc;
  desc.input_tensor = Desc(DataType::kFloat32, {side, side});
  desc.input_tensor.strides = {{1, side}};
  RunRepeatedly(state, desc);
}
BENCHMARK(Transpose)->RangeMultiplier(4)->Range(1 << 5, 1 << 13)->UseRealTime();

void ScaleAndBias(benchmark::State& state) {
  IdentityDesc desc;
  desc.input_tensor = Desc(static_cast<DataType>(state.range(0)), {1 << 24});
  desc.scale_bias = ScaleBias{2, 10};
  RunRepeatedly(state, desc);
}
BENCHMARK(ScaleAndBias)
    ->Arg(static_cast<int64_t>(DataType::kFloat32))
    ->Arg(static_cast<int64_t>(DataType::kFloat16))
    ->UseRealTime();

void JoinRows(benchmark::State& state) {
  const uint32_t columns = static_cast<uint32_t>(state.range(0));
  const uint32_t rows = (1u << 24) / columns;
  JoinDesc desc;
  desc.axis = 1;
  desc.input_tensors = {Desc(DataType::kFloat32, {rows, columns}),
                        Desc(DataType::kFloat32, {rows, columns})};
  RunRepeatedly(state, desc);
}
BENCHMARK(JoinRows)->Arg(3)->Arg(256)->UseRealTime();

void Unfold(benchmark::State& state) {
  UnfoldDesc desc;
  desc.input_tensor = Desc(DataType::kFloat32, {8, 64, 56, 56});
  desc.window_sizes = {{3, 3}};
  desc.strides = desc.dilations = desc.start_padding = desc.end_padding = {{1, 1}};
  RunRepeatedly(state, desc);
}
BENCHMARK(Unfold)->UseRealTime();

}  // namespace
}  // namespace dmlop
