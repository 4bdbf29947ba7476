// The schema of operators, with their fields and whatever else stands in their objects.
#pragma once

#include "core/schema/schema_parts.h"

namespace dmlop {

// "operator" or "model-operator", and what it is made of. DefineBindings comes first.
void DefineOperators(const SchemaDialect& dialect, Json& definitions);

}  // namespace dmlop
