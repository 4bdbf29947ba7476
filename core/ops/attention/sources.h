// Which elements of its inputs attention computes an element from.
#pragma once

#include <vector>

#include "core/ops/operator.h"

namespace dmlop::attention {

std::vector<SourceMap> Sources(const OperatorDesc& op);

}  // namespace dmlop::attention
