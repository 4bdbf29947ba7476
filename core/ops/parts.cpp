#include "core/ops/parts.h"

#include <fmt/format.h>

namespace dmlop {

void Validate(const Parts& parts, const PartsRules& rules, Diagnostics& diagnostics) {
  const bool axis_is_valid =
      parts.axis && CheckAxis(rules.sizes, *parts.axis, "Axis", parts.whole, diagnostics);
  if (!parts.tensors) return;
  if (parts.axis && !parts.whole.desc.sizes && !parts.tensors->empty()) {
    CheckAxis(rules.sizes, *parts.axis, "Axis",
              {fmt::format("{}/0", parts.field), parts.tensors->front()}, diagnostics);
  }
  if (parts.tensors->empty()) {
    diagnostics.Error(rules.count, parts.field, "at least one tensor is needed");
    return;
  }

  bool has_total = axis_is_valid;
  uint64_t total = 0;
  for (size_t i = 0; i < parts.tensors->size(); ++i) {
    const NamedTensor part{fmt::format("{}/{}", parts.field, i), (*parts.tensors)[i]};
    CheckSameDataType(rules.type, part, parts.whole, diagnostics);
    if (!CheckSameRank(rules.type, part, parts.whole, diagnostics)) {
      has_total = false;
    } else if (axis_is_valid) {
      CheckSizesExcept(rules.sizes, part, parts.whole, *parts.axis, diagnostics);
      total += (*part.desc.sizes)[*parts.axis];
    }
  }

  if (!has_total || (*parts.whole.desc.sizes)[*parts.axis] == total) return;
  diagnostics.Error(rules.sizes, fmt::format("{}/Sizes/{}", parts.whole.path, *parts.axis),
                    fmt::format("the size along Axis is {}; expected {}, the sum of {}",
                                (*parts.whole.desc.sizes)[*parts.axis], total, parts.field));
}

}  // namespace dmlop
