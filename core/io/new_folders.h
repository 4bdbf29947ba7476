// Folders that outputs need and that are not there yet.
#pragma once

#include <filesystem>
#include <mutex>
#include <string>
#include <vector>

namespace dmlop {

// Folders that are taken away again at the end where nothing came to be in them. Any thread may
// make one.
class NewFolders {
 public:
  NewFolders() = default;
  NewFolders(const NewFolders&) = delete;
  NewFolders& operator=(const NewFolders&) = delete;
  ~NewFolders();

  // Makes the folder that a path leads into, and those above it, where there is none. Throws an
  // Error of kind kFileSystem.
  void MakeFor(const std::string& path);

 private:
  std::mutex mutex_;
  std::vector<std::filesystem::path> made_;  // those above come first
};

}  // namespace dmlop
