// SPDX-License-Identifier: Apache-2.0
// Untrusted documents: the files that they name must lie in a folder.
//
//  DOC-5   a file leads out of the folder that --confine names
#pragma once

#include <string>

#include "core/document/operator_document.h"
#include "core/model/model_document.h"

namespace dmlop {

struct Confinement {
  std::string folder{};         // empty if files may lie anywhere
  std::string input_folder{};   // base of a model's input files; empty: the model's own
  std::string output_folder{};  // base of the files that it writes; empty: the current one
};

// Reports the files that a document, rather than the command line, names outside the folder; true
// if there is none. Links are followed. Nothing is opened, and later changes of the folder are not
// noticed.
bool CheckConfinement(const OperatorDocument& document, const Confinement& confinement,
                      Diagnostics& diagnostics);
bool CheckConfinement(const ModelDocument& model, const Confinement& confinement,
                      const std::string& model_folder, Diagnostics& diagnostics);

// Whether a file may be used whose name is derived from one in the document: it must lie in the
// folder, or in the output folder of the command line. Reports it otherwise.
bool MayDerive(const std::string& path, const Confinement& confinement, JsonCursor place,
               Diagnostics& diagnostics);

// Whether the model may open the file. Reports it otherwise.
bool MayOpen(const std::string& path, const Confinement& confinement, JsonCursor place,
             Diagnostics& diagnostics);

}  // namespace dmlop
