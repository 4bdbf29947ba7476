// SPDX-License-Identifier: Apache-2.0
#include "core/io/output_file.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/xattr.h>

#include <algorithm>
#include <cstdlib>
#include <map>
#include <set>
#include <string_view>
#include <system_error>

#include "core/base/error.h"
#include "core/io/file.h"

namespace dmlop {
namespace {

namespace fs = std::filesystem;

std::string TemporaryFolder() {
  const char* folder = std::getenv("TMPDIR");
  return folder != nullptr && *folder != '\0' ? folder : "/var/tmp";
}

// Returns whether an attribute was attached by people, or tells who else may use the file. Others
// follow from the content, or from the file's location.
bool IsKeptAttribute(std::string_view name) {
  return name.starts_with("user.") || name == "system.posix_acl_access";
}

// Copies extended attributes, as far as the file system supports them.
void CopyAttributes(const std::string& from, int to) {
  // A new file inherits this from its folder.
  fremovexattr(to, "system.posix_acl_access");
  const ssize_t size = listxattr(from.c_str(), nullptr, 0);
  if (size <= 0) return;
  std::vector<char> names(static_cast<size_t>(size));
  const ssize_t listed = listxattr(from.c_str(), names.data(), names.size());
  for (ssize_t at = 0; at < listed;) {
    const char* name = names.data() + at;
    at += static_cast<ssize_t>(std::string_view(name).size()) + 1;
    if (!IsKeptAttribute(name)) continue;
    const ssize_t length = getxattr(from.c_str(), name, nullptr, 0);
    if (length < 0) continue;
    std::vector<char> value(static_cast<size_t>(length));
    const ssize_t read = getxattr(from.c_str(), name, value.data(), value.size());
    if (read >= 0) fsetxattr(to, name, value.data(), static_cast<size_t>(read), 0);
  }
}

}  // namespace

void WritableFile::Reserve() {
  const int error = file_.With([&](int descriptor) {
    while (true) {
      const int result = posix_fallocate(descriptor, 0, static_cast<off_t>(size_));
      if (result != EINTR) return result;
    }
  });
  if (error != 0) FailFile(name_, "cannot be written", error);
}

void WritableFile::Write(size_t begin, std::span<const std::byte> bytes) {
  file_.With([&](int descriptor) {
    WriteFully(bytes.size(), name_, [&](size_t done) {
      return pwrite(descriptor, bytes.data() + done, bytes.size() - done,
                    static_cast<off_t>(begin + done));
    });
  });
}

size_t WritableFile::Read(size_t begin, std::span<std::byte> bytes) const {
  return file_.With([&](int descriptor) { return ReadAt(descriptor, begin, bytes, name_); });
}

std::span<std::byte> WritableFile::Map(size_t size) {
  if (!mapping_) {
    mapping_ = file_.With([&](int descriptor) {
      return std::make_unique<MappedFile>(descriptor, size, PROT_READ | PROT_WRITE, MAP_SHARED,
                                          name_);
    });
  }
  return mapping_->bytes();
}

ScratchFile::ScratchFile(size_t size) : ScratchFile(TemporaryFolder(), size) {}

ScratchFile::ScratchFile(const std::string& folder, size_t size)
    : WritableFile("a temporary file in " + folder,
                   TemporaryFile(folder, 0600, "a temporary file in " + folder), size) {}

OutputFile::Target OutputFile::FindTarget(const std::string& path) {
  struct stat status;
  const bool is_there = lstat(path.c_str(), &status) == 0;
  const bool is_link = is_there && S_ISLNK(status.st_mode);
  Target target{is_link ? FollowLinks(path) : path, "", std::nullopt};
  const fs::path parent = fs::path(target.path).parent_path();
  target.folder = parent.empty() ? "." : parent.string();
  if (!is_there || (is_link && stat(target.path.c_str(), &status) != 0)) return target;
  if (S_ISDIR(status.st_mode)) FailFile(path, "cannot be written", EISDIR);
  if (faccessat(AT_FDCWD, target.path.c_str(), W_OK, AT_EACCESS) != 0) {
    FailFile(path, "cannot be written", errno);
  }
  target.replaced = status;
  return target;
}

OutputFile::OutputFile(const std::string& path, size_t size)
    : OutputFile(path, FindTarget(path), size) {}

// Until the file has the permissions of what it replaces, nobody else may read it.
OutputFile::OutputFile(const std::string& path, Target target, size_t size)
    : WritableFile(path, TemporaryFile(target.folder, target.replaced ? 0600 : 0666, path), size),
      target_(std::move(target)) {}

void OutputFile::Close() {
  mapping_.reset();
  file_.Close();
}

void OutputFile::Flush() const {
  const int result = file_.With([](int descriptor) { return fdatasync(descriptor); });
  if (result != 0) FailFile(name_, "cannot be written", errno);
}

dev_t OutputFile::DeviceOf() const {
  struct stat status;
  const int result = file_.With([&](int descriptor) { return fstat(descriptor, &status); });
  if (result != 0) FailFile(name_, "cannot be written", errno);
  return status.st_dev;
}

void OutputFile::FlushDevice() const {
  const int result = file_.With([](int descriptor) { return syncfs(descriptor); });
  if (result != 0) FailFile(name_, "cannot be written", errno);
}

// Looks at the target again, which may have come or changed meanwhile. Returns whether it exists.
bool OutputFile::FindReplaced() {
  struct stat status;
  const bool is_there = stat(target_.path.c_str(), &status) == 0;
  if (is_there) target_.replaced = status;
  if (target_.replaced) TakeAfter(*target_.replaced);
  return is_there;
}

void OutputFile::TakeAfter(const struct stat& replaced) const {
  file_.With([&](int descriptor) {
    struct stat own;
    if (fstat(descriptor, &own) != 0) FailFile(name_, "cannot be written", errno);
    constexpr uid_t kSameUser = static_cast<uid_t>(-1);
    const bool same_group =
        own.st_gid == replaced.st_gid || fchown(descriptor, kSameUser, replaced.st_gid) == 0;
    const bool same_user = own.st_uid == replaced.st_uid ||
                           fchown(descriptor, replaced.st_uid, static_cast<gid_t>(-1)) == 0;
    mode_t mode = replaced.st_mode & 07777;
    if (!same_user) mode &= ~static_cast<mode_t>(S_ISUID);
    // The new file's group is another one, and gets no more rights than everybody.
    if (!same_group) mode = (mode & ~static_cast<mode_t>(S_ISGID | S_IRWXG)) | (mode & 07) << 3;
    if (same_group) CopyAttributes(target_.path, descriptor);
    if (fchmod(descriptor, mode) != 0 && (own.st_mode & 07777) != mode) {
      FailFile(name_, "cannot have the permissions of the file that it replaces", errno);
    }
  });
}

// Most targets are new, and their folder is asked for nothing but the name.
void OutputFile::Publish(bool is_last) {
  if (!target_.replaced && Create()) return;
  if (!FindReplaced()) {
    if (Create()) return;
    FindReplaced();  // somebody else was faster
  }
  Replace(is_last);
}

// Returns false if there is a file of that name.
bool OutputFile::Create() {
  state_ = State::kCreated;
  if (file_.LinkTo(target_.path)) return true;
  if (errno == EEXIST) {
    state_ = State::kTemporary;
    return false;
  }
  // Some file systems have no hard links.
  if (struct stat status; file_.has_name() && lstat(target_.path.c_str(), &status) == 0) {
    state_ = State::kTemporary;
    return false;
  }
  if (!file_.has_name() || rename(file_.hidden_path().c_str(), target_.path.c_str()) != 0) {
    state_ = State::kTemporary;
    FailFile(name_, "cannot be created", errno);
  }
  file_.GiveUpName();
  return true;
}

void OutputFile::Replace(bool is_last) {
  if (!file_.GiveName()) FailFile(name_, "cannot be created", errno);
  if (!is_last) {
    if (Exchange()) {
      state_ = State::kExchanged;
      return;
    }
    SetAside();
  }
  if (rename(file_.hidden_path().c_str(), target_.path.c_str()) != 0) {
    const int error = errno;
    Undo();
    FailFile(name_, "cannot be replaced", error);
  }
  file_.GiveUpName();
}

// Exchanges the temporary file and the target.
bool OutputFile::Exchange() const {
  return renameat2(AT_FDCWD, file_.hidden_path().c_str(), AT_FDCWD, target_.path.c_str(),
                   RENAME_EXCHANGE) == 0;
}

// Gives what will be replaced another name: one more or, without hard links, briefly the only one.
void OutputFile::SetAside() {
  old_path_ = MakeHiddenFile(target_.folder, [&](const std::string& hidden) {
    if (link(target_.path.c_str(), hidden.c_str()) == 0) return true;
    return errno != EEXIST && rename(target_.path.c_str(), hidden.c_str()) == 0;
  });
  if (old_path_.empty()) FailFile(name_, "cannot be replaced", errno);
  state_ = State::kSetAside;
}

void OutputFile::Undo() {
  if (state_ == State::kCreated) unlink(target_.path.c_str());
  if (state_ == State::kSetAside && rename(old_path_.c_str(), target_.path.c_str()) == 0) {
    unlink(old_path_.c_str());  // rename keeps two names of one file
  }
  if (state_ == State::kExchanged && !Exchange()) file_.GiveUpName();  // better two than none
  state_ = State::kTemporary;
}

void OutputFile::Keep() {
  if (state_ == State::kSetAside) unlink(old_path_.c_str());
  if (state_ != State::kTemporary && file_.has_name()) {
    unlink(file_.hidden_path().c_str());
    file_.GiveUpName();
  }
}

namespace {

// With more files on one file system, all of it is flushed at once.
constexpr size_t kFewFiles = 8;

void FlushFolder(const std::string& folder) {
  const OpenFile open_folder(open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  // A folder that may be written but not read cannot be flushed by itself.
  if (open_folder.get() < 0 && errno == EACCES) return sync();
  if (open_folder.get() < 0 || fsync(open_folder.get()) != 0) {
    FailFile(folder, "cannot be flushed to the disk", errno);
  }
}

}  // namespace

void OutputSet::Add(OutputFile file) {
  file.Close();
  files_.push_back(std::move(file));
}

void OutputSet::Publish(bool synced) {
  OutputSet* const self = this;
  if (synced) FlushFiles({&self, 1});
  {
    const SignalsHeld held;
    size_t published = 0;
    try {
      for (; published < files_.size(); ++published) {
        files_[published].Publish(published + 1 == files_.size());
      }
    } catch (...) {
      while (published > 0) files_[--published].Undo();
      throw;
    }
    for (OutputFile& file : files_) file.Keep();
  }
  if (synced) FlushFolders({&self, 1});
}

void OutputSet::FlushFiles(std::span<OutputSet* const> sets) {
  std::map<dev_t, std::vector<const OutputFile*>> devices;
  for (const OutputSet* set : sets) {
    for (const OutputFile& file : set->files_) devices[file.DeviceOf()].push_back(&file);
  }
  for (const auto& [device, files] : devices) {
    if (files.size() > kFewFiles) {
      files[0]->FlushDevice();
    } else {
      for (const OutputFile* file : files) file->Flush();
    }
  }
}

void OutputSet::FlushFolders(std::span<OutputSet* const> sets) {
  std::set<std::string> folders;
  for (const OutputSet* set : sets) {
    for (const OutputFile& file : set->files_) folders.insert(file.target_.folder);
  }
  for (const std::string& folder : folders) FlushFolder(folder);
}

void NewFolders::MakeFor(const std::string& path) {
  const std::filesystem::path parent = std::filesystem::path(path).parent_path();
  {
    const std::lock_guard lock(mutex_);
    if (there_.contains(parent.native())) return;
  }
  std::filesystem::path folder;
  for (const std::filesystem::path& part : parent) {
    folder /= part;
    std::error_code error;
    if (std::filesystem::create_directory(folder, error)) {
      const std::lock_guard lock(mutex_);
      made_.push_back(folder.native());
    }
    if (error == std::errc::file_exists) error = std::make_error_code(std::errc::not_a_directory);
    if (error) {
      throw Error(ErrorKind::kFileSystem, "{}: cannot be created: {}", parent.string(),
                  error.message());
    }
  }
  const std::lock_guard lock(mutex_);
  there_.insert(parent.native());
}

NewFolders::~NewFolders() {
  // Longer paths lie in shorter ones, whichever thread was the first to note its folder.
  std::sort(made_.begin(), made_.end(),
            [](const std::string& a, const std::string& b) { return a.size() > b.size(); });
  std::error_code ignored;  // for example, a folder is not empty
  for (const std::string& folder : made_) std::filesystem::remove(folder, ignored);
}

// --- spools --------------------------------------------------------------------------------------

Spool::Spool(size_t limit) {
  if (limit < kLargeFile) {
    buffer_ = Buffer(limit);
  } else {
    file_.emplace(limit);
  }
}

void Spool::Append(std::span<const std::byte> part) {
  if (file_) {
    file_->Write(size_, part);
  } else {
    std::copy(part.begin(), part.end(), buffer_.data() + size_);
  }
  size_ += part.size();
}

std::span<const std::byte> Spool::bytes() {
  if (file_ && size_ > 0) return file_->Map(size_);
  return buffer_.bytes().first(size_);
}

}  // namespace dmlop
