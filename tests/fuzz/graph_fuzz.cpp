// SPDX-License-Identifier: Apache-2.0
// The bytes are a serialized graph, which is read and, if it is small, planned and run.

#include <algorithm>
#include <string>
#include <vector>

#include "core/graph/graph_reader.h"
#include "core/graph/graph_run.h"
#include "tests/fuzz/check.h"

namespace dmlop {
namespace {

constexpr uint64_t kMaxBytes = 1 << 16;  // over all tensors
constexpr size_t kMaxNodes = 16;

bool IsSmall(const Graph& graph) {
  uint64_t bytes = 0;
  for (const GraphNode& node : graph.nodes) {
    for (const TensorSlot& slot : TensorSlots(node.op)) {
      bytes += std::min(SizeInBytes(*slot.desc), kMaxBytes + 1);
      if (bytes > kMaxBytes) return false;
    }
  }
  return graph.nodes.size() <= kMaxNodes;
}

void RunSmall(const Graph& graph) {
  std::vector<Buffer> buffers;
  std::vector<ConstTensorView> inputs;
  std::vector<TensorView> outputs;
  for (const TensorSlot& slot : SlotsOf(graph)) {
    Buffer& buffer = buffers.emplace_back(SizeInBytes(*slot.desc));
    const TensorView view{buffer.data(), *slot.desc->data_type, LayoutOf(*slot.desc)};
    if (slot.role() == TensorRole::kInput) {
      inputs.push_back(AsConst(view));
    } else {
      outputs.push_back(view);
    }
  }
  RunGraph(graph, inputs, outputs, {.may_chain = true});
}

void CheckInput(std::span<const std::byte> file) {
  bool is_reported = false;
  const auto no_file = [](const std::string& name) -> std::span<const std::byte> {
    throw Error(ErrorKind::kFileSystem, name + ": is not there");
  };
  // A separate copy, so that reading past the file is reading past an allocation.
  const std::vector<std::byte> copy(file.begin(), file.end());
  const auto graph =
      ReadGraph({copy, no_file, kHighestFeatureLevel}, [&](auto&&...) { is_reported = true; });
  Require((graph == nullptr) == is_reported,
          "a graph is refused without a word, or taken with one");
  if (graph != nullptr && IsSmall(*graph)) RunSmall(*graph);
}

}  // namespace
}  // namespace dmlop

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  dmlop::CheckInput({reinterpret_cast<const std::byte*>(data), size});
  return 0;
}
