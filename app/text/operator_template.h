// SPDX-License-Identifier: Apache-2.0
// A small descriptor of an operator that is valid and runs: a starting point and an example.
#pragma once

#include <string>

#include "core/document/document_json.h"
#include "core/ops/operator.h"

namespace dmlop {

// An object with "type", "desc" and, if there are inputs, "bindings".
Json ExampleJson(const OperatorInfo& info);

// The example as text, one field per line.
std::string ExampleText(const OperatorInfo& info);

// The example with comments that explain each field; optional fields are commented out.
std::string TemplateText(const OperatorInfo& info);

}  // namespace dmlop
