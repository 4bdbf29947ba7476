// SPDX-License-Identifier: Apache-2.0
// Makes a changed descriptor valid by changing what contradicts the change.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include "core/ops/operator.h"

namespace dmlop {

// Completes the descriptor. The paths of `kept` lead to numbers that stay, with what they were
// before the change. The numbers that a message names are tried in place of the wrong one; sizes
// that were equal to one that is kept, or multiples of it, are tried to follow it. Returns nothing
// if that does not lead to a valid descriptor with so many tries. The result depends on the
// arguments only.
std::optional<OperatorDesc> Repaired(const OperatorDesc& op,
                                     const std::map<std::string, int64_t>& kept, FeatureLevel level,
                                     int most_tries = 120);

}  // namespace dmlop
