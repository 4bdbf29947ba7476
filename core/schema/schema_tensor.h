// The schema of tensor descs.
#pragma once

#include <string>

#include "core/schema/schema_parts.h"
#include "core/tensor/tensor_desc.h"

namespace dmlop {

// "input-tensor" and "output-tensor", or those of models.
void DefineTensors(const SchemaDialect& dialect, Json& definitions);
std::string TensorDefinition(const SchemaDialect& dialect, TensorRole role);

// Conditions on a tensor: its type and sizes are stated; its type is that one.
Json CompleteTensor();

// The same with sizes alone.
Json SizedTensor();
Json TensorOfType(DataType type);

}  // namespace dmlop
