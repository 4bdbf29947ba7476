// The schema of what a descriptor binds to its tensors.
#pragma once

#include <vector>

#include "core/ops/operator.h"
#include "core/schema/schema_parts.h"

namespace dmlop {

// "input-binding" and "output-binding", and what the rules need. DefineValues comes first.
void DefineBindings(Json& definitions);

// The value of "bindings".
Json BindingsSchema(const SchemaDialect& dialect, const std::vector<const Field*>& fields);

// The value of "expect".
Json ExpectedSchema(const SchemaDialect& dialect, const std::vector<const Field*>& fields);

// What must hold between the tensors of a descriptor and the values that it binds or expects.
Json BindingRules(const std::vector<const Field*>& fields);

}  // namespace dmlop
