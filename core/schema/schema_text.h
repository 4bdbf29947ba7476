// SPDX-License-Identifier: Apache-2.0
// The JSON Schema (draft 2020-12) of operator descriptors and DxDispatch models, generated from the
// lists of fields and names that their readers use.
#pragma once

#include <string>

namespace dmlop {

std::string SchemaText();

}  // namespace dmlop
