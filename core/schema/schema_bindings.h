// The schema of values that a descriptor binds to its tensors.
#pragma once

#include <vector>

#include "core/ops/operator.h"
#include "core/schema/schema_parts.h"

namespace dmlop {

// Defines "input-binding" and "output-binding", and what the rules need. DefineValues must come
// first.
void DefineBindings(Json& definitions);

// Returns the schema of "bindings".
Json BindingsSchema(const SchemaDialect& dialect, const std::vector<const Field*>& fields);

// Returns the schema of "expect".
Json ExpectedSchema(const SchemaDialect& dialect, const std::vector<const Field*>& fields);

// Returns the rules between the tensors of a descriptor and the values that it binds or expects.
Json BindingRules(const std::vector<const Field*>& fields);

}  // namespace dmlop
