// SPDX-License-Identifier: Apache-2.0
// Times the operators that move data, from cache sizes to memory sizes.
#include "bench/fixture.h"

namespace dmlop {
namespace {

void Copy(benchmark::State& state) {
  OperatorDesc desc = OperatorNamed("ELEMENT_WISE_IDENTITY");
  Set(desc, "InputTensor", Desc(DataType::kFloat32, {static_cast<uint32_t>(state.range(0))}));
  RunRepeatedly(state, desc);
}
BENCHMARK(Copy)->RangeMultiplier(16)->Range(1 << 8, 1 << 26)->UseRealTime();

void Transpose(benchmark::State& state) {
  const uint32_t side = static_cast<uint32_t>(state.range(1));
  OperatorDesc desc = OperatorNamed("ELEMENT_WISE_IDENTITY");
  Set(desc, "InputTensor", Desc(static_cast<DataType>(state.range(0)), {side, side}));
  desc.at(kInputTensor).strides = {{1, side}};
  RunRepeatedly(state, desc);
}
BENCHMARK(Transpose)
    ->Args({static_cast<int64_t>(DataType::kFloat32), 1 << 4})
    ->Args({static_cast<int64_t>(DataType::kFloat32), 1 << 9})
    ->Args({static_cast<int64_t>(DataType::kFloat32), 1000})
    ->Args({static_cast<int64_t>(DataType::kFloat32), 1 << 10})
    ->Args({static_cast<int64_t>(DataType::kFloat32), 1 << 11})
    ->Args({static_cast<int64_t>(DataType::kFloat32), 1 << 13})
    ->Args({static_cast<int64_t>(DataType::kFloat32), (1 << 13) - 1})
    ->Args({static_cast<int64_t>(DataType::kFloat64), 1 << 13})
    ->Args({static_cast<int64_t>(DataType::kFloat16), 1 << 13})
    ->Args({static_cast<int64_t>(DataType::kUint8), 1 << 14})
    ->UseRealTime();

// Converts {images, channels, side, side} between NCHW and NHWC.
void Channels(benchmark::State& state, bool from_last) {
  const uint32_t images = static_cast<uint32_t>(state.range(0));
  const uint32_t channels = static_cast<uint32_t>(state.range(1));
  const uint32_t side = static_cast<uint32_t>(state.range(2));
  OperatorDesc desc = OperatorNamed("ELEMENT_WISE_IDENTITY");
  Set(desc, "InputTensor", Desc(DataType::kFloat32, {images, channels, side, side}));
  Set(desc, "OutputTensor", desc[kInputTensor]);
  TensorDesc& last = from_last ? desc.at(kInputTensor) : desc.at(kOutputTensor);
  last.strides = {{channels * side * side, 1, channels * side, channels}};
  RunRepeatedly(state, desc);
}
BENCHMARK_CAPTURE(Channels, NhwcToNchw, true)
    ->Args({256, 3, 224})
    ->Args({32, 64, 128})
    ->UseRealTime();
BENCHMARK_CAPTURE(Channels, NchwToNhwc, false)
    ->Args({256, 3, 224})
    ->Args({32, 64, 128})
    ->UseRealTime();

// Copies elements with constant strides in the input or in the output.
void Strided(benchmark::State& state, uint32_t from_stride, uint32_t to_stride) {
  OperatorDesc desc = OperatorNamed("ELEMENT_WISE_IDENTITY");
  Set(desc, "InputTensor", Desc(DataType::kFloat32, {1 << 24}));
  Set(desc, "OutputTensor", desc[kInputTensor]);
  desc.at(kInputTensor).strides = {{from_stride}};
  desc.at(kOutputTensor).strides = {{to_stride}};
  RunRepeatedly(state, desc);
}
BENCHMARK_CAPTURE(Strided, EveryOther, 2, 1)->UseRealTime();
BENCHMARK_CAPTURE(Strided, EveryThird, 3, 1)->UseRealTime();
BENCHMARK_CAPTURE(Strided, IntoEveryOther, 1, 2)->UseRealTime();

// Repeats rows or columns; compare with LimitWrite.
void Broadcast(benchmark::State& state, const std::vector<uint32_t>& strides) {
  OperatorDesc desc = OperatorNamed("ELEMENT_WISE_IDENTITY");
  Set(desc, "InputTensor", Desc(DataType::kFloat32, {1 << 12, 1 << 14}));
  desc.at(kInputTensor).strides = strides;
  RunRepeatedly(state, desc);
}
BENCHMARK_CAPTURE(Broadcast, Rows, {0, 1})->UseRealTime();
BENCHMARK_CAPTURE(Broadcast, Columns, {1, 0})->UseRealTime();

// Reverses all dimensions, which is the worst pattern of strides.
void Reversed(benchmark::State& state, const std::vector<uint32_t>& sizes) {
  OperatorDesc desc = OperatorNamed("ELEMENT_WISE_IDENTITY");
  Set(desc, "InputTensor", Desc(DataType::kFloat32, sizes));
  std::vector<uint32_t> strides(1, 1);
  for (size_t d = 1; d < sizes.size(); ++d) strides.push_back(strides[d - 1] * sizes[d - 1]);
  desc.at(kInputTensor).strides = strides;
  RunRepeatedly(state, desc);
}
BENCHMARK_CAPTURE(Reversed, Eights, {8, 8, 8, 8, 8, 8, 8, 8})->UseRealTime();
BENCHMARK_CAPTURE(Reversed, Odd, {13, 5, 11, 7, 5, 9, 3, 17})->UseRealTime();
BENCHMARK_CAPTURE(Reversed, Twos, {1 << 17, 2, 2, 2, 2, 2, 2, 2})->UseRealTime();

void ScaleAndBias(benchmark::State& state) {
  OperatorDesc desc = OperatorNamed("ELEMENT_WISE_IDENTITY");
  Set(desc, "InputTensor", Desc(static_cast<DataType>(state.range(0)), {1 << 24}));
  Set(desc, "ScaleBias", ScaleBias{2, 10});
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
  OperatorDesc desc = OperatorNamed("JOIN");
  Set(desc, "Axis", 1);
  Set(desc, "InputTensors", Columns(type, rows, columns));
  RunRepeatedly(state, desc);
}
BENCHMARK_CAPTURE(JoinRows, 256, DataType::kFloat32, 1 << 17, {256, 256})->UseRealTime();
BENCHMARK_CAPTURE(JoinRows, 3_5_7, DataType::kFloat32, 1 << 22, {3, 5, 7})->UseRealTime();
BENCHMARK_CAPTURE(JoinRows, 3_5_7_Bytes, DataType::kUint8, 1 << 24, {3, 5, 7})->UseRealTime();
BENCHMARK_CAPTURE(JoinRows, 1_1_1, DataType::kFloat32, 1 << 24, {1, 1, 1})->UseRealTime();
BENCHMARK_CAPTURE(JoinRows, 1_1_1_Bytes, DataType::kUint8, 1 << 26, {1, 1, 1})->UseRealTime();
BENCHMARK_CAPTURE(JoinRows, 2_2, DataType::kFloat32, 1 << 24, {2, 2})->UseRealTime();

void SplitRows(benchmark::State& state, DataType type, uint32_t rows,
               const std::vector<uint32_t>& columns) {
  OperatorDesc desc = OperatorNamed("SPLIT");
  Set(desc, "Axis", 1);
  Set(desc, "OutputTensors", Columns(type, rows, columns));
  uint32_t sum = 0;
  for (const uint32_t count : columns) sum += count;
  Set(desc, "InputTensor", Desc(type, {rows, sum}));
  RunRepeatedly(state, desc);
}
BENCHMARK_CAPTURE(SplitRows, 256, DataType::kFloat32, 1 << 17, {256, 256})->UseRealTime();
BENCHMARK_CAPTURE(SplitRows, 3_5_7, DataType::kFloat32, 1 << 22, {3, 5, 7})->UseRealTime();
BENCHMARK_CAPTURE(SplitRows, 3_5_7_Bytes, DataType::kUint8, 1 << 24, {3, 5, 7})->UseRealTime();
BENCHMARK_CAPTURE(SplitRows, 1_1_1, DataType::kFloat32, 1 << 24, {1, 1, 1})->UseRealTime();
BENCHMARK_CAPTURE(SplitRows, 1_1_1_Bytes, DataType::kUint8, 1 << 26, {1, 1, 1})->UseRealTime();
BENCHMARK_CAPTURE(SplitRows, 2_2, DataType::kFloat32, 1 << 24, {2, 2})->UseRealTime();

struct Windows {
  DataType type;
  std::vector<uint32_t> input;  // sizes of the input
  std::vector<uint32_t> sizes, strides, dilations, padding;
};

void Unfold(benchmark::State& state, const Windows& windows) {
  OperatorDesc desc = OperatorNamed("UNFOLD");
  Set(desc, "InputTensor", Desc(windows.type, windows.input));
  Set(desc, "WindowSizes", windows.sizes);
  Set(desc, "Strides", windows.strides);
  Set(desc, "Dilations", windows.dilations);
  for (const char* field : {"StartPadding", "EndPadding"}) Set(desc, field, windows.padding);
  RunRepeatedly(state, desc);
}

// Returns images of {channels, side, side} under square windows.
Windows Square(DataType type, uint32_t images, uint32_t channels, uint32_t side, uint32_t window,
               uint32_t stride, uint32_t dilation, uint32_t padding) {
  return {type,
          {images, channels, side, side},
          {window, window},
          {stride, stride},
          {dilation, dilation},
          {padding, padding}};
}
BENCHMARK_CAPTURE(Unfold, 3x3, Square(DataType::kFloat32, 8, 64, 56, 3, 1, 1, 1))->UseRealTime();
BENCHMARK_CAPTURE(Unfold, 3x3_Large, Square(DataType::kFloat32, 32, 64, 56, 3, 1, 1, 1))
    ->UseRealTime();
BENCHMARK_CAPTURE(Unfold, 3x3_Dilated, Square(DataType::kFloat32, 8, 64, 56, 3, 1, 2, 2))
    ->UseRealTime();
BENCHMARK_CAPTURE(Unfold, 3x3_Dilated_Large, Square(DataType::kFloat32, 32, 64, 56, 3, 1, 2, 2))
    ->UseRealTime();
BENCHMARK_CAPTURE(Unfold, 7x7_By2, Square(DataType::kFloat32, 1, 3, 224, 7, 2, 1, 3))
    ->UseRealTime();
BENCHMARK_CAPTURE(Unfold, 7x7_By2_Large, Square(DataType::kFloat32, 24, 3, 224, 7, 2, 1, 3))
    ->UseRealTime();
BENCHMARK_CAPTURE(Unfold, 7x7_By3_Large, Square(DataType::kFloat32, 54, 3, 224, 7, 3, 1, 3))
    ->UseRealTime();
BENCHMARK_CAPTURE(Unfold, 3x3_SmallImages, Square(DataType::kFloat32, 64, 512, 7, 3, 1, 1, 1))
    ->UseRealTime();
BENCHMARK_CAPTURE(Unfold, 3x3_Large_Half, Square(DataType::kFloat16, 64, 64, 56, 3, 1, 1, 1))
    ->UseRealTime();
BENCHMARK_CAPTURE(Unfold, 3x3_Large_Bytes, Square(DataType::kUint8, 128, 64, 56, 3, 1, 1, 1))
    ->UseRealTime();
BENCHMARK_CAPTURE(Unfold, 7x7_By2_Large_Bytes, Square(DataType::kUint8, 96, 3, 224, 7, 2, 1, 3))
    ->UseRealTime();
BENCHMARK_CAPTURE(Unfold, 1D, Windows{DataType::kFloat32, {8, 64, 65536}, {3}, {1}, {1}, {1}})
    ->UseRealTime();
BENCHMARK_CAPTURE(
    Unfold, 3D,
    Windows{DataType::kFloat32, {2, 16, 16, 56, 56}, {3, 3, 3}, {1, 1, 1}, {1, 1, 1}, {1, 1, 1}})
    ->UseRealTime();

}  // namespace
}  // namespace dmlop
