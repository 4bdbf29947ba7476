// An element-wise chain at work: all of its nodes on a part of the tensors that the caches hold,
// then on the next one. Every tensor in between is rounded as if it were there as a whole.
#pragma once

#include <cstddef>
#include <vector>

#include "core/graph/node_ranges.h"

namespace dmlop {

// Of a range that ChainsOf gives. `uses` are those of the graph, `places` where the bytes of edges
// begin, but for those within the range.
void RunChain(const Graph& graph, const EdgeUses& uses, const NodeRange& range,
              const std::vector<std::byte*>& places);

}  // namespace dmlop
