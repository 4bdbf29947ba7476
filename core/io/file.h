// Files as bytes: inputs are mapped or read as streams, what is written as it comes, and paths.
// Outputs that appear whole are in output_set.h.
#pragma once

#include <cstddef>
#include <initializer_list>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace dmlop {

// Standard input or output, where a file is expected.
inline constexpr std::string_view kStandardStream = "-";

// How messages call the document that standard input is.
inline constexpr const char* kStandardInputName = "<standard input>";

// How messages call a file, or "-" where that is standard input.
std::string NameOfInput(const std::string& path);

// The bytes of a file, for as long as the object lives. All failures are Errors of kind
// kFileSystem.
class InputFile {
 public:
  // Maps a regular file; reads anything else to its end, which must come within `stream_limit`
  // bytes.
  static InputFile Open(const std::string& path, size_t stream_limit = 0);

  // Bytes that something else keeps alive, such as a part of a file.
  InputFile(std::span<const std::byte> bytes, std::shared_ptr<const void> owner)
      : bytes_(bytes), owner_(std::move(owner)) {}

  std::span<const std::byte> bytes() const { return bytes_; }

 private:
  std::span<const std::byte> bytes_;
  std::shared_ptr<const void> owner_;
};

// Everything up to the end of standard input, or of a file, or up to a little more than `limit`
// bytes.
std::string ReadText(const std::string& path, size_t limit);

// Standard input, a pipe, a device or a file, read as far as it is asked for.
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

  // Reads what comes next, without waiting until that are as many bytes; none only at the end.
  size_t ReadSome(std::span<std::byte> bytes) const;

  // The same as Read of a regular file, from a byte on.
  size_t ReadAt(size_t begin, std::span<std::byte> bytes) const;

 private:
  std::string name_;
  int descriptor_;
};

// Reads from a byte of an open file on. Fewer bytes only at the end; returns how many.
size_t ReadAt(int descriptor, size_t begin, std::span<std::byte> bytes, const std::string& name);

// True where standard input is known to have more bytes. None is read; a pipe gets a moment.
bool StandardInputGoesOn();

// Writes all bytes to an open file; `name` is for the message.
void WriteAll(int descriptor, std::span<const std::byte> bytes, const std::string& name);

// The same, and says how much is done.
void WriteInSteps(int descriptor, std::span<const std::byte> bytes, const std::string& name);

// The number of the open file that a path stands for, such as /dev/fd/3 or /dev/stdin. It is taken
// by this name alone: links to such names are those of other files.
std::optional<int> DescriptorOf(const std::string& path);

// True for what is written as it is: an open file, or what exists and is neither a regular file nor
// a folder, such as a device or a pipe.
bool IsStream(const std::string& path);

// True where a regular file is opened by this path.
bool IsRegular(const std::string& path);

// True for a terminal, by its path or as standard output.
bool IsTerminal(const std::string& path);

// True for what is, or would be created, in the folder or below it once all links are followed.
bool LiesIn(const std::string& path, const std::string& folder);

// Whether a path ends in an extension such as ".npy", in letters of either case.
bool HasExtension(std::string_view path, std::string_view extension);

// The same text for two paths that lead to one file, by any of its names, or that would: where
// there is none yet, to one name of one folder. Links are followed.
std::string IdentityOf(const std::string& path);

// The file that a chain of symbolic links names, whether or not it exists.
std::string FollowLinks(const std::string& path);

// A device, a pipe or an open file, written as it comes.
class OutputStream {
 public:
  explicit OutputStream(const std::string& path);
  OutputStream(const OutputStream&) = delete;
  OutputStream& operator=(const OutputStream&) = delete;
  ~OutputStream();

  void Write(std::span<const std::byte> bytes);

  // Sees that what has been written is on the disk.
  void Flush();

  // What is reported late is reported here.
  void Close();

 private:
  std::string name_;
  int descriptor_;
};

// Writes the parts, one after another, to a stream.
void WriteStream(const std::string& path, std::initializer_list<std::span<const std::byte>> parts);

}  // namespace dmlop
