// SPDX-License-Identifier: Apache-2.0
#include "core/ops/support.h"

namespace dmlop {

const SupportRow* RowAt(const SupportTable& table, FeatureLevel level) {
  const SupportRow* in_force = nullptr;
  for (const SupportRow& row : table.rows) {
    if (row.since <= level) in_force = &row;
  }
  return in_force;
}

}  // namespace dmlop
