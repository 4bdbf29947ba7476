// Files as bytes: inputs are mapped, outputs are written beside their target and renamed into
// place.
#pragma once

#include <cstddef>
#include <initializer_list>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "core/io/signals.h"

namespace dmlop {

// Standard input or output, where a file is expected.
inline constexpr std::string_view kStandardStream = "-";

class MappedFile;

// The bytes of a file, for as long as the object lives. All failures are Errors of kind
// kFileSystem.
class InputFile {
 public:
  // Maps a regular file; reads anything else to its end, which must come within `stream_limit`
  // bytes.
  static InputFile Open(const std::string& path, size_t stream_limit = 0);

  std::span<const std::byte> bytes() const { return bytes_; }

 private:
  InputFile(std::span<const std::byte> bytes, std::shared_ptr<const void> owner)
      : bytes_(bytes), owner_(std::move(owner)) {}

  std::span<const std::byte> bytes_;
  std::shared_ptr<const void> owner_;
};

// Everything up to the end of standard input, or of a file, or up to a little more than `limit`
// bytes.
std::string ReadText(const std::string& path, size_t limit);

// Standard input, a pipe or a device, read as far as it is asked for.
class InputStream {
 public:
  // "-" is standard input.
  explicit InputStream(const std::string& path);
  InputStream(const InputStream&) = delete;
  InputStream& operator=(const InputStream&) = delete;
  ~InputStream();

  const std::string& name() const { return name_; }  // for messages

  // Reads exactly `bytes.size()` bytes; fewer only at the end. Returns how many.
  size_t Read(std::span<std::byte> bytes) const;

 private:
  std::string name_;
  int descriptor_;
};

// Writes all bytes to an open file; `name` is for the message.
void WriteAll(int descriptor, std::span<const std::byte> bytes, const std::string& name);

// The same, and says how much is done.
void WriteInSteps(int descriptor, std::span<const std::byte> bytes, const std::string& name);

// True for a path that exists and is neither a regular file nor a folder: a device or a pipe, which
// is written as it is.
bool IsStream(const std::string& path);

// True for a terminal, by its path or as standard output.
bool IsTerminal(const std::string& path);

// True for what is, or would be created, in the folder or below it once all links are followed.
bool LiesIn(const std::string& path, const std::string& folder);

// The same text for two paths that lead to one file, by any of its names, or that would: where
// there is none yet, to one name of one folder. Links are followed.
std::string IdentityOf(const std::string& path);

// Writes the parts, one after another, to a device or a pipe.
void WriteStream(const std::string& path, std::initializer_list<std::span<const std::byte>> parts);

// A file that is written in parts, or through memory that shows it.
class WritableFile {
 public:
  WritableFile(const WritableFile&) = delete;
  WritableFile& operator=(const WritableFile&) = delete;

  // Takes the space on the disk, so that a full disk is an error before the work is done, and not a
  // signal where the file is mapped. Measured on ext4: a small file that is written without this
  // replaces another in 0.1 ms, after it in 4 ms.
  void Reserve();

  // Writes a part of the file.
  void Write(size_t begin, std::span<const std::byte> bytes);

  // The first `size` bytes mapped into memory, all of them reserved or written; zero where nothing
  // is written. Later calls give the same bytes.
  std::span<std::byte> Map(size_t size);
  std::span<std::byte> bytes() { return Map(size_); }

 protected:
  WritableFile(std::string name, size_t size);
  WritableFile(WritableFile&& other) noexcept;
  ~WritableFile();

  std::string name_;  // for messages
  int descriptor_ = -1;
  std::unique_ptr<MappedFile> mapping_;
  size_t size_;
};

// A file without a name, in the folder for temporary files (TMPDIR, else /var/tmp), for what may
// not fit into memory. It is gone with the object, or the process.
class ScratchFile : public WritableFile {
 public:
  explicit ScratchFile(size_t size);
};

// A file that appears complete or not at all: the bytes go to a temporary file beside the target,
// which takes the target's place at Publish. Without Keep after it, all is put back as it was.
class OutputFile : public WritableFile {
 public:
  // A symbolic link is followed: the file that it names is the target.
  OutputFile(const std::string& path, size_t size);
  OutputFile(OutputFile&& other) noexcept;
  ~OutputFile();

  // Ends writing. What the file system reports late is reported here.
  void Close();

  // Puts the closed file in its place.
  void Publish();

  // Ends what Publish began; nothing fails from here on.
  void Keep();

 private:
  // Of the temporary file with the target.
  bool Exchange() const;

  std::string target_;
  enum class State { kTemporary, kCreated, kExchanged };

  std::unique_ptr<TemporaryPath> temporary_;  // once exchanged, the file that was replaced
  State state_ = State::kTemporary;
};

}  // namespace dmlop
