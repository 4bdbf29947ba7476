// SPDX-License-Identifier: Apache-2.0
#include "core/graph/graph_run.h"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <iterator>
#include <limits>
#include <set>

#include "core/base/integers.h"
#include "core/base/memory.h"
#include "core/base/progress.h"
#include "core/ops/pieces.h"

namespace dmlop {
namespace {

// Returns where the bytes of edges begin. Those of inputs and constants are not written.
std::vector<std::byte*> PlacesOf(const Graph& graph, const GraphPlan& plan, Buffer& between,
                                 InputViews inputs, OutputViews outputs) {
  std::vector<std::byte*> places(graph.edges.size());
  for (size_t e = 0; e < places.size(); ++e) {
    const auto& constant = graph.edges[e].constant;
    places[e] = constant ? const_cast<std::byte*>(constant->bytes.data())
                         : between.data() + plan.offsets[e];
  }
  size_t next = 0;
  for (const size_t e : graph.inputs) {
    if (graph.edges[e].desc) places[e] = const_cast<std::byte*>(inputs[next++].data);
  }
  for (size_t i = 0; i < graph.outputs.size(); ++i) places[graph.outputs[i]] = outputs[i].data;
  return places;
}

// Replaces the places of constants that nodes of a range read and that a file has at any address by
// aligned copies, which live as long as this.
class AlignedConstants {
 public:
  void Align(const Graph& graph, const NodeRange& range, std::vector<std::byte*>& places) {
    for (size_t n = range.begin; n < range.end; ++n) {
      const std::vector<TensorSlot> slots = TensorSlots(graph.nodes[n].op);
      for (size_t i = 0; i < slots.size(); ++i) {
        const size_t edge = graph.nodes[n].edges[i];
        const auto address = reinterpret_cast<uintptr_t>(places[edge]);
        if (address % ByteWidth(*slots[i].desc->data_type) == 0) continue;
        const std::span<const std::byte> bytes = graph.edges[edge].constant->bytes;
        replaced_.push_back({edge, places[edge], Buffer(bytes.size())});
        std::ranges::copy(bytes, replaced_.back().copy.data());
        places[edge] = replaced_.back().copy.data();
      }
    }
  }

  // Frees the copies.
  void Restore(std::vector<std::byte*>& places) {
    for (const Replaced& one : replaced_) places[one.edge] = one.place;
    replaced_.clear();
  }

 private:
  struct Replaced {
    size_t edge;
    std::byte* place;
    Buffer copy;
  };

  std::vector<Replaced> replaced_;
};

// Returns whether a tensor has bytes that belong to no element.
bool HasGaps(const TensorDesc& desc) {
  const auto bits =
      BitWidth(*desc.data_type) * static_cast<uint64_t>(LayoutOf(desc).element_count());
  return bits / 8 < SizeInBytes(desc);
}

// Returns the memory of the tensors that the node fills and that must be cleared first.
std::vector<std::span<std::byte>> ClearedBy(const GraphNode& node, const GraphPlan& plan,
                                            const std::vector<std::byte*>& places) {
  std::vector<std::span<std::byte>> cleared;
  const std::vector<TensorSlot> slots = TensorSlots(node.op);
  for (size_t i = 0; i < slots.size(); ++i) {
    const size_t edge = node.edges[i];
    if (slots[i].role() == TensorRole::kInput || plan.cleared[edge] == 0) continue;
    cleared.emplace_back(places[edge], plan.cleared[edge]);
  }
  return cleared;
}

void Clear(std::span<const std::span<std::byte>> memory) {
  for (const std::span<std::byte> bytes : memory) std::ranges::fill(bytes, std::byte{0});
}

// Gives back the pages of large constants that no later node reads.
void ReleaseConstants(const Graph& graph, const EdgeUses& uses, const NodeRange& range) {
  constexpr size_t kLarge = 1 << 20;
  for (size_t n = range.begin; n < range.end; ++n) {
    for (const size_t edge : graph.nodes[n].edges) {
      const auto& constant = graph.edges[edge].constant;
      if (!constant || !constant->is_mapped || constant->bytes.size() < kLarge) continue;
      if (uses.Last(edge) < range.end) ReleasePages(constant->bytes);
    }
  }
}

Step StepOf(const Graph& graph, const GraphPlan& plan, const GraphNode& node,
            const std::vector<std::byte*>& places) {
  Step step{{}, node.name, node.op, {}, {}};
  const std::vector<TensorSlot> slots = TensorSlots(node.op);
  for (size_t i = 0; i < slots.size(); ++i) {
    const size_t edge = node.edges[i];
    const TensorRole role = slots[i].role();
    step.Add(role, {places[edge], *slots[i].desc->data_type, LayoutOf(*slots[i].desc)});
    if (role == TensorRole::kOutput) step.output_names.push_back(graph.edges[edge].name);
  }
  step.cleared = ClearedBy(node, plan, places);
  return step;
}

}  // namespace

GraphPlan PlanGraph(const Graph& graph, std::span<const NodeRange> ranges) {
  const EdgeUses uses(graph);
  GraphPlan plan{std::vector<size_t>(graph.edges.size()), std::vector<size_t>(graph.edges.size()),
                 0};
  BufferPlan places;
  for (const NodeRange& range : ranges) {
    std::set<size_t> ending;
    for (size_t n = range.begin; n < range.end; ++n) {
      const GraphNode& node = graph.nodes[n];
      const std::vector<TensorSlot> slots = TensorSlots(node.op);
      for (size_t i = 0; i < slots.size(); ++i) {
        const size_t edge = node.edges[i];
        if (!uses.IsBetween(edge) || (range.size() > 1 && uses.IsWithin(edge, range))) continue;
        const TensorDesc& filled = *graph.edges[edge].desc;
        if (slots[i].role() == TensorRole::kOutput) {
          plan.offsets[edge] = places.Take(SizeInBytes(filled));
        } else if (!AreAlike(filled, *slots[i].desc) && HasGaps(filled)) {
          plan.cleared[edge] = SizeInBytes(filled);
        }
        if (uses.Last(edge) < range.end) ending.insert(plan.offsets[edge]);
      }
    }
    for (const size_t offset : ending) places.Release(offset);
  }
  plan.size = places.size();
  return plan;
}

void RunStep(const Step& step, const StepWatch& watch) {
  if (watch.before) watch.before(step);
  const Work work(std::string(step.name), WorkBytes(step.op));
  Clear(step.cleared);
  RunOnBuffers(step.op, step.inputs, step.outputs);
  if (watch.after) watch.after(step);
}

void ForEachStep(const Graph& graph, InputViews inputs, OutputViews outputs,
                 const VisitStep& visit) {
  const GraphPlan plan = PlanGraph(graph, SingleNodes(graph));
  Buffer between(plan.size);
  std::vector<std::byte*> places = PlacesOf(graph, plan, between, inputs, outputs);
  AlignedConstants constants;
  constants.Align(graph, {0, graph.nodes.size()}, places);
  for (const GraphNode& node : graph.nodes) visit(StepOf(graph, plan, node, places));
}

void RunGraph(const Graph& graph, InputViews inputs, OutputViews outputs, const StepWatch& watch) {
  const std::vector<NodeRange> ranges = watch.may_chain ? ChainsOf(graph) : SingleNodes(graph);
  const EdgeUses uses(graph);
  const GraphPlan plan = PlanGraph(graph, ranges);
  Buffer between(plan.size);
  std::vector<std::byte*> places = PlacesOf(graph, plan, between, inputs, outputs);
  AlignedConstants constants;
  for (const NodeRange& range : ranges) {
    if (watch.goes_on && !watch.goes_on()) return;
    constants.Align(graph, range, places);
    if (range.size() > 1) {
      for (size_t n = range.begin; n < range.end; ++n) {
        Clear(ClearedBy(graph.nodes[n], plan, places));
      }
      RunChain(graph, uses, range, places);
    } else {
      RunStep(StepOf(graph, plan, graph.nodes[range.begin], places), watch);
    }
    constants.Restore(places);
    ReleaseConstants(graph, uses, range);
  }
}

// --- memory of mapped files ----------------------------------------------------------------------

void ReleasePages(std::span<const std::byte> bytes) {
  const auto page = static_cast<uintptr_t>(sysconf(_SC_PAGESIZE));
  const auto begin = RoundUp(reinterpret_cast<uintptr_t>(bytes.data()), page);
  const auto end = reinterpret_cast<uintptr_t>(bytes.data() + bytes.size()) / page * page;
  if (begin < end) madvise(reinterpret_cast<void*>(begin), end - begin, MADV_DONTNEED);
}

namespace {

constexpr size_t kLine = kLineBytes;  // no two tensors share one
constexpr size_t kMost = std::numeric_limits<size_t>::max() / kLine * kLine;

// Saturates: no memory is so large that the difference would matter.
size_t SaturatedSum(size_t a, size_t b) {
  return std::min(CheckedAdd(a, b).value_or(kMost), kMost);
}

}  // namespace

size_t BufferPlan::Take(size_t bytes) {
  const size_t length = SaturatedSum(bytes, kLine - 1) / kLine * kLine;
  const size_t begin = TakeHole(length);
  const size_t end = SaturatedSum(begin, length);
  taken_.emplace(begin, end);
  size_ = std::max(size_, end);
  return begin;
}

// Takes the first hole that is long enough; the last one may be shorter if it ends at the end of
// the buffer.
size_t BufferPlan::TakeHole(size_t length) {
  const auto hole = std::find_if(holes_.begin(), holes_.end(), [&](const auto& one) {
    return one.second - one.first >= length || one.second == size_;
  });
  if (hole == holes_.end()) return size_;
  const auto [begin, end] = *hole;
  holes_.erase(hole);
  if (end - begin > length) holes_.emplace(begin + length, end);
  return begin;
}

void BufferPlan::Release(size_t offset) {
  const auto place = taken_.find(offset);
  if (place == taken_.end()) return;  // when the size saturates, several begin there
  size_t end = place->second;
  taken_.erase(place);
  const auto next = holes_.find(end);
  if (next != holes_.end()) {
    end = next->second;
    holes_.erase(next);
  }
  const auto behind = holes_.lower_bound(offset);
  if (behind != holes_.begin() && std::prev(behind)->second == offset) {
    std::prev(behind)->second = end;
  } else {
    holes_.emplace(offset, end);
  }
}

}  // namespace dmlop
