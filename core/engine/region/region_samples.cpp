// SPDX-License-Identifier: Apache-2.0
#include "core/engine/region/region_samples.h"

#include "core/kernels/index/index_value.h"
#include "core/tensor/visit_data_type.h"

namespace dmlop {
namespace {

AxisSamples AlongAxis(const SampleAxis& axis, int64_t first, int64_t count) {
  AxisSamples along{axis.samples(), {}};
  for (int64_t output = first; output < first + count; ++output) {
    OutputSamples& one =
        along.outputs.emplace_back(OutputSamples{axis.InsideOf(output), axis.RunsOf(output), {}});
    one.span = SpanOf(one.runs);
  }
  return along;
}

double CornerOf(const ConstTensorView& regions, int64_t region, int64_t k) {
  const Dims& strides = regions.layout.strides;
  double corner = 0;
  VisitDataType(Floats(), regions.type, [&]<typename T>() {
    const int64_t row = region * strides[strides.size() - 2];
    corner = AsDouble(regions.elements<T>()[row + k * strides.back()]);
  });
  return corner;
}

}  // namespace

int64_t BatchOf(const ConstTensorView& batches, int64_t region, int64_t count) {
  int64_t batch = 0;
  VisitDataType(TypeList<uint64_t, uint32_t>(), batches.type, [&]<typename Index>() {
    const Index index = batches.elements<Index>()[region * batches.layout.strides.back()];
    batch = ResolveIndex(index, count).place;
  });
  return batch;
}

RegionSamples SamplesOf(const RegionRule& rule, const Dims& sizes, const ConstTensorView& regions,
                        const ConstTensorView& batches, int64_t region, const OutputPart& part) {
  const auto corner = [&](int64_t k) { return CornerOf(regions, region, k); };
  const SampleAxis y(rule.y, corner(1), corner(3), rule.height, sizes[2]);
  const SampleAxis x(rule.x, corner(0), corner(2), rule.width, sizes[3]);
  return {BatchOf(batches, region, sizes[0]), AlongAxis(y, part.first_row, part.rows),
          AlongAxis(x, part.first_column, part.columns)};
}

}  // namespace dmlop
