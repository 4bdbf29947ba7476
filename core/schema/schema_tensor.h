// The schema of tensor descs.
#pragma once

#include <string>

#include "core/schema/schema_parts.h"
#include "core/tensor/tensor_desc.h"

namespace dmlop {

// Defines "input-tensor" and "output-tensor", or those of models.
void DefineTensors(const SchemaDialect& dialect, Json& definitions);
std::string TensorDefinition(const SchemaDialect& dialect, TensorRole role);

// Conditions on a tensor: it states type and sizes; it states sizes; it states its type; it has the
// given type.
Json CompleteTensor();
Json SizedTensor();
Json TypedTensor();
Json TensorOfType(DataType type);

}  // namespace dmlop
