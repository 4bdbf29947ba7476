// SPDX-License-Identifier: Apache-2.0
// Files that vanish with the object, or with the process, unless they are given a place.
#pragma once

#include <sys/types.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

#include "core/io/signals.h"

namespace dmlop {

// --- open files ----------------------------------------------------------------------------------

// Throws an Error of kind kFileSystem, with the text of the error number.
[[noreturn]] void FailFile(const std::string& name, std::string_view what, int error);

// A file descriptor that closes itself.
class OpenFile {
 public:
  explicit OpenFile(int descriptor) : descriptor_(descriptor) {}
  OpenFile(OpenFile&& other) noexcept : descriptor_(other.Release()) {}
  OpenFile& operator=(const OpenFile&) = delete;
  ~OpenFile() {
    if (descriptor_ >= 0) close(descriptor_);
  }

  int get() const { return descriptor_; }
  int Release() { return std::exchange(descriptor_, -1); }

  // Closes it now, and reports errors that the file system reports late.
  void Close(const std::string& name) {
    if (close(Release()) != 0) FailFile(name, "cannot be written", errno);
  }

 private:
  int descriptor_;
};

// Calls `read_rest` with the number of bytes read so far until all are read, or the file ends;
// returns that number.
template <typename ReadRest>
size_t ReadFully(size_t size, const std::string& name, ReadRest&& read_rest) {
  size_t done = 0;
  while (done < size) {
    const ssize_t count = read_rest(done);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) FailFile(name, "cannot be read", errno);
    if (count == 0) break;
    done += static_cast<size_t>(count);
  }
  return done;
}

// Calls `write_rest` with the number of bytes written so far until all are written.
template <typename WriteRest>
void WriteFully(size_t size, const std::string& name, WriteRest&& write_rest) {
  size_t done = 0;
  while (done < size) {
    const ssize_t count = write_rest(done);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) FailFile(name, "cannot be written", errno);
    done += static_cast<size_t>(count);
  }
}

// A memory-mapped file. The descriptor may be closed meanwhile.
class MappedFile {
 public:
  MappedFile(int descriptor, size_t size, int protection, int flags, const std::string& name);
  MappedFile(const MappedFile&) = delete;
  MappedFile& operator=(const MappedFile&) = delete;
  ~MappedFile();

  std::span<std::byte> bytes() const { return {static_cast<std::byte*>(address_), size_}; }

 private:
  void* address_;
  size_t size_;
  MappedRange range_;
};

// --- temporary files -----------------------------------------------------------------------------

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
