// Files as bytes: inputs are mapped, outputs are written beside their target and renamed into
// place.
#pragma once

#include <cstddef>
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
  // Maps a regular file; reads anything else to its end.
  static InputFile Open(const std::string& path);

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

// Reads exactly `bytes.size()` bytes of standard input; fewer only at its end. Returns how many.
size_t ReadStandardInput(std::span<std::byte> bytes);

// Writes all bytes to an open file; `name` is for the message.
void WriteAll(int descriptor, std::span<const std::byte> bytes, const std::string& name);

// True for a path that exists and is neither a regular file nor a folder: a device or a pipe, which
// is written as it is.
bool IsStream(const std::string& path);

// True for a terminal, by its path or as standard output.
bool IsTerminal(const std::string& path);

// The same text for two paths that name one file, whether or not it exists.
std::string IdentityOf(const std::string& path);

void WriteStream(const std::string& path, std::span<const std::byte> bytes);

// A file that appears complete or not at all: the bytes go to a temporary file beside the target,
// which takes the target's place at Publish. Without Keep after it, all is put back as it was.
class OutputFile {
 public:
  // A symbolic link is followed: the file that it names is the target.
  OutputFile(const std::string& path, size_t size);
  OutputFile(OutputFile&& other) noexcept;
  OutputFile(const OutputFile&) = delete;
  OutputFile& operator=(const OutputFile&) = delete;
  ~OutputFile();

  // Takes the space on the disk, so that a full disk is an error before the work is done, and not a
  // signal where the file is mapped. Measured on ext4: a small file that is written without this
  // replaces another in 0.1 ms, after it in 4 ms.
  void Reserve();

  // Writes a part of the file.
  void Write(size_t begin, std::span<const std::byte> bytes);

  // The reserved file mapped into memory, for what is not written in order; zero where nothing is
  // written.
  std::span<std::byte> bytes();

  // Ends writing. What the file system reports late is reported here.
  void Close();

  // Puts the closed file in its place.
  void Publish();

  // Ends what Publish began; nothing fails from here on.
  void Keep();

 private:
  // Of the temporary file with the target.
  bool Exchange() const;

  std::string name_;  // as the user gave it
  std::string target_;
  enum class State { kTemporary, kCreated, kExchanged };

  std::unique_ptr<TemporaryPath> temporary_;  // once exchanged, the file that was replaced
  State state_ = State::kTemporary;
  int descriptor_ = -1;
  std::unique_ptr<MappedFile> mapping_;
  size_t size_;
};

}  // namespace dmlop
