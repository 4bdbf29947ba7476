// SPDX-License-Identifier: Apache-2.0
// The memory that operators of a model fill, and how far off a device may be that fills it.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <vector>

#include "core/graph/graph_run.h"
#include "core/judge/units.h"

namespace dmlop {

// Whether some of these bytes are a tensor's.
bool Overlaps(const ConstTensorView& tensor, std::span<const std::byte> bytes);

class FilledMemory {
 public:
  // Takes what a step has filled.
  void Add(const Step& step);

  // Whether a step reads of it; a device surely had the same inputs only if it does not.
  bool IsReadBy(const Step& step) const;

 private:
  std::vector<std::span<const std::byte>> filled_;
};

// The units of what a step has filled, for a device that had the same inputs; none where equality
// is asked for.
std::optional<ErrorUnits> UnitsOf(const Step& step, size_t output);

}  // namespace dmlop
