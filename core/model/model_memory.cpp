// SPDX-License-Identifier: Apache-2.0
#include "core/model/model_memory.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/base/integers.h"
#include "core/base/memory.h"
#include "core/graph/graph_run.h"

namespace dmlop {

void CheckMemory(const ModelDocument& model, const ModelResources& resources,
                 const BoundModel& bound, Diagnostics& diagnostics) {
  const ValueReader values(diagnostics, Dialect::kModel);
  uint64_t left = AvailableMemory();
  const auto take = [&](uint64_t bytes, JsonCursor place) {
    if (bytes <= left) {
      left -= bytes;
      return;
    }
    values.FileError(place, ErrorKind::kFileSystem, "RES-7",
                     fmt::format("needs {} bytes of memory; {} are left", bytes, left));
  };
  for (size_t i = 0; i < model.resources().size(); ++i) {
    const JsonCursor place = model.resources()[i].place;
    take(*resources.shape(i).size, place.Find("sizeInBytes").value_or(place));
  }
  for (size_t d = 0; d < model.dispatchables().size(); ++d) {
    const ModelDispatchable& dispatchable = model.dispatchables()[d];
    if (const Graph* graph = dispatchable.graph()) {
      const auto size = std::max(PlanGraph(*graph, SingleNodes(*graph)).size,
                                 PlanGraph(*graph, ChainsOf(*graph)).size);
      take(size, dispatchable.place);
    }
    const std::vector<TensorSlot> slots = dispatchable.slots();
    for (size_t i = 0; i < slots.size(); ++i) {
      if (!bound.initialization[d][i]) continue;
      take(SizeInBytes(*slots[i].desc), dispatchable.initialization->place);
    }
  }
}

}  // namespace dmlop
