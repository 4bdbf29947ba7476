// SPDX-License-Identifier: Apache-2.0
// The DESCRIPTOR argument: a path, "-" for standard input, or the JSON text itself.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "app/exit_status.h"
#include "app/files/file_roles.h"
#include "app/options/options.h"
#include "core/base/error.h"
#include "core/document/operator_document.h"
#include "core/model/model_document.h"

namespace dmlop {

struct Descriptor {
  std::string name;    // for messages
  std::string folder;  // its bindings are relative to it
  std::string text;
  std::string path{};  // of the file that it was read from; empty if none
};

// True if the argument is JSON text: it begins with a brace, possibly after blanks or a comment.
bool IsJsonText(const std::string& argument);

// The fault of a document that could not be opened, with a word of the operator where its path is
// the name of one, or nearly so.
Error WithOperatorHint(const Error& error, const std::string& path);

// If `line` is set, the argument is a manifest, and the case in that line is the descriptor.
Descriptor ReadDescriptor(const std::string& argument, std::optional<int64_t> line = std::nullopt);

// Throws an Error of kind kUsage if standard input is both the descriptor and one of the files.
void RequireOneReader(const std::string& argument, const std::vector<std::string>& files);

// The parsed text: an operator descriptor or a DxDispatch model. Both are null if it is not
// well-formed, has an unknown operator or names files outside the confinement, which is reported.
struct Document {
  std::unique_ptr<OperatorDocument> op;
  std::unique_ptr<ModelDocument> model;
};

// Throws an Error of kind kUsage if there are sizes, which are of ONNX models, for an operator.
Document ReadDocument(const Descriptor& descriptor, FeatureLevel level,
                      const Confinement& confinement, Diagnostics& diagnostics,
                      const ModelSizes& sizes = {});

// Prints what is found in a document, and returns its status.
ExitStatus TellDiagnostics(const Diagnostics& diagnostics, const Descriptor& descriptor,
                           const CommonOptions& common);

// --- options that suit only one kind of document -------------------------------------------------

// Throws an Error of kind kUsage for options that bind an operator's tensors. The text begins as
// "-i is"; `way` is what a model has instead.
[[noreturn]] void RefuseForModel(std::string_view options_are, std::string_view way = "");

// Throws an Error of kind kUsage for folders of a model. The text begins as "--input-path is";
// `instead` names the options to use.
[[noreturn]] void RefuseForOperator(std::string_view folders_are, std::string_view instead);

}  // namespace dmlop
