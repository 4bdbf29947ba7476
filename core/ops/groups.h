// The operators by what they do, for people who look for one.
#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "core/ops/operator.h"

namespace dmlop {

struct OperatorGroup {
  std::string_view name;   // "reduction"
  std::string_view title;  // what is in it
  std::vector<const OperatorInfo*> operators = {};
};

// Each operator is in one.
std::span<const OperatorGroup> OperatorGroups();

}  // namespace dmlop
