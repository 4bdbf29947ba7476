// Files that are gone with the object, or the process, unless they are put somewhere.
#pragma once

#include <sys/types.h>

#include <functional>
#include <memory>
#include <string>
#include <type_traits>

#include "core/io/open_file.h"

namespace dmlop {

// A path of the folder that nothing has. `try_path` is called with one after another; it makes the
// file and returns true, or false with errno. Any errno but EEXIST ends the search, with "".
std::string MakeHiddenFile(const std::string& folder,
                           const std::function<bool(const std::string&)>& try_path);

// A new file in a folder, open for reading and writing. Where the file system can do so (O_TMPFILE)
// it has no name, so that nothing of it can be left behind. Else it has a hidden one, which signals
// remove; and so it has where many files are open already: then it is opened whenever it is used.
class TemporaryFile {
 public:
  // `name` is for messages. The file's permissions are `mode` without the umask.
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

  // Ends writing. What the file system reports late is reported here.
  void Close();

  // False with errno. A file that is there already is not replaced.
  bool LinkTo(const std::string& path) const;

  bool has_name() const { return hidden_ != nullptr; }
  const std::string& hidden_path() const { return hidden_->get(); }

  // Gives it a hidden name, if it has none. False with errno.
  bool GiveName();

  // Leaves alone what has the hidden name, if anything has.
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
  bool is_counted_;  // among the files that stay open
  std::unique_ptr<TemporaryPath> hidden_;
};

}  // namespace dmlop
