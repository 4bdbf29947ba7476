// What the benchmark programs share: operators on packed tensors that they own.
#pragma once

#include <benchmark/benchmark.h>

#include <vector>

#include "core/ops/operator.h"
#include "core/tensor/sample_values.h"
#include "core/tensor/tensor.h"

namespace dmlop {

inline TensorDesc Desc(DataType type, std::vector<uint32_t> sizes) {
  TensorDesc desc;
  desc.data_type = type;
  desc.sizes = std::move(sizes);
  return desc;
}

// Runs the operator again and again on buffers of its own; reports the bytes that it moves.
inline void RunRepeatedly(benchmark::State& state, OperatorDesc desc) {
  Complete(desc);
  std::vector<Buffer> buffers;
  std::vector<ConstTensorView> inputs;
  std::vector<TensorView> outputs;
  size_t bytes = 0;
  for (const TensorSlot& slot : TensorSlots(static_cast<const OperatorDesc&>(desc))) {
    buffers.emplace_back(SizeInBytes(*slot.desc));
    const TensorView view{buffers.back().data(), *slot.desc->data_type, LayoutOf(*slot.desc)};
    bytes += static_cast<size_t>(view.layout.element_count()) * ByteWidth(view.type);
    if (slot.role == TensorRole::kInput) {
      FillWithSampleValues(view.type, {buffers.back().data(), buffers.back().size()});
      inputs.push_back(AsConst(view));
    } else {
      outputs.push_back(view);
    }
  }
  for (auto _ : state) {
    Run(desc, inputs, outputs);
    benchmark::ClobberMemory();
  }
  state.SetBytesProcessed(state.iterations() * static_cast<int64_t>(bytes));
}

}  // namespace dmlop
