// SPDX-License-Identifier: Apache-2.0
#include "core/io/temporary_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/resource.h>

#include <atomic>
#include <cstring>

#include "core/base/error.h"

namespace dmlop {
namespace {

std::atomic<size_t> kept_open = 0;

// Returns true if one more file may stay open. Half of those that the process may have are left to
// everything else. Raises the limit as far as possible when needed.
bool KeepOneMoreOpen() {
  const size_t count = ++kept_open;
  rlimit limit;
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0) return true;
  if (count > limit.rlim_cur / 2 && limit.rlim_cur < limit.rlim_max) {
    const rlimit raised = {limit.rlim_max, limit.rlim_max};
    if (setrlimit(RLIMIT_NOFILE, &raised) == 0) limit = raised;
  }
  if (count <= limit.rlim_cur / 2) return true;
  --kept_open;
  return false;
}

// Files without a name get one through /proc, which may be missing in a container.
bool CanNameLater() {
  static const bool can = access("/proc/self/fd", X_OK) == 0;
  return can;
}

}  // namespace

std::string MakeHiddenFile(const std::string& folder,
                           const std::function<bool(const std::string&)>& try_path) {
  // This is unpredictable enough for two simultaneous runs; an existing file is not taken.
  static std::atomic<unsigned> next = 0;
  while (true) {
    std::string path = fmt::format("{}/.dmlop-{}-{}.tmp", folder, getpid(), next++);
    if (try_path(path)) return path;
    if (errno != EEXIST) return "";
  }
}

TemporaryFile::TemporaryFile(std::string folder, mode_t mode, std::string name)
    : folder_(std::move(folder)), name_(std::move(name)), is_counted_(KeepOneMoreOpen()) {
  try {
    if (!is_counted_ || !CanNameLater() || !CreateUnnamed(mode)) CreateHidden(mode);
  } catch (...) {
    ReleaseDescriptor();
    throw;
  }
}

TemporaryFile::TemporaryFile(TemporaryFile&& other) noexcept
    : folder_(std::move(other.folder_)),
      name_(std::move(other.name_)),
      descriptor_(std::exchange(other.descriptor_, -1)),
      is_counted_(std::exchange(other.is_counted_, false)),
      hidden_(std::move(other.hidden_)) {}

TemporaryFile::~TemporaryFile() {
  ReleaseDescriptor();
  if (!hidden_) return;
  const SignalsHeld held;
  unlink(hidden_path().c_str());
}

bool TemporaryFile::CreateUnnamed(mode_t mode) {
  descriptor_ = open(folder_.c_str(), O_TMPFILE | O_RDWR | O_CLOEXEC, mode);
  return descriptor_ >= 0;
}

void TemporaryFile::CreateHidden(mode_t mode) {
  const SignalsHeld held;
  const std::string path = MakeHiddenFile(folder_, [&](const std::string& hidden) {
    descriptor_ = open(hidden.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, mode);
    return descriptor_ >= 0;
  });
  if (path.empty()) FailToCreate(errno);
  hidden_ = std::make_unique<TemporaryPath>(path);
  if (!is_counted_) close(std::exchange(descriptor_, -1));
}

void TemporaryFile::FailToCreate(int error) const {
  if (error != ENOENT || access(folder_.c_str(), F_OK) == 0) {
    FailFile(name_, "cannot be created", error);
  }
  throw Error(ErrorKind::kFileSystem, "{}: cannot be created: there is no folder {}", name_,
              folder_);
}

OpenFile TemporaryFile::OpenAgain() const {
  OpenFile file(open(hidden_path().c_str(), O_RDWR | O_NOFOLLOW | O_CLOEXEC));
  if (file.get() < 0) FailFile(name_, "cannot be written", errno);
  return file;
}

void TemporaryFile::ReleaseDescriptor() {
  if (descriptor_ >= 0) close(std::exchange(descriptor_, -1));
  if (std::exchange(is_counted_, false)) --kept_open;
}

void TemporaryFile::Close() {
  if (descriptor_ < 0) return;
  // A file without a name would vanish with its descriptor; closing a copy reports the same errors.
  OpenFile last(has_name() ? std::exchange(descriptor_, -1) : dup(descriptor_));
  last.Close(name_);
  if (has_name()) ReleaseDescriptor();
}

bool TemporaryFile::LinkTo(const std::string& path) const {
  const std::string from =
      has_name() ? hidden_path() : fmt::format("/proc/self/fd/{}", descriptor_);
  return linkat(AT_FDCWD, from.c_str(), AT_FDCWD, path.c_str(), AT_SYMLINK_FOLLOW) == 0;
}

bool TemporaryFile::GiveName() {
  if (has_name()) return true;
  const SignalsHeld held;
  const std::string path =
      MakeHiddenFile(folder_, [&](const std::string& hidden) { return LinkTo(hidden); });
  if (path.empty()) return false;
  hidden_ = std::make_unique<TemporaryPath>(path);
  return true;
}

// --- open files ----------------------------------------------------------------------------------

namespace {

void* Map(int descriptor, size_t size, int protection, int flags, const std::string& name) {
  void* address = mmap(nullptr, size, protection, flags, descriptor, 0);
  if (address == MAP_FAILED) FailFile(name, "cannot be mapped", errno);
  return address;
}

}  // namespace

void FailFile(const std::string& name, std::string_view what, int error) {
  throw Error(ErrorKind::kFileSystem, "{}: {}: {}", name, what, std::strerror(error));
}

MappedFile::MappedFile(int descriptor, size_t size, int protection, int flags,
                       const std::string& name)
    : address_(Map(descriptor, size, protection, flags, name)),
      size_(size),
      range_({static_cast<const std::byte*>(address_), size, name}) {}

MappedFile::~MappedFile() {
  munmap(address_, size_);
}

}  // namespace dmlop
