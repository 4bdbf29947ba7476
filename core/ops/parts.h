// What JOIN and SPLIT have in common: a whole tensor, and its parts one after another along an
// axis.
#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include "core/base/diagnostic.h"
#include "core/ops/checks.h"
#include "core/ops/support.h"

namespace dmlop {

// The codes under which an operator reports the rules of Validate.
struct PartsRules {
  std::string_view count;  // at least one part
  std::string_view type;   // the parts have the whole's DataType and DimensionCount
  std::string_view sizes;  // Axis is a dimension; the parts have the whole's Sizes, or add up to it
};

struct Parts {
  NamedTensor whole;
  std::string_view field;  // of the parts
  const std::optional<std::vector<TensorDesc>>& tensors;
  std::optional<uint32_t> axis;
};

void Validate(const Parts& parts, const PartsRules& rules, Diagnostics& diagnostics);

}  // namespace dmlop
