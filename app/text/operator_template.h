// A small descriptor of an operator that is valid and runs: to begin with, and as an example.
#pragma once

#include <string>

#include "core/document/document_json.h"
#include "core/ops/operator.h"

namespace dmlop {

// "type", "desc" and, where there are inputs, "bindings".
Json ExampleJson(const OperatorInfo& info);

// The same as text, a field a line.
std::string ExampleText(const OperatorInfo& info);

// The same with what each field means in comments, and in comments, too, what may be left out.
std::string TemplateText(const OperatorInfo& info);

}  // namespace dmlop
