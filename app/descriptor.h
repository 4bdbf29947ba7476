// The DESCRIPTOR argument: a path, "-" for standard input, or the JSON text itself.
#pragma once

#include <memory>
#include <string>

#include "app/options.h"
#include "core/document/operator_document.h"

namespace dmlop {

struct Descriptor {
  std::string name;    // for messages
  std::string folder;  // what its bindings are relative to
  std::string text;
};

Descriptor ReadDescriptor(const std::string& argument);

// Parses and reads the document, complete or with diagnostics; null when it is not well-formed or
// its operator is not known.
std::unique_ptr<OperatorDocument> ReadOperator(const Descriptor& descriptor,
                                               Diagnostics& diagnostics);

}  // namespace dmlop
