// SPDX-License-Identifier: Apache-2.0
// Finds the files that the cases of a batch read and write, moves outputs to another folder, and
// checks that no case depends on when another one runs.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "app/files/manifest.h"

namespace dmlop {

struct BatchSettings;

// A file that a line binds.
struct FileBinding {
  std::string path;    // including the manifest's folder
  std::string tensor;  // such as "InputTensor" or "OutputTensors[1]"
  int64_t line = 0;
  bool is_output = false;
  bool is_values = false;    // which are bound in place of a file, and the path is empty
  bool is_expected = false;  // the line has values that are expected of it
};

// Calls `visit` for each binding, in the manifest's order, and rewinds the manifest. Unreadable
// lines bind nothing.
void ForEachBinding(Manifest& manifest, const std::function<void(const FileBinding&)>& visit);

// Throws an Error of kind kUsage if a file that one case writes is written or read by another, or
// if a case uses the report (empty: none) or the manifest. Rewinds the manifest.
void RequireSeparateFiles(Manifest& manifest, const std::string& report,
                          const BatchSettings& settings);

// A folder that replaces the common folder of all outputs of a manifest.
class OutputFolder {
 public:
  OutputFolder() = default;  // leaves every path as it is
  OutputFolder(Manifest& manifest, const std::string& folder);

  // Finds the outputs that are to be read. Throws an Error of kind kFileSystem if their folder does
  // not exist; otherwise each of them would report it. Cases that have all their outputs in one
  // folder may have come back with it: if the outputs are not in the new folder, but are there by
  // the paths that they have from the manifest's, these are taken.
  void FindOutputs(Manifest& manifest, bool is_check);

  const std::string& folder() const { return folder_; }  // empty if paths are left as they are

  // The new path of an output that is bound to `path`.
  std::string Moved(const std::string& path) const;

 private:
  bool HasOutputs(Manifest& manifest) const;
  void TakePathsFromManifest(Manifest& manifest);

  std::string folder_;
  std::string common_;
};

}  // namespace dmlop
