// SPDX-License-Identifier: Apache-2.0
#include "core/io/new_folders.h"

#include <fmt/format.h>

#include <system_error>

#include "core/base/error.h"

namespace dmlop {

void NewFolders::MakeFor(const std::string& path) {
  const std::filesystem::path parent = std::filesystem::path(path).parent_path();
  const std::lock_guard lock(mutex_);
  if (there_.contains(parent.native())) return;
  std::filesystem::path folder;
  for (const std::filesystem::path& part : parent) {
    folder /= part;
    std::error_code error;
    if (std::filesystem::create_directory(folder, error)) made_.push_back(folder);
    if (error == std::errc::file_exists) error = std::make_error_code(std::errc::not_a_directory);
    if (error) {
      throw Error(ErrorKind::kFileSystem,
                  fmt::format("{}: cannot be created: {}", parent.string(), error.message()));
    }
  }
  there_.insert(parent.native());
}

NewFolders::~NewFolders() {
  std::error_code ignored;  // for example, a folder is not empty
  for (auto folder = made_.rbegin(); folder != made_.rend(); ++folder) {
    std::filesystem::remove(*folder, ignored);
  }
}

}  // namespace dmlop
