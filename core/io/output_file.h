// Files that are written: outputs, which appear whole or not at all, and scratch files.
#pragma once

#include <sys/stat.h>

#include <cstddef>
#include <memory>
#include <optional>
#include <span>
#include <string>

#include "core/io/temporary_file.h"

namespace dmlop {

// A file that is written in parts, or through memory that shows it.
class WritableFile {
 public:
  // Takes the space on the disk, so that a full disk is an error before the work is done, and not a
  // signal where the file is mapped. Measured on ext4: a small file that is written without this
  // replaces another in 0.1 ms, after it in 4 ms.
  void Reserve();

  // Writes a part of the file.
  void Write(size_t begin, std::span<const std::byte> bytes);

  // Reads what was written from there on. Fewer bytes only at the end; returns how many.
  size_t Read(size_t begin, std::span<std::byte> bytes) const;

  // The first `size` bytes mapped into memory, all of them reserved or written; zero where nothing
  // is written. Later calls give the same bytes.
  std::span<std::byte> Map(size_t size);
  std::span<std::byte> bytes() { return Map(size_); }

 protected:
  WritableFile(std::string name, TemporaryFile file, size_t size)
      : name_(std::move(name)), file_(std::move(file)), size_(size) {}
  WritableFile(WritableFile&&) noexcept = default;
  ~WritableFile() = default;

  std::string name_;  // for messages
  TemporaryFile file_;
  std::unique_ptr<MappedFile> mapping_;

 private:
  size_t size_;
};

// A file in the folder for temporary files (TMPDIR, else /var/tmp), for what may not fit into
// memory. It is gone with the object, or the process.
class ScratchFile : public WritableFile {
 public:
  explicit ScratchFile(size_t size);

 private:
  ScratchFile(const std::string& folder, size_t size);
};

// A file that appears complete or not at all: the bytes go to a temporary file in the target's
// folder, which takes the target's place when an OutputSet publishes it. What it replaces gives it
// permissions, owner, group and attributes.
class OutputFile : public WritableFile {
 public:
  // A symbolic link is followed: the file that it names is the target.
  OutputFile(const std::string& path, size_t size);

 private:
  friend class OutputSet;

  struct Target {
    std::string path;
    std::string folder;
    std::optional<struct stat> replaced;  // as it was found
  };
  OutputFile(const std::string& path, Target target, size_t size);
  static Target FindTarget(const std::string& path);

  // Ends writing. What the file system reports late is reported here.
  void Close();

  // Sees that the bytes are on the disk.
  void Flush() const;
  dev_t DeviceOf() const;
  void FlushDevice() const;

  // Puts the closed file in its place. `is_last`: nothing will be undone.
  void Publish(bool is_last);

  // After Publish: puts all back as it was, or ends what it began; neither fails.
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
  std::string old_path_;  // of what was replaced, once it is set aside
};

}  // namespace dmlop
