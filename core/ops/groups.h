// SPDX-License-Identifier: Apache-2.0
// Groups of operators by what they do, for users who look for one.
#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "core/ops/operator.h"

namespace dmlop {

struct OperatorGroup {
  std::string_view name;   // "reduction"
  std::string_view title;  // a short description
  std::vector<const OperatorInfo*> operators = {};
};

// Each operator is in exactly one group.
std::span<const OperatorGroup> OperatorGroups();

}  // namespace dmlop
