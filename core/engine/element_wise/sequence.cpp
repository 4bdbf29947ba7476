// SPDX-License-Identifier: Apache-2.0
#include "core/engine/element_wise/sequence.h"

#include <algorithm>

#include "core/base/parallel.h"
#include "core/engine/element_wise/row_pipeline.h"
#include "core/kernels/copy/copy.h"
#include "core/tensor/loop_nest.h"

namespace dmlop {
namespace {

constexpr int64_t kPart = 1 << 9;    // elements in a part of a row
constexpr int64_t kGrain = 1 << 15;  // fewer elements do not repay a second thread

template <typename T>
void NumberPlaces(int64_t first, int64_t step, int64_t count, std::byte* to) {
  T* places = reinterpret_cast<T*>(to);
  for (int64_t i = 0; i < count; ++i) places[i] = static_cast<T>(first + i * step);
}

}  // namespace

void FillSequence(const ElementParameters& parameters, int64_t first, const Dims& steps,
                  const TensorView& output) {
  // The loops over the output and over the numbers of its elements.
  LoopNest<2> nest = Merged(LoopNest<2>{output.layout.sizes, {output.layout.strides, steps}});
  if (nest.rank() == 0) nest.Push(1, {1, 1});
  const size_t last = nest.rank() - 1;
  const int64_t row = nest.sizes[last];
  const int64_t stride = nest.strides[0][last];
  const int64_t step = nest.strides[1][last];
  const LoopNest<2> rows = Without(nest, last);

  const bool is_float = IsFloat(output.type);
  const DataType place_type = is_float ? DataType::kFloat64 : DataType::kUint64;
  const ElementWiseCall call{ElementWiseFunction::kSequence, parameters, {}};
  const ConstTensorView places{nullptr, place_type, output.layout};
  const RowPipeline pipeline(call, {&places, 1}, output.type);
  const size_t width = ByteWidth(output.type);
  const CopyTileFunction copy = CopyTileFor(width);

  const int64_t parts = (row - 1) / kPart + 1;
  ParallelFor(Product(rows.sizes) * parts, std::max<int64_t>(1, kGrain / std::min(row, kPart)),
              output.element_bytes(), [&](int64_t begin, int64_t end) {
                RowPipeline::Scratch scratch;
                alignas(64) std::byte numbers[kPart * sizeof(double)];
                alignas(64) std::byte values[kPart * sizeof(double)];
                Walk<2> walk(rows, begin / parts);
                for (int64_t i = begin; i < end; ++i) {
                  const int64_t in_row = i % parts * kPart;
                  const int64_t count = std::min(kPart, row - in_row);
                  const int64_t place = first + walk.offset(1) + in_row * step;
                  is_float ? NumberPlaces<double>(place, step, count, numbers)
                           : NumberPlaces<uint64_t>(place, step, count, numbers);
                  const RowSource source{numbers, false};
                  std::byte* const to = output.data + (walk.offset(0) + in_row * stride) *
                                                          static_cast<int64_t>(width);
                  std::byte* const target = stride == 1 ? to : values;
                  pipeline.Run(count, {&source, 1}, target, /*streams=*/false, scratch);
                  if (target != to) copy({1, count, 0, stride, 0, 1}, to, values);
                  if (i % parts == parts - 1) walk.Next();
                }
              });
}

}  // namespace dmlop
