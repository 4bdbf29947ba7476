// The schema of DxDispatch models.
#pragma once

#include "core/schema/schema_parts.h"

namespace dmlop {

// "model", and what it is made of. DefineValues and the operators of models come first.
void DefineModel(Json& definitions);

}  // namespace dmlop
