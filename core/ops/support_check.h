// What a feature level takes of an operator.
#pragma once

#include "core/base/diagnostic.h"
#include "core/ops/operator.h"

namespace dmlop {

// The table in force for the descriptor; null while the field that it depends on is left out.
const SupportTable* SupportFor(const OperatorDesc& op);

// Reports an operator that the level does not have, as it is there only since another.
void RequireLevel(const OperatorDesc& op, FeatureLevel since, std::string_view pointer,
                  FeatureLevel level, Diagnostics& diagnostics);

// Whether no level takes any other type of a variable.
bool HasOneType(const OperatorDesc& op, TypeVariable variable);

// Reports the operator, types, ranks and enumerators that the level does not have.
void CheckSupport(const OperatorDesc& op, FeatureLevel level, Diagnostics& diagnostics);

}  // namespace dmlop
