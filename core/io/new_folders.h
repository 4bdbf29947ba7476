// SPDX-License-Identifier: Apache-2.0
// Folders that outputs need and that do not exist yet.
#pragma once

#include <filesystem>
#include <mutex>
#include <string>
#include <unordered_set>
#include <vector>

namespace dmlop {

// Makes folders, and removes those at the end that have stayed empty. Any thread may make one.
class NewFolders {
 public:
  NewFolders() = default;
  NewFolders(const NewFolders&) = delete;
  NewFolders& operator=(const NewFolders&) = delete;
  ~NewFolders();

  // Makes the folder of a path, and those above it, unless they exist. Throws an Error of kind
  // kFileSystem.
  void MakeFor(const std::string& path);

 private:
  std::mutex mutex_;
  // The folders that were made or found, so that threads wait for one another only once for each.
  std::unordered_set<std::string> there_;
  std::vector<std::filesystem::path> made_;  // outer ones come first
};

}  // namespace dmlop
