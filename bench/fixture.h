// What the benchmark programs share: operators on packed tensors that they own.
#pragma once

#include <benchmark/benchmark.h>

#include <algorithm>
#include <random>
#include <vector>

#include "core/ops/operator.h"
#include "core/tensor/tensor.h"
#include "core/tensor/visit_data_type.h"

namespace dmlop {

inline TensorDesc Desc(DataType type, std::vector<uint32_t> sizes) {
  TensorDesc desc;
  desc.data_type = type;
  desc.sizes = std::move(sizes);
  return desc;
}

// Ordinary values: floats uniform in [-1, 1), integers of any bits. A long pattern, repeated.
inline void Fill(const TensorView& view, size_t size) {
  VisitDataType(AllTypes(), view.type, [&]<typename T>() {
    std::mt19937_64 engine(1);
    std::vector<T> pattern(65521);
    for (T& x : pattern) {
      if constexpr (std::is_integral_v<T>) {
        x = static_cast<T>(engine());
      } else {
        const double uniform = std::uniform_real_distribution<double>(-1, 1)(engine);
        if constexpr (std::is_same_v<T, Half>) {
          x = ToHalf(uniform);
        } else {
          x = static_cast<T>(uniform);
        }
      }
    }
    T* elements = view.elements<T>();
    const size_t count = size / sizeof(T);
    for (size_t i = 0; i < count; i += pattern.size()) {
      std::copy_n(pattern.begin(), std::min(pattern.size(), count - i), elements + i);
    }
  });
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
      Fill(view, buffers.back().size());
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
