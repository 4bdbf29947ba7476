// SPDX-License-Identifier: Apache-2.0
// The files that a command uses and their roles: it must not write what it reads.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/document/operator_document.h"
#include "core/io/file.h"
#include "core/model/model_document.h"

namespace dmlop {

// One use of a file, which is identified by a hash, so that many uses take little memory.
struct FileUse {
  std::array<uint64_t, 2> file;
  int64_t owner = 0;  // the case that uses it; 0 for the command itself
  bool writes = false;
  bool is_tensor = false;
  // Identifies the name of a file that may share its content with others under other names, which
  // replacing one leaves as they are; 0 for all other files.
  uint32_t own_name = 0;

  auto operator<=>(const FileUse&) const = default;
};

struct NamedUse {
  FileUse use;
  std::string path;
  std::string role;  // such as "InputTensor" or "the report"
};

// Null for a device, a pipe or a missing path. When read, "-" is standard input, perhaps a file.
std::optional<NamedUse> UseOf(const std::string& path, const std::string& role, FileUse use,
                              FileIdentities& identities);

// The pair of uses that exclude each other of which the later use comes first. A file that is
// written has no other use, except that a case may write a tensor over one of its own.
std::optional<std::pair<FileUse, FileUse>> FindConflict(std::vector<FileUse> uses);

// Returns text such as "x.npy is read as InputTensor and would be written as the report".
std::string ConflictText(const NamedUse& first, const NamedUse& second);

// The files of a command that has a single case.
class FileRoles {
 public:
  // Ignores empty paths.
  void Reads(const std::string& path, const std::string& role) { Add(path, role, false, false); }
  void ReadsTensor(const std::string& path, const std::string& role) {
    Add(path, role, false, true);
  }
  void Writes(const std::string& path, const std::string& role) { Add(path, role, true, false); }
  void WritesTensor(const std::string& path, const std::string& role) {
    Add(path, role, true, true);
  }

  // Throws an Error of kind kUsage if two uses exclude each other.
  void RequireSeparate() const;

 private:
  void Add(const std::string& path, const std::string& role, bool writes, bool is_tensor);

  std::vector<NamedUse> uses_;
};

// --- confinement ---------------------------------------------------------------------------------

// Untrusted documents: the files that they name must lie in a folder.
//
//  DOC-5   a file leads out of the folder that --confine names

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

// Returns whether a file may be used whose name is derived from one in the document: it must lie in
// the folder, or in the output folder of the command line. Reports it otherwise.
bool MayDerive(const std::string& path, const Confinement& confinement, JsonCursor place,
               Diagnostics& diagnostics);

// Returns whether the model may open the file. Reports it otherwise.
bool MayOpen(const std::string& path, const Confinement& confinement, JsonCursor place,
             Diagnostics& diagnostics);

}  // namespace dmlop
