#include "core/ops/support.h"

namespace dmlop {

const SupportRow* RowAt(const SupportTable& table, FeatureLevel level) {
  const SupportRow* in_force = nullptr;
  for (const SupportRow& row : table.rows) {
    if (row.since <= level) in_force = &row;
  }
  return in_force;
}

FieldLimits LimitsOf(std::string_view field, std::span<const FieldLimits> limits) {
  for (const FieldLimits& entry : limits) {
    if (entry.field == field) return entry;
  }
  return {field};
}

}  // namespace dmlop
