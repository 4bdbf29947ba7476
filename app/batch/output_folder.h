// SPDX-License-Identifier: Apache-2.0
// Moves all outputs of a batch to another folder.
#pragma once

#include <string>

#include "app/files/manifest.h"

namespace dmlop {

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
