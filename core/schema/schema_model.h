// The schema of DxDispatch models.
#pragma once

#include "core/schema/schema_parts.h"

namespace dmlop {

// Defines "model" and its parts. DefineValues and the operators of models must come first.
void DefineModel(Json& definitions);

}  // namespace dmlop
