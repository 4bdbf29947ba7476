// SPDX-License-Identifier: Apache-2.0
// What the benchmark programs share: operators on packed tensors of their own.
#pragma once

#include <benchmark/benchmark.h>

#include <chrono>
#include <utility>
#include <vector>

#include "core/ops/operator.h"
#include "core/ops/pieces.h"
#include "core/tensor/sample_values.h"
#include "core/tensor/tensor.h"
#include "tests/support/desc.h"

namespace dmlop {

inline TensorDesc Desc(DataType type, std::vector<uint32_t> sizes) {
  TensorDesc desc;
  desc.data_type = type;
  desc.sizes = std::move(sizes);
  return desc;
}

// The allocator returns freed memory to the system, so that each call would take fresh pages, until
// a large buffer was allocated and freed. A process that works with tensors has done that.
inline const bool kFreedMemoryStays = (Buffer(size_t{1} << 24), true);

// An operator with its own buffers.
class Workload {
 public:
  explicit Workload(OperatorDesc desc) : desc_(std::move(desc)) {
    Complete(desc_);
    for (const TensorSlot& slot : TensorSlots(std::as_const(desc_))) {
      buffers_.emplace_back(SizeInBytes(*slot.desc));
      const TensorView view{buffers_.back().data(), *slot.desc->data_type, LayoutOf(*slot.desc)};
      if (slot.role() == TensorRole::kInput) {
        FillWithSampleValues(view.type, {buffers_.back().data(), buffers_.back().size()});
        inputs_.push_back(AsConst(view));
        input_elements_.push_back(buffers_.back().data());
      } else {
        outputs_.push_back(view);
      }
    }
  }

  void Run() {
    dmlop::Run(desc_, inputs_, outputs_);
    benchmark::ClobberMemory();
  }

  // Returns the elements of an input, initially samples.
  std::byte* input(size_t number) { return input_elements_[number]; }

  // Returns what the operator must move.
  Traffic traffic() const { return TrafficOf(desc_, inputs_, outputs_); }
  int64_t bytes() const { return traffic().total_bytes(); }

 private:
  OperatorDesc desc_;
  std::vector<Buffer> buffers_;
  std::vector<ConstTensorView> inputs_;
  std::vector<std::byte*> input_elements_;
  std::vector<TensorView> outputs_;
};

template <class W>
double SecondsOf(W& workload) {
  const auto start = std::chrono::steady_clock::now();
  workload.Run();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

// Runs the operator repeatedly, and reports the bytes that it moves.
inline void RunRepeatedly(benchmark::State& state, const OperatorDesc& desc) {
  Workload workload(desc);
  for (auto _ : state) workload.Run();
  state.SetBytesProcessed(state.iterations() * workload.bytes());
}

}  // namespace dmlop
