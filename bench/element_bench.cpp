// SPDX-License-Identifier: Apache-2.0
// Times element-wise functions, next to a copy of as many bytes.
#include <benchmark/benchmark.h>

#include <vector>

#include "bench/limits.h"
#include "core/engine/element_wise/loop.h"

namespace dmlop {
namespace {

using enum DataType;
using enum ElementWiseFunction;

// The layout of all inputs but the first.
enum class Form { kPacked, kScalar, kRow, kColumn, kTransposed };

Layout LayoutFor(Form form, const Dims& sizes) {
  switch (form) {
    case Form::kScalar:
      return {sizes, {0, 0}};
    case Form::kRow:
      return {sizes, {0, 1}};
    case Form::kColumn:
      return {sizes, {1, 0}};
    case Form::kTransposed:
      return {sizes, {1, sizes[0]}};
    default:
      return PackedLayout(sizes);
  }
}

// Returns the bytes that are read or written, each counted once.
int64_t BytesOf(const Layout& layout, DataType type) {
  int64_t count = 1;
  for (size_t d = 0; d < layout.rank(); ++d) count *= layout.strides[d] != 0 ? layout.sizes[d] : 1;
  return count * static_cast<int64_t>(ByteWidth(type));
}

struct Row {
  ElementWiseFunction function;
  std::vector<DataType> inputs;
  DataType output;
  Form form = Form::kPacked;
};

void Element(benchmark::State& state, const Row& row, int64_t columns) {
  const int64_t bytes = state.range(0);
  const int64_t count = bytes / static_cast<int64_t>(ByteWidth(row.output));
  const Dims sizes = {count / columns, columns};
  ElementWiseCall call;
  call.function = row.function;
  call.parameters = {{-0.5, 0.5, 0}, {-5, 5}};
  std::vector<Buffer> buffers;
  std::vector<ConstTensorView> inputs;
  int64_t moved = 0;
  for (const DataType type : row.inputs) {
    const Layout layout = LayoutFor(inputs.empty() ? Form::kPacked : row.form, sizes);
    const int64_t needed = BytesOf(layout, type);
    buffers.emplace_back(static_cast<size_t>(needed));
    FillWithSampleValues(type, {buffers.back().data(), buffers.back().size()});
    inputs.push_back({buffers.back().data(), type, layout});
    moved += needed;
  }
  Buffer result(static_cast<size_t>(bytes));
  moved += bytes;
  const TensorView output{result.data(), row.output, PackedLayout(sizes)};
  for (auto _ : state) ComputeElements(call, inputs, output);
  state.SetBytesProcessed(state.iterations() * moved);
}

constexpr int64_t kSmall = 1 << 18;  // fits into a cache
constexpr int64_t kLarge = 1 << 28;

#define DMLOP_ELEMENT(name, columns, ...)                     \
  BENCHMARK_CAPTURE(Element, name, Row{__VA_ARGS__}, columns) \
      ->Arg(kSmall)                                           \
      ->Arg(kLarge)                                           \
      ->MeasureProcessCPUTime()                               \
      ->UseRealTime()

void CopyLimit(benchmark::State& state) {
  LimitWorkload workload(kLimitWays[0]);
  for (auto _ : state) workload.Run();
  state.SetBytesProcessed(state.iterations() * workload.bytes());
}
BENCHMARK(CopyLimit)->MeasureProcessCPUTime()->UseRealTime();

DMLOP_ELEMENT(ABS, 1 << 12, kAbs, {kFloat32}, kFloat32);
DMLOP_ELEMENT(ADD, 1 << 12, kAdd, {kFloat32, kFloat32}, kFloat32);
DMLOP_ELEMENT(MULTIPLY, 1 << 12, kMultiply, {kFloat32, kFloat32}, kFloat32);
DMLOP_ELEMENT(MAX, 1 << 12, kMax, {kFloat32, kFloat32}, kFloat32);
DMLOP_ELEMENT(CLIP, 1 << 12, kClip, {kFloat32}, kFloat32);
DMLOP_ELEMENT(RELU, 1 << 12, kRelu, {kFloat32}, kFloat32);
DMLOP_ELEMENT(HARD_SWISH, 1 << 12, kHardSwish, {kFloat32}, kFloat32);
DMLOP_ELEMENT(SOFTSIGN, 1 << 12, kSoftsign, {kFloat32}, kFloat32);
DMLOP_ELEMENT(IF, 1 << 12, kIf, {kFloat32, kFloat32, kUint8}, kFloat32);
DMLOP_ELEMENT(LESS_THAN, 1 << 12, kLessThan, {kFloat32, kFloat32}, kUint32);
DMLOP_ELEMENT(BIT_AND, 1 << 12, kBitAnd, {kUint32, kUint32}, kUint32);
DMLOP_ELEMENT(CAST_FLOAT16, 1 << 12, kCast, {kFloat32}, kFloat16);
DMLOP_ELEMENT(CAST_FROM_FLOAT16, 1 << 12, kCast, {kFloat16}, kFloat32);
DMLOP_ELEMENT(CAST_FROM_UINT8, 1 << 12, kCast, {kUint8}, kFloat32);
DMLOP_ELEMENT(CAST_TO_INT32, 1 << 12, kCast, {kFloat32}, kInt32);
DMLOP_ELEMENT(ADD_Scalar, 1 << 12, kAdd, {kFloat32, kFloat32}, kFloat32, Form::kScalar);
DMLOP_ELEMENT(ADD_Row, 1 << 12, kAdd, {kFloat32, kFloat32}, kFloat32, Form::kRow);
DMLOP_ELEMENT(ADD_Column, 1 << 12, kAdd, {kFloat32, kFloat32}, kFloat32, Form::kColumn);
DMLOP_ELEMENT(ADD_Transposed, 1 << 12, kAdd, {kFloat32, kFloat32}, kFloat32, Form::kTransposed);
DMLOP_ELEMENT(ADD_FLOAT16, 1 << 12, kAdd, {kFloat16, kFloat16}, kFloat16);
DMLOP_ELEMENT(ADD_FLOAT16_Row, 1 << 12, kAdd, {kFloat16, kFloat16}, kFloat16, Form::kRow);
DMLOP_ELEMENT(ADD_FLOAT16_Column, 1 << 12, kAdd, {kFloat16, kFloat16}, kFloat16, Form::kColumn);
DMLOP_ELEMENT(ADD_INT8, 1 << 12, kAdd, {kInt8, kInt8}, kInt8);
DMLOP_ELEMENT(ADD_INT8_Row, 1 << 12, kAdd, {kInt8, kInt8}, kInt8, Form::kRow);
DMLOP_ELEMENT(ADD_NarrowRow, 64, kAdd, {kFloat32, kFloat32}, kFloat32, Form::kRow);
BENCHMARK_CAPTURE(Element, ADD, Row{kAdd, {kFloat32, kFloat32}, kFloat32}, 9)->Arg(36);
BENCHMARK_CAPTURE(Element, HARD_SWISH, Row{kHardSwish, {kFloat16}, kFloat16}, 9)->Arg(18);

}  // namespace
}  // namespace dmlop
