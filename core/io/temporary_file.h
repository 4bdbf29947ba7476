// SPDX-License-Identifier: Apache-2.0
// Files that vanish with the object, or with the process, unless they are given a place.
#pragma once

#include <sys/types.h>

#include <functional>
#include <memory>
#include <string>
#include <type_traits>

#include "core/io/open_file.h"

namespace dmlop {

// Returns an unused path in the folder. `try_path` is called with one after another; it makes the
// file and returns true, or false with errno. Any errno but EEXIST ends the search, and "" is
// returned.
std::string MakeHiddenFile(const std::string& folder,
                           const std::function<bool(const std::string&)>& try_path);

// A new file in a folder, open for reading and writing. If the file system supports it (O_TMPFILE),
// it has no name, so that nothing can be left behind. Otherwise it has a hidden one, which signals
// remove; so it has if many files are open already, and is then opened for each use.
class TemporaryFile {
 public:
  // `name` is for messages. The file's permissions are `mode` less the umask.
  TemporaryFile(std::string folder, mode_t mode, std::string name);
  TemporaryFile(TemporaryFile&& other) noexcept;
  TemporaryFile& operator=(TemporaryFile&&) = delete;
  ~TemporaryFile();

  // Calls `use` with a descriptor.
  template <typename Use>
  auto With(Use&& use) const {
    if (descriptor_ >= 0) return use(descriptor_);
    OpenFile file = OpenAgain();
    if constexpr (std::is_void_v<decltype(use(0))>) {
      use(file.get());
      file.Close(name_);
    } else {
      auto result = use(file.get());
      file.Close(name_);
      return result;
    }
  }

  // Ends writing, and reports errors that the file system reports late.
  void Close();

  // Returns false with errno on failure. An existing file is not replaced.
  bool LinkTo(const std::string& path) const;

  bool has_name() const { return hidden_ != nullptr; }
  const std::string& hidden_path() const { return hidden_->get(); }

  // Gives it a hidden name unless it has one. Returns false with errno on failure.
  bool GiveName();

  // Disowns the hidden name, if there is one; a file of that name stays.
  void GiveUpName() { hidden_.reset(); }

 private:
  OpenFile OpenAgain() const;
  bool CreateUnnamed(mode_t mode);
  void CreateHidden(mode_t mode);
  [[noreturn]] void FailToCreate(int error) const;
  void ReleaseDescriptor();

  std::string folder_;
  std::string name_;
  int descriptor_ = -1;
  bool is_counted_;  // whether it counts as a file that stays open
  std::unique_ptr<TemporaryPath> hidden_;
};

}  // namespace dmlop
