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
  const uint32_t side = static_cast<uint32_t>(state.range(1));
  IdentityDesc desc;
  desc.input_tensor = Desc(static_cast<DataType>(state.range(0)), {side, side});
  desc.input_tensor.strides = {{1, side}};
  RunRepeatedly(state, desc);
}
BENCHMARK(Transpose)
    ->Args({static_cast<int64_t>(DataType::kFloat32), 1 << 5})
    ->Args({static_cast<int64_t>(DataType::kFloat32), 1 << 10})
    ->Args({static_cast<int64_t>(DataType::kFloat32), 1 << 13})
    ->Args({static_cast<int64_t>(DataType::kFloat32), (1 << 13) - 1})
    ->Args({static_cast<int64_t>(DataType::kFloat64), 1 << 13})
    ->Args({static_cast<int64_t>(DataType::kFloat16), 1 << 13})
    ->Args({static_cast<int64_t>(DataType::kUint8), 1 << 14})
    ->UseRealTime();

// {32, channels, 128, 128} between NCHW and NHWC.
void Channels(benchmark::State& state, bool from_last) {
  const uint32_t channels = static_cast<uint32_t>(state.range(0));
  IdentityDesc desc;
  desc.input_tensor = Desc(DataType::kFloat32, {32, channels, 128, 128});
  desc.output_tensor = desc.input_tensor;
  TensorDesc& last = from_last ? desc.input_tensor : desc.output_tensor;
  last.strides = {{channels << 14, 1, channels << 7, channels}};
  RunRepeatedly(state, desc);
}
BENCHMARK_CAPTURE(Channels, NhwcToNchw, true)->Arg(3)->Arg(64)->UseRealTime();
BENCHMARK_CAPTURE(Channels, NchwToNhwc, false)->Arg(3)->Arg(64)->UseRealTime();

// Every dimension reversed: the worst pattern of strides.
void Reversed(benchmark::State& state) {
  IdentityDesc desc;
  desc.input_tensor = Desc(DataType::kFloat32, std::vector<uint32_t>(8, 8));
  desc.input_tensor.strides = {{1, 1 << 3, 1 << 6, 1 << 9, 1 << 12, 1 << 15, 1 << 18, 1 << 21}};
  RunRepeatedly(state, desc);
}
BENCHMARK(Reversed)->UseRealTime();

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

std::vector<TensorDesc> Columns(DataType type, uint32_t rows,
                                const std::vector<uint32_t>& columns) {
  std::vector<TensorDesc> descs;
  for (const uint32_t count : columns) descs.push_back(Desc(type, {rows, count}));
  return descs;
}

void JoinRows(benchmark::State& state, DataType type, uint32_t rows,
              const std::vector<uint32_t>& columns) {
  JoinDesc desc;
  desc.axis = 1;
  desc.input_tensors = Columns(type, rows, columns);
  RunRepeatedly(state, desc);
}
BENCHMARK_CAPTURE(JoinRows, 256, DataType::kFloat32, 1 << 17, {256, 256})->UseRealTime();
BENCHMARK_CAPTURE(JoinRows, 3_5_7, DataType::kFloat32, 1 << 22, {3, 5, 7})->UseRealTime();
BENCHMARK_CAPTURE(JoinRows, 3_5_7_Bytes, DataType::kUint8, 1 << 24, {3, 5, 7})->UseRealTime();

void SplitRows(benchmark::State& state, DataType type, uint32_t rows,
               const std::vector<uint32_t>& columns) {
  SplitDesc desc;
  desc.axis = 1;
  desc.output_tensors = Columns(type, rows, columns);
  uint32_t sum = 0;
  for (const uint32_t count : columns) sum += count;
  desc.input_tensor = Desc(type, {rows, sum});
  RunRepeatedly(state, desc);
}
BENCHMARK_CAPTURE(SplitRows, 256, DataType::kFloat32, 1 << 17, {256, 256})->UseRealTime();
BENCHMARK_CAPTURE(SplitRows, 3_5_7, DataType::kFloat32, 1 << 22, {3, 5, 7})->UseRealTime();
BENCHMARK_CAPTURE(SplitRows, 3_5_7_Bytes, DataType::kUint8, 1 << 24, {3, 5, 7})->UseRealTime();

void Unfold(benchmark::State& state) {
  UnfoldDesc desc;
  desc.input_tensor = Desc(DataType::kFloat32, {8, 64, 56, 56});
  desc.window_sizes = {{3, 3}};
  desc.strides = {{1, 1}};
  desc.dilations = desc.start_padding = desc.end_padding = {
      {static_cast<uint32_t>(state.range(0)), static_cast<uint32_t>(state.range(0))}};
  RunRepeatedly(state, desc);
}
BENCHMARK(Unfold)->Arg(1)->Arg(2)->UseRealTime();

}  // namespace
}  // namespace dmlop
