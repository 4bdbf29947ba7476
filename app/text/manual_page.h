// SPDX-License-Identifier: Apache-2.0
// The manual page of a group of operators, in mdoc(7).
#pragma once

#include <string>

#include "core/ops/groups.h"

namespace dmlop {

std::string ManualPage(const OperatorGroup& group);

}  // namespace dmlop
