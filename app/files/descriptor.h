// The DESCRIPTOR argument: a path, "-" for standard input, or the JSON text itself.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "app/files/confinement.h"
#include "app/options/options.h"
#include "core/base/error.h"
#include "core/document/operator_document.h"
#include "core/model/model_document.h"

namespace dmlop {

struct Descriptor {
  std::string name;    // for messages
  std::string folder;  // what its bindings are relative to
  std::string text;
  std::string path{};  // of the file that it was read from; empty: none
};

// Whether the argument is the JSON text itself: it begins with a brace, or with blanks or a comment
// before one.
bool IsJsonText(const std::string& argument);

// The fault of a document that could not be opened, with a word of the operator where its path is
// the name of one, or nearly so.
Error WithOperatorHint(const Error& error, const std::string& path);

// With a line, the argument is a manifest, and the case in that line the descriptor.
Descriptor ReadDescriptor(const std::string& argument, std::optional<int64_t> line = std::nullopt);

// Throws an Error of kind kUsage when standard input is both the descriptor and one of the files.
void RequireOneReader(const std::string& argument, const std::vector<std::string>& files);

// What the text is: an operator descriptor or a DxDispatch model; neither when it is not
// well-formed, its operator is not known or it names files outside of where it may, which is
// reported.
struct Document {
  std::unique_ptr<OperatorDocument> op;
  std::unique_ptr<ModelDocument> model;
};

Document ReadDocument(const Descriptor& descriptor, FeatureLevel level,
                      const Confinement& confinement, Diagnostics& diagnostics);

}  // namespace dmlop
