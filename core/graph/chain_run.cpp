#include "core/graph/chain_run.h"

#include <algorithm>
#include <map>
#include <set>
#include <string>

#include "core/base/parallel.h"
#include "core/base/progress.h"
#include "core/graph/buffer_plan.h"
#include "core/ops/traffic.h"

namespace dmlop {
namespace {

// Of each tensor, at most. The first caches are smaller: with fewer rows, it is calls that cost.
constexpr int64_t kPartBytes = 1 << 17;

// The tensor that a slot of a node is bound to.
struct Operand {
  TensorRole role;
  TensorView whole;       // no data where the edge is within the range
  size_t offset_in_part;  // in the buffer for the tensors within
};

struct Link {
  const OperatorDesc* op;
  std::vector<Operand> operands;
};

class ChainRun {
 public:
  ChainRun(const Graph& graph, const NodeRange& range, const std::vector<std::byte*>& places)
      : sizes_(SizesOf(graph.nodes[range.begin])) {
    int64_t width = 1;
    for (size_t n = range.begin; n < range.end; ++n) {
      for (const TensorSlot& slot : TensorSlots(graph.nodes[n].op)) {
        width = std::max(width, static_cast<int64_t>(ByteWidth(*slot.desc->data_type)));
      }
    }
    Cut(kPartBytes / width);
    AddLinks(graph, range, places, static_cast<size_t>(part_.count() * width));
  }

  void Run() const {
    ParallelFor(count_, 1, 0, [&](int64_t begin, int64_t end) {
      Buffer within(buffer_size_);
      for (int64_t number = begin; number < end; ++number) RunPart(PartAt(number), within);
    });
  }

 private:
  static Dims SizesOf(const GraphNode& node) {
    const std::vector<uint32_t>& sizes = *TensorSlots(node.op).front().desc->sizes;
    return Dims(sizes.begin(), sizes.end());
  }

  // Into single indices, but for ranges of one dimension and what is inside of it.
  void Cut(int64_t elements) {
    part_ = {0, Dims::Filled(sizes_.size(), 0), sizes_};
    size_t d = 0;
    for (; d + 1 < sizes_.size() && part_.count() / part_.sizes[d] >= elements; ++d) {
      part_.sizes[d] = 1;
    }
    const int64_t inner = part_.count() / part_.sizes[d];
    part_.sizes[d] = std::clamp<int64_t>(elements / inner, 1, sizes_[d]);
    cut_ = d;
    count_ = (sizes_[d] - 1) / part_.sizes[d] + 1;
    for (size_t outer = 0; outer < d; ++outer) count_ *= sizes_[outer];
  }

  Region PartAt(int64_t number) const {
    Dims grid(sizes_.begin(), sizes_.begin() + cut_);
    grid.push_back((sizes_[cut_] - 1) / part_.sizes[cut_] + 1);
    const Dims place = IndexOf(grid, number);
    Region part = part_;
    for (size_t d = 0; d <= cut_; ++d) part.begin[d] = place[d] * part_.sizes[d];
    part.sizes[cut_] = std::min(part.sizes[cut_], sizes_[cut_] - part.begin[cut_]);
    return part;
  }

  // Tensors within the range share the buffer as those of a graph do.
  void AddLinks(const Graph& graph, const NodeRange& range, const std::vector<std::byte*>& places,
                size_t part_bytes) {
    const EdgeUses uses(graph);
    BufferPlan plan;
    std::map<size_t, size_t> offsets;  // by edge
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

  Dims sizes_;
  Region part_;  // the first one
  size_t cut_;   // the dimension of ranges
  int64_t count_;
  std::vector<Link> links_;
  size_t buffer_size_;
};

}  // namespace

void RunChain(const Graph& graph, const NodeRange& range, const std::vector<std::byte*>& places) {
  int64_t bytes = 0;
  for (size_t n = range.begin; n < range.end; ++n) bytes += WorkBytes(graph.nodes[n].op);
  const Work work(graph.nodes[range.begin].name + " to " + graph.nodes[range.end - 1].name, bytes);
  ChainRun(graph, range, places).Run();
}

}  // namespace dmlop
