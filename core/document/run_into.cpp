// SPDX-License-Identifier: Apache-2.0
#include "core/document/run_into.h"

#include <algorithm>
#include <atomic>
#include <vector>

#include "core/base/parallel.h"
#include "core/base/progress.h"
#include "core/ops/pieces.h"
#include "core/ops/traffic.h"

namespace dmlop {
namespace {

// A piece stays in the second-level cache from its computation until it is written.
constexpr int64_t kPieceBytes = 1 << 20;

void RunInPieces(const OperatorDesc& desc, std::span<const ConstTensorView> inputs,
                 std::span<OutputTensor* const> outputs) {
  const Pieces pieces(desc, inputs, kPieceBytes);
  std::atomic<int64_t> next = 0;  // pieces in order suit file systems
  const auto work = [&](int64_t, int64_t) {
    Buffer buffer(pieces.buffer_size());
    for (int64_t i; (i = next.fetch_add(1)) < pieces.count();) {
      const Pieces::Part part = pieces.Run(i, {buffer.data(), buffer.size()});
      outputs[part.output]->Write(part.begin, part.bytes);
    }
  };
  ParallelFor(std::min<int64_t>(ThreadCount(), pieces.count()), 1, /*bytes=*/0, work);
}

}  // namespace

void RunInto(const OperatorDesc& desc, std::span<const ConstTensorView> inputs,
             std::span<OutputTensor* const> outputs) {
  const Work work(std::string(desc.name()), WorkBytes(desc));
  const bool all_packed = std::all_of(outputs.begin(), outputs.end(),
                                      [](const OutputTensor* o) { return IsPacked(o->layout()); });
  const bool any_large = std::any_of(outputs.begin(), outputs.end(),
                                     [](const OutputTensor* o) { return !o->is_in_memory(); });
  if (all_packed && any_large && HasCheapParts(desc)) return RunInPieces(desc, inputs, outputs);
  std::vector<TensorView> views;
  for (OutputTensor* output : outputs) views.push_back(output->view());
  Run(desc, inputs, views);
}

}  // namespace dmlop
