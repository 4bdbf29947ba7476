// The schema of tensor descs.
#pragma once

#include <string>

#include "core/schema/schema_parts.h"
#include "core/tensor/tensor_desc.h"

namespace dmlop {

// "input-tensor" and "output-tensor", or those of models.
void DefineTensors(const SchemaDialect& dialect, Json& definitions);
std::string TensorDefinition(const SchemaDialect& dialect, TensorRole role);

// Conditions on a tensor: its type and its sizes are stated, or one of them; its type is that one.
Json CompleteTensor();
Json SizedTensor();
Json TypedTensor();
Json TensorOfType(DataType type);

}  // namespace dmlop
