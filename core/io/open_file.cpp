// SPDX-License-Identifier: Apache-2.0
#include "core/io/open_file.h"

#include <fmt/format.h>
#include <sys/mman.h>

#include <cstring>

#include "core/base/error.h"

namespace dmlop {
namespace {

void* Map(int descriptor, size_t size, int protection, int flags, const std::string& name) {
  void* address = mmap(nullptr, size, protection, flags, descriptor, 0);
  if (address == MAP_FAILED) FailFile(name, "cannot be mapped", errno);
  return address;
}

}  // namespace

void FailFile(const std::string& name, std::string_view what, int error) {
  throw Error(ErrorKind::kFileSystem, fmt::format("{}: {}: {}", name, what, std::strerror(error)));
}

MappedFile::MappedFile(int descriptor, size_t size, int protection, int flags,
                       const std::string& name)
    : address_(Map(descriptor, size, protection, flags, name)),
      size_(size),
      range_(address_, size, name) {}

MappedFile::~MappedFile() {
  munmap(address_, size_);
}

}  // namespace dmlop
