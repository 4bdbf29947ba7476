// SPDX-License-Identifier: Apache-2.0

#include <algorithm>
#include <map>
#include <set>

#include "core/base/parallel.h"
#include "core/base/progress.h"
#include "core/graph/graph_run.h"
#include "core/ops/pieces.h"

namespace dmlop {
namespace {

// Returns whether rows that are not repeated follow one another: then some rows are a contiguous
// part of memory.
bool HasRowsInOrder(const Layout& layout) {
  int64_t inner = 1;
  for (size_t d = layout.rank(); d-- > 0;) {
    if (layout.sizes[d] == 1 || layout.strides[d] == 0) continue;
    if (layout.strides[d] < inner) return false;
    inner = layout.strides[d];
  }
  return true;
}

// A chain that grows node by node.
class Chain {
 public:
  static bool MayHave(const GraphNode& node) {
    if (!RunsOnAnyPart(node.op)) return false;
    const std::vector<TensorSlot> slots = TensorSlots(node.op);
    return std::all_of(slots.begin(), slots.end(), [](const TensorSlot& slot) {
      return !HasNibbles(*slot.desc->data_type) && HasRowsInOrder(LayoutOf(*slot.desc));
    });
  }

  // Returns whether the node continues with what the chain computes.
  bool Continues(const GraphNode& node) const {
    if (!MayHave(node)) return false;
    bool reads_it = false;
    const std::vector<TensorSlot> slots = TensorSlots(node.op);
    for (size_t i = 0; i < slots.size(); ++i) {
      const auto found = computed_.find(node.edges[i]);
      if (found == computed_.end()) continue;
      if (!AreAlike(*found->second, *slots[i].desc)) return false;
      reads_it = true;
    }
    return reads_it;
  }

  void Add(const GraphNode& node) {
    const std::vector<TensorSlot> slots = TensorSlots(node.op);
    for (size_t i = 0; i < slots.size(); ++i) {
      if (slots[i].role() == TensorRole::kOutput) computed_[node.edges[i]] = slots[i].desc;
    }
  }

 private:
  std::map<size_t, const TensorDesc*> computed_;
};

// Returns whether a node reads nothing, and fills one tensor that another node reads.
bool IsSource(const Graph& graph, const EdgeUses& uses, const NodeRange& range) {
  const GraphNode& node = graph.nodes[range.begin];
  const std::vector<TensorSlot> slots = TensorSlots(node.op);
  return range.size() == 1 && slots.size() == 1 && slots[0].role() == TensorRole::kOutput &&
         uses.IsBetween(node.edges[0]) && uses.Last(node.edges[0]) > range.begin;
}

// Moves sources to where their tensors are read first, so that they take no memory before.
std::vector<NodeRange> WithSourcesLate(const Graph& graph, const std::vector<NodeRange>& ranges) {
  const EdgeUses uses(graph);
  std::map<size_t, NodeRange> waiting;  // by the edge that is filled
  std::vector<NodeRange> ordered;
  for (const NodeRange& range : ranges) {
    if (IsSource(graph, uses, range)) {
      waiting.emplace(graph.nodes[range.begin].edges[0], range);
      continue;
    }
    for (size_t n = range.begin; n < range.end; ++n) {
      for (const size_t edge : graph.nodes[n].edges) {
        if (const auto source = waiting.extract(edge)) ordered.push_back(source.mapped());
      }
    }
    ordered.push_back(range);
  }
  return ordered;
}

}  // namespace

std::vector<NodeRange> ChainsOf(const Graph& graph) {
  std::vector<NodeRange> ranges;
  for (size_t begin = 0, end = 0; begin < graph.nodes.size(); begin = end) {
    end = begin + 1;
    if (Chain::MayHave(graph.nodes[begin])) {
      Chain chain;
      chain.Add(graph.nodes[begin]);
      for (; end < graph.nodes.size() && chain.Continues(graph.nodes[end]); ++end) {
        chain.Add(graph.nodes[end]);
      }
    }
    ranges.push_back({begin, end});
  }
  return WithSourcesLate(graph, ranges);
}

std::vector<NodeRange> SingleNodes(const Graph& graph) {
  std::vector<NodeRange> ranges;
  for (size_t n = 0; n < graph.nodes.size(); ++n) ranges.push_back({n, n + 1});
  return ranges;
}

bool AreAlike(const TensorDesc& a, const TensorDesc& b) {
  return a.data_type == b.data_type && LayoutOf(a) == LayoutOf(b);
}

EdgeUses::EdgeUses(const Graph& graph)
    : is_between_(graph.edges.size(), true),
      first_(graph.edges.size(), graph.nodes.size()),
      last_(graph.edges.size()) {
  for (size_t n = 0; n < graph.nodes.size(); ++n) {
    for (const size_t edge : graph.nodes[n].edges) {
      first_[edge] = std::min(first_[edge], n);
      last_[edge] = n;
    }
  }
  for (const size_t edge : graph.inputs) is_between_[edge] = false;
  for (const size_t edge : graph.outputs) is_between_[edge] = false;
  for (size_t e = 0; e < graph.edges.size(); ++e) {
    if (graph.edges[e].constant) is_between_[e] = false;
  }
}

// --- chains --------------------------------------------------------------------------------------

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
