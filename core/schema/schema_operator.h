// The schema of operators, with their fields and all other members of their objects.
#pragma once

#include "core/schema/schema_parts.h"

namespace dmlop {

// Defines "operator" or "model-operator", and its parts. DefineBindings must come first.
void DefineOperators(const SchemaDialect& dialect, Json& definitions);

}  // namespace dmlop
