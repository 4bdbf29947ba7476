// SPDX-License-Identifier: Apache-2.0
// Files for writing: outputs, which appear whole or not at all, their folders, and scratch files.
#pragma once

#include <sys/stat.h>

#include <cstddef>
#include <filesystem>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <unordered_set>
#include <vector>

#include "core/io/temporary_file.h"
#include "core/tensor/tensor.h"

namespace dmlop {

// A file that is written in parts, or through a mapping.
class WritableFile {
 public:
  // Reserves the space on the disk, so that a full disk is an error before the work is done, and
  // not a signal while the file is mapped. Measured on ext4: without this, a small file replaces
  // another in 0.1 ms, with it in 4 ms.
  void Reserve();

  // Writes a part of the file.
  void Write(size_t begin, std::span<const std::byte> bytes);

  // Reads what was written from `begin` on. Returns how many bytes, fewer only at the end.
  size_t Read(size_t begin, std::span<std::byte> bytes) const;

  // Maps the first `size` bytes into memory, all of which are reserved or written; what was not
  // written is zero. Later calls return the same bytes.
  std::span<std::byte> Map(size_t size);
  std::span<std::byte> bytes() { return Map(size_); }

 protected:
  WritableFile(std::string name, TemporaryFile file, size_t size)
      : name_(std::move(name)), file_(std::move(file)), size_(size) {}
  WritableFile(WritableFile&&) noexcept = default;
  ~WritableFile() = default;

  std::string name_;  // name for messages
  TemporaryFile file_;
  std::unique_ptr<MappedFile> mapping_;

 private:
  size_t size_;
};

// A file in the folder for temporary files (TMPDIR, else /var/tmp), for data that may not fit into
// memory. It vanishes with the object, or with the process.
class ScratchFile : public WritableFile {
 public:
  explicit ScratchFile(size_t size);

 private:
  ScratchFile(const std::string& folder, size_t size);
};

// A file that appears as a whole or not at all: the bytes go to a temporary file in the target's
// folder, which replaces the target when an OutputSet publishes it. It takes over permissions,
// owner, group and attributes of the file that it replaces.
class OutputFile : public WritableFile {
 public:
  // Follows a symbolic link: the file that it names is the target.
  OutputFile(const std::string& path, size_t size);

 private:
  friend class OutputSet;

  struct Target {
    std::string path;
    std::string folder;
    std::optional<struct stat> replaced;  // status when it was found
  };
  OutputFile(const std::string& path, Target target, size_t size);
  static Target FindTarget(const std::string& path);

  // Ends writing, and reports errors that the file system reports late.
  void Close();

  // Ensures that the bytes are on the disk.
  void Flush() const;
  dev_t DeviceOf() const;
  void FlushDevice() const;

  // Moves the closed file to its target. With `is_last`, nothing will be undone.
  void Publish(bool is_last);

  // After Publish: Undo restores everything, Keep makes it final; neither fails.
  void Undo();
  void Keep();

  bool FindReplaced();
  void TakeAfter(const struct stat& replaced) const;
  bool Create();
  void Replace(bool is_last);
  bool Exchange() const;
  void SetAside();

  enum class State { kTemporary, kCreated, kExchanged, kSetAside };

  Target target_;
  State state_ = State::kTemporary;
  std::string old_path_;  // name of what was replaced, once it is set aside
};

// Files that appear together, all of them or none.
class OutputSet {
 public:
  // Ends writing the file, and adds it.
  void Add(OutputFile file);

  // Call once. A failure leaves every target as it was. With `synced`, not even a crash of the
  // machine undoes this afterwards, and after an earlier crash every target is intact.
  void Publish(bool synced = false);

  // The two halves of `synced`, before and after Publish, for many sets at once.
  static void FlushFiles(std::span<OutputSet* const> sets);
  static void FlushFolders(std::span<OutputSet* const> sets);

 private:
  std::vector<OutputFile> files_;
};

// Makes folders, and removes those at the end that have stayed empty. Any thread may make one.
class NewFolders {
 public:
  NewFolders() = default;
  NewFolders(const NewFolders&) = delete;
  NewFolders& operator=(const NewFolders&) = delete;
  ~NewFolders();

  // Makes the folder of a path, and those above it. Throws an Error of kind kFileSystem.
  void MakeFor(const std::string& path);

 private:
  std::mutex mutex_;
  // The folders that were made or found, so that the system is asked once for each.
  std::unordered_set<std::string> there_;
  std::vector<std::string> made_;
};

// --- spools --------------------------------------------------------------------------------------

// Bytes that arrive in parts: in memory or, if there may be many, on the disk.

// Less than this is kept in memory, more in a file.
inline constexpr size_t kLargeFile = size_t{16} << 20;

class Spool {
 public:
  // Takes at most `limit` bytes. Only what is appended takes space on the disk.
  explicit Spool(size_t limit);

  void Append(std::span<const std::byte> part);

  // Returns all that was appended, 64-byte aligned; nothing may be appended afterwards.
  std::span<const std::byte> bytes();

 private:
  Buffer buffer_;
  std::optional<ScratchFile> file_;
  size_t size_ = 0;
};

}  // namespace dmlop
