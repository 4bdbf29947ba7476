// SPDX-License-Identifier: Apache-2.0
// Finds the tensor files below a folder, and the arrays of archives.
#pragma once

#include <filesystem>
#include <map>
#include <set>
#include <string>

#include "app/options/options.h"
#include "core/base/error.h"

namespace dmlop {

// Files and folders that cannot be read, by name, with the reason.
using Unreadable = std::map<std::string, Error>;

// Skips links that lead back, which would never end. Raw files are found even if `raw` does not
// describe them.
class FolderSearch {
 public:
  FolderSearch(const RawForm& raw, Unreadable& unreadable) : raw_(raw), unreadable_(unreadable) {}

  // Throws the Error of the folder itself.
  std::set<std::string> FilesBelow(const std::string& folder);

 private:
  void AddBelow(const std::filesystem::path& folder, const std::string& name, int depth);
  void AddEntry(const std::filesystem::directory_entry& entry, const std::string& name, int depth);
  void AddFile(const std::string& path, const std::string& name, std::filesystem::file_type type);
  void AddArrays(const std::string& archive, const std::string& name);
  void Refuse(const std::string& name, const std::string& message);

  const RawForm& raw_;
  Unreadable& unreadable_;
  std::set<std::string> names_;
};

}  // namespace dmlop
