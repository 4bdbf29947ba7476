// Documents of strangers: the files that they name must lie in a folder.
//
//   DOC-5   a file leads out of the folder that --confine names
#pragma once

#include <string>

#include "core/document/operator_document.h"
#include "core/model/model_document.h"

namespace dmlop {

struct Confinement {
  std::string folder{};         // empty: files may lie anywhere
  std::string input_folder{};   // what a model's files are relative to; empty: the model's own
  std::string output_folder{};  // the same of those that it writes; empty: the current one
};

// Reports the files that a document names, not those of the command line, where they lead out of
// the folder; true where none does. Links are followed. Nothing is opened; what becomes of the
// folder later is not known.
bool CheckConfinement(const OperatorDocument& document, const Confinement& confinement,
                      Diagnostics& diagnostics);
bool CheckConfinement(const ModelDocument& model, const Confinement& confinement,
                      const std::string& model_folder, Diagnostics& diagnostics);

// Whether a file may be used whose name the program makes of one in the document: it lies in the
// folder, or in that of the outputs which the command line names; reported where not.
bool MayDerive(const std::string& path, const Confinement& confinement, JsonCursor place,
               Diagnostics& diagnostics);

// Whether the model may open the file; reported where not.
bool MayOpen(const std::string& path, const Confinement& confinement, JsonCursor place,
             Diagnostics& diagnostics);

}  // namespace dmlop
