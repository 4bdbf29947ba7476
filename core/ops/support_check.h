// SPDX-License-Identifier: Apache-2.0
// Checks an operator against a feature level.
#pragma once

#include "core/base/diagnostic.h"
#include "core/ops/operator.h"

namespace dmlop {

// Returns the table for the descriptor; null if the field that selects the table is left out.
const SupportTable* SupportFor(const OperatorDesc& op);

// Reports an operator that needs a later level than `level`.
void RequireLevel(const OperatorDesc& op, FeatureLevel since, std::string_view pointer,
                  FeatureLevel level, Diagnostics& diagnostics);

// Returns whether no level allows a second type for the variable.
bool HasOneType(const OperatorDesc& op, TypeVariable variable);

// Reports an operator, types, ranks and enumerators that the level does not support.
void CheckSupport(const OperatorDesc& op, FeatureLevel level, Diagnostics& diagnostics);

}  // namespace dmlop
