// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <map>
#include <set>
#include <string>

#include "core/base/parallel.h"
#include "core/base/progress.h"
#include "core/graph/graph_run.h"
#include "core/graph/node_ranges.h"
#include "core/ops/pieces.h"
#include "core/ops/traffic.h"

namespace dmlop {
namespace {

// Most bytes of a part of each tensor. First-level caches are smaller, but with fewer rows the
// calls would dominate.
constexpr int64_t kPartBytes = 1 << 17;

// The tensor to which a slot of a node is bound.
struct Operand {
  TensorRole role;
  TensorView whole;       // no data if the edge is within the range
  size_t offset_in_part;  // offset in the buffer for the tensors within
};

struct Link {
  const OperatorDesc* op;
  std::vector<Operand> operands;
};

class ChainRun {
 public:
  ChainRun(const Graph& graph, const EdgeUses& uses, const NodeRange& range,
           const std::vector<std::byte*>& places)
      : grid_(SizesOf(graph.nodes[range.begin]), kPartBytes / WidestOf(graph, range)) {
    const int64_t part_bytes = grid_.elements() * WidestOf(graph, range);
    AddLinks(graph, uses, range, places, static_cast<size_t>(part_bytes));
  }

  void Run() const {
    ParallelFor(grid_.count(), 1, 0, [&](int64_t begin, int64_t end) {
      Buffer within(buffer_size_);
      for (int64_t number = begin; number < end; ++number) RunPart(grid_.PartAt(number), within);
    });
  }

 private:
  // Returns the bytes of the widest elements.
  static int64_t WidestOf(const Graph& graph, const NodeRange& range) {
    size_t width = 1;
    for (size_t n = range.begin; n < range.end; ++n) {
      for (const TensorSlot& slot : TensorSlots(graph.nodes[n].op)) {
        width = std::max(width, ByteWidth(*slot.desc->data_type));
      }
    }
    return static_cast<int64_t>(width);
  }

  static Dims SizesOf(const GraphNode& node) {
    const std::vector<uint32_t>& sizes = *TensorSlots(node.op).front().desc->sizes;
    return Dims(sizes.begin(), sizes.end());
  }

  // Tensors within the range share a buffer, as those of a graph do.
  void AddLinks(const Graph& graph, const EdgeUses& uses, const NodeRange& range,
                const std::vector<std::byte*>& places, size_t part_bytes) {
    BufferPlan plan;
    std::map<size_t, size_t> offsets;  // indexed by edge
    for (size_t n = range.begin; n < range.end; ++n) {
      const GraphNode& node = graph.nodes[n];
      Link& link = links_.emplace_back(Link{&node.op, {}});
      const std::vector<TensorSlot> slots = TensorSlots(node.op);
      std::set<size_t> ending;
      for (size_t i = 0; i < slots.size(); ++i) {
        const size_t edge = node.edges[i];
        Operand& operand = link.operands.emplace_back(
            Operand{slots[i].role(),
                    {places[edge], *slots[i].desc->data_type, LayoutOf(*slots[i].desc)},
                    0});
        if (!uses.IsWithin(edge, range)) continue;
        operand.whole.data = nullptr;
        if (operand.role == TensorRole::kOutput) offsets[edge] = plan.Take(part_bytes);
        operand.offset_in_part = offsets[edge];
        if (uses.Last(edge) == n) ending.insert(offsets[edge]);
      }
      for (const size_t offset : ending) plan.Release(offset);
    }
    buffer_size_ = plan.size();
  }

  void RunPart(const Region& part, Buffer& within) const {
    for (const Link& link : links_) {
      RoleViews parts;
      for (const Operand& operand : link.operands) {
        parts.Add(operand.role, PartOf(operand, part, within));
      }
      dmlop::Run(*link.op, parts.inputs, parts.outputs);
    }
  }

  static TensorView PartOf(const Operand& operand, const Region& part, Buffer& within) {
    const TensorView& whole = operand.whole;
    if (whole.data == nullptr) {
      return {within.data() + operand.offset_in_part, whole.type, PackedLayout(part.sizes)};
    }
    const int64_t offset = OffsetOf(whole.layout, part.begin);
    return {whole.data + offset * static_cast<int64_t>(ByteWidth(whole.type)),
            whole.type,
            {part.sizes, whole.layout.strides}};
  }

  PartGrid grid_;
  std::vector<Link> links_;
  size_t buffer_size_;
};

}  // namespace

void RunChain(const Graph& graph, const EdgeUses& uses, const NodeRange& range,
              const std::vector<std::byte*>& places) {
  int64_t bytes = 0;
  for (size_t n = range.begin; n < range.end; ++n) bytes += WorkBytes(graph.nodes[n].op);
  const Work work(graph.nodes[range.begin].name + " to " + graph.nodes[range.end - 1].name, bytes);
  ChainRun(graph, uses, range, places).Run();
}

}  // namespace dmlop
