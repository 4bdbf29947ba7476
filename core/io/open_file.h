// SPDX-License-Identifier: Apache-2.0
// Open and mapped files, for the parts of core/io that call the system.
#pragma once

#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "core/io/signals.h"

namespace dmlop {

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

}  // namespace dmlop
