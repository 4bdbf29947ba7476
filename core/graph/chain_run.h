// Runs an element-wise chain: all of its nodes on a part of the tensors that fits into the caches,
// then on the next one. Every tensor in between is rounded as if it existed as a whole.
#pragma once

#include <cstddef>
#include <vector>

#include "core/graph/node_ranges.h"

namespace dmlop {

// Runs a range that ChainsOf returned. `uses` are those of the graph; `places` is where the bytes
// of edges begin, except those within the range.
void RunChain(const Graph& graph, const EdgeUses& uses, const NodeRange& range,
              const std::vector<std::byte*>& places);

}  // namespace dmlop
