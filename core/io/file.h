// SPDX-License-Identifier: Apache-2.0
// Files as bytes: inputs that are mapped or read as streams, outputs that are written as they come,
// and paths. Outputs that appear as a whole are in output_file.h.
#pragma once

#include <cstddef>
#include <initializer_list>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>

namespace dmlop {

// Stands for standard input or output in place of a file.
inline constexpr std::string_view kStandardStream = "-";

// The name of standard input in messages.
inline constexpr const char* kStandardInputName = "<standard input>";

// Returns what messages call a file, or standard input for "-".
std::string NameOfInput(const std::string& path);

// The bytes of a file, for the lifetime of the object. All failures are Errors of kind kFileSystem.
class InputFile {
 public:
  // Maps a regular file; reads anything else, at most `stream_limit` bytes, to its end.
  static InputFile Open(const std::string& path, size_t stream_limit = 0);

  // Takes bytes that something else keeps alive, such as a part of a file.
  InputFile(std::span<const std::byte> bytes, std::shared_ptr<const void> owner)
      : bytes_(bytes), owner_(std::move(owner)) {}

  std::span<const std::byte> bytes() const { return bytes_; }

 private:
  std::span<const std::byte> bytes_;
  std::shared_ptr<const void> owner_;
};

// Reads standard input or a file to its end, or to a little more than `limit` bytes.
std::string ReadText(const std::string& path, size_t limit);

// Standard input, a pipe, a device or a file, read on demand.
class InputStream {
 public:
  // "-" is standard input.
  explicit InputStream(const std::string& path);
  InputStream(const InputStream&) = delete;
  InputStream& operator=(const InputStream&) = delete;
  ~InputStream();

  const std::string& name() const { return name_; }  // name for messages

  // Reads exactly `bytes.size()` bytes, or fewer only at the end. Returns how many.
  size_t Read(std::span<std::byte> bytes) const;

  // Reads what comes next, without waiting for that many bytes; returns 0 only at the end.
  size_t ReadSome(std::span<std::byte> bytes) const;

  // Does the same as Read for a regular file, from byte `begin` on.
  size_t ReadAt(size_t begin, std::span<std::byte> bytes) const;

 private:
  std::string name_;
  int descriptor_;
};

// Reads from byte `begin` of an open file on. Returns how many bytes, fewer only at the end.
size_t ReadAt(int descriptor, size_t begin, std::span<std::byte> bytes, const std::string& name);

// Returns true if standard input surely has more bytes. Reads none; waits a moment for a pipe.
bool StandardInputGoesOn();

// Writes all bytes to an open file; `name` is for the message.
void WriteAll(int descriptor, std::span<const std::byte> bytes, const std::string& name);

// Does the same, and reports progress.
void WriteInSteps(int descriptor, std::span<const std::byte> bytes, const std::string& name);

// Returns the number of the open file that a path denotes, such as /dev/fd/3 or /dev/stdin. Only
// such names count: links to them belong to other files.
std::optional<int> DescriptorOf(const std::string& path);

// Returns true for what is written in place: an open file, or anything existing that is neither a
// regular file nor a folder, such as a device or a pipe.
bool IsStream(const std::string& path);

// Returns true if this path opens a regular file.
bool IsRegular(const std::string& path);

// Returns true for a terminal, given by its path or as standard output.
bool IsTerminal(const std::string& path);

// Returns true if a path is, or would be created, in or below the folder, links followed.
bool LiesIn(const std::string& path, const std::string& folder);

// Returns whether a path ends in an extension such as ".npy", in any case.
bool HasExtension(std::string_view path, std::string_view extension);

// Texts that are the same for two paths of one file, by any of its names, or of a file to be
// created by one name in one folder. Links are followed. The folders of files to be created are
// asked for once, so they must stay as they are while the object exists. Any thread may ask.
class FileIdentities {
 public:
  std::string Of(const std::string& path);

 private:
  std::string OfFolder(const std::string& folder);

  std::mutex mutex_;
  std::unordered_map<std::string, std::string> folders_;
};

// Returns the file that a chain of symbolic links names, whether or not it exists.
std::string FollowLinks(const std::string& path);

// A device, a pipe or an open file, written in order.
class OutputStream {
 public:
  explicit OutputStream(const std::string& path);
  OutputStream(const OutputStream&) = delete;
  OutputStream& operator=(const OutputStream&) = delete;
  ~OutputStream();

  void Write(std::span<const std::byte> bytes);

  // Ensures that what was written is on the disk.
  void Flush();

  // Reports errors that the file system reports late.
  void Close();

 private:
  std::string name_;
  int descriptor_;
};

// Writes the parts to a stream, one after another.
void WriteStream(const std::string& path, std::initializer_list<std::span<const std::byte>> parts);

// Returns "a zip archive" or the like, as far as the first bytes tell; otherwise empty.
std::string_view KindOfContent(std::span<const std::byte> bytes);

}  // namespace dmlop
