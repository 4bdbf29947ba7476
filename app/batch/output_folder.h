// Another folder for all outputs of a batch.
#pragma once

#include <string>

#include "app/files/manifest.h"

namespace dmlop {

// A folder in place of the one that lies above all outputs of a manifest.
class OutputFolder {
 public:
  OutputFolder() = default;  // leaves every path as it is
  OutputFolder(Manifest& manifest, const std::string& folder);

  // Throws an Error of kind kFileSystem where outputs are to be read from a folder that is not
  // there, which would be told of each of them: this one or, if it is empty, that which lies above
  // all outputs. Of a check, those with expected values in their lines are not read.
  void RequireThere(Manifest& manifest, bool is_check) const;

  const std::string& folder() const { return folder_; }  // empty: every path is left

  // Where an output that is bound to `path` is then.
  std::string Moved(const std::string& path) const;

 private:
  std::string folder_;
  std::string common_;
};

}  // namespace dmlop
