// SPDX-License-Identifier: Apache-2.0
#include "core/io/file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <utility>
#include <vector>

#include "core/base/error.h"
#include "core/base/progress.h"
#include "core/base/text.h"
#include "core/io/temporary_file.h"

namespace dmlop {
namespace {

namespace fs = std::filesystem;

size_t ReadOn(int descriptor, std::span<std::byte> bytes, const std::string& name) {
  return ReadFully(bytes.size(), name, [&](size_t done) {
    const ssize_t count = read(descriptor, bytes.data() + done, bytes.size() - done);
    if (count > 0) AddDone(count);
    return count;
  });
}

std::vector<std::byte> ReadToEnd(int descriptor, const std::string& name, size_t limit) {
  constexpr size_t kChunk = 1 << 12;  // most documents are short, and fresh pages are costly
  const Work work("reading " + name);
  std::vector<std::byte> bytes;
  while (true) {
    const size_t size = bytes.size();
    bytes.resize(size + std::max(kChunk, size));  // doubling keeps long streams linear
    const size_t count = ReadOn(descriptor, std::span(bytes).subspan(size), name);
    bytes.resize(size + count);
    if (count < std::max(kChunk, size) || bytes.size() > limit) return bytes;
  }
}

// Duplicates a file that was open when the program began: files that the program itself opens are
// closed on exec. Returns -1 with errno for any other.
int Duplicate(int inherited) {
  const int flags = fcntl(inherited, F_GETFD);
  if (flags >= 0 && (flags & FD_CLOEXEC) == 0) return fcntl(inherited, F_DUPFD_CLOEXEC, 0);
  errno = EBADF;
  return -1;
}

// An open file is opened again by its name, so that it is read from its beginning, as on Linux; if
// that is not possible, as for a socket or another user's file, it is taken as it is.
int OpenForReading(const std::string& path) {
  if (path.empty()) throw Error(ErrorKind::kUsage, "'' names no file");
  const std::optional<int> number = DescriptorOf(path);
  OpenFile inherited(number ? Duplicate(*number) : -1);
  if (number && inherited.get() < 0) return -1;
  const int descriptor = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  return descriptor < 0 && number ? inherited.Release() : descriptor;
}

struct stat StatusOf(int descriptor, const std::string& name) {
  struct stat status;
  if (fstat(descriptor, &status) != 0) FailFile(name, "cannot be read", errno);
  if (S_ISDIR(status.st_mode)) FailFile(name, "cannot be read", EISDIR);
  return status;
}

std::string NumbersOf(const struct stat& status) {
  return fmt::format("{}:{}", status.st_dev, status.st_ino);
}

// Returns where a path leads, whether or not anything exists there.
fs::path Followed(const std::string& path) {
  std::error_code ignored;
  return fs::weakly_canonical(fs::absolute(FollowLinks(path), ignored), ignored);
}

}  // namespace

std::string NameOfInput(const std::string& path) {
  return path == kStandardStream ? "standard input" : path;
}

InputFile InputFile::Open(const std::string& path, size_t stream_limit) {
  const OpenFile file(OpenForReading(path));
  if (file.get() < 0) FailFile(path, "cannot be opened", errno);
  const struct stat status = StatusOf(file.get(), path);
  if (!S_ISREG(status.st_mode)) {
    const auto read =
        std::make_shared<const std::vector<std::byte>>(ReadToEnd(file.get(), path, stream_limit));
    if (read->size() > stream_limit) {
      throw Error(ErrorKind::kTensorFile, "{}: has more than {} bytes", path, stream_limit);
    }
    return InputFile(*read, read);
  }
  const size_t size = static_cast<size_t>(status.st_size);
  if (size == 0) return InputFile({}, nullptr);
  const auto mapping =
      std::make_shared<const MappedFile>(file.get(), size, PROT_READ, MAP_PRIVATE, path);
  return InputFile(mapping->bytes(), mapping);
}

std::string ReadText(const std::string& path, size_t limit) {
  const OpenFile file(path == kStandardStream ? dup(STDIN_FILENO) : OpenForReading(path));
  if (file.get() < 0) FailFile(NameOfInput(path), "cannot be opened", errno);
  StatusOf(file.get(), path);  // refuses folders
  const std::vector<std::byte> bytes = ReadToEnd(file.get(), NameOfInput(path), limit);
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

InputStream::InputStream(const std::string& path)
    : name_(NameOfInput(path)),
      descriptor_(path == kStandardStream ? STDIN_FILENO : OpenForReading(path)) {
  if (descriptor_ < 0) FailFile(name_, "cannot be opened", errno);
}

InputStream::~InputStream() {
  if (descriptor_ != STDIN_FILENO) close(descriptor_);
}

size_t InputStream::Read(std::span<std::byte> bytes) const {
  return ReadOn(descriptor_, bytes, name_);
}

size_t InputStream::ReadSome(std::span<std::byte> bytes) const {
  return ReadFully(1, name_, [&](size_t) { return read(descriptor_, bytes.data(), bytes.size()); });
}

size_t InputStream::ReadAt(size_t begin, std::span<std::byte> bytes) const {
  return dmlop::ReadAt(descriptor_, begin, bytes, name_);
}

size_t ReadAt(int descriptor, size_t begin, std::span<std::byte> bytes, const std::string& name) {
  return ReadFully(bytes.size(), name, [&](size_t done) {
    return pread(descriptor, bytes.data() + done, bytes.size() - done,
                 static_cast<off_t>(begin + done));
  });
}

bool StandardInputGoesOn() {
  constexpr int kMilliseconds = 100;
  pollfd input{STDIN_FILENO, POLLIN, 0};
  int bytes = 0;
  return poll(&input, 1, kMilliseconds) > 0 && ioctl(STDIN_FILENO, FIONREAD, &bytes) == 0 &&
         bytes > 0;
}

void WriteAll(int descriptor, std::span<const std::byte> bytes, const std::string& name) {
  WriteFully(bytes.size(), name, [&](size_t done) {
    const ssize_t count = write(descriptor, bytes.data() + done, bytes.size() - done);
    if (count < 0 && errno == EPIPE && descriptor == STDOUT_FILENO) {
      throw Error(ErrorKind::kClosedPipe, name + ": nobody reads it");
    }
    return count;
  });
}

void WriteInSteps(int descriptor, std::span<const std::byte> bytes, const std::string& name) {
  ForEachStep(bytes.size(), [&](size_t begin, size_t size) {
    WriteAll(descriptor, bytes.subspan(begin, size), name);
  });
}

std::string FollowLinks(const std::string& path) {
  constexpr int kMaxLinks = 40;  // Linux's own limit
  fs::path target = path;
  std::error_code error;
  for (int i = 0; i < kMaxLinks; ++i) {
    if (!fs::is_symlink(target, error)) return target.string();
    target = target.parent_path() / fs::read_symlink(target, error);
  }
  FailFile(path, "cannot be written", ELOOP);
}

std::optional<int> DescriptorOf(const std::string& path) {
  constexpr std::string_view kStreams[] = {"/dev/stdin", "/dev/stdout", "/dev/stderr"};
  for (int i = 0; i < 3; ++i) {
    if (path == kStreams[i]) return i;
  }
  for (const std::string_view folder : {"/dev/fd/", "/proc/self/fd/"}) {
    if (!path.starts_with(folder)) continue;
    const auto number = ParseNumber<int>(std::string_view(path).substr(folder.size()));
    if (number && *number >= 0) return number;
  }
  return std::nullopt;
}

bool IsStream(const std::string& path) {
  if (DescriptorOf(path)) return true;
  struct stat status;
  return stat(path.c_str(), &status) == 0 && !S_ISREG(status.st_mode) && !S_ISDIR(status.st_mode);
}

bool IsRegular(const std::string& path) {
  struct stat status;
  return stat(path.c_str(), &status) == 0 && S_ISREG(status.st_mode);
}

bool IsTerminal(const std::string& path) {
  if (path == kStandardStream) return isatty(STDOUT_FILENO) != 0;
  struct stat status;  // opening a pipe to test it would end it for its reader
  if (stat(path.c_str(), &status) != 0 || !S_ISCHR(status.st_mode)) return false;
  constexpr unsigned kMemoryDevices = 1;  // such as /dev/null
  if (major(status.st_rdev) == kMemoryDevices) return false;
  const OpenFile file(open(path.c_str(), O_WRONLY | O_NOCTTY | O_NONBLOCK | O_CLOEXEC));
  return file.get() >= 0 && isatty(file.get()) != 0;
}

bool HasExtension(std::string_view path, std::string_view extension) {
  return path.size() >= extension.size() &&
         EqualIgnoringCase(path.substr(path.size() - extension.size()), extension);
}

std::string FileIdentities::Of(const std::string& path) {
  struct stat status;
  const bool is_there = lstat(path.c_str(), &status) == 0;
  const bool is_link = is_there && S_ISLNK(status.st_mode);
  if (is_there && (!is_link || stat(path.c_str(), &status) == 0)) return NumbersOf(status);
  const fs::path target = is_link ? FollowLinks(path) : path;
  return fmt::format("{}/{}", OfFolder(target.parent_path().string()), target.filename().string());
}

std::string FileIdentities::OfFolder(const std::string& folder) {
  {
    const std::lock_guard lock(mutex_);
    if (const auto found = folders_.find(folder); found != folders_.end()) return found->second;
  }
  const std::string path = folder.empty() ? "." : folder;
  struct stat status;
  const bool is_there = stat(path.c_str(), &status) == 0;
  std::string identity = is_there ? NumbersOf(status) : Followed(path).string();
  const std::lock_guard lock(mutex_);
  return folders_.try_emplace(folder, std::move(identity)).first->second;
}

bool LiesIn(const std::string& path, const std::string& folder) {
  std::error_code error;
  const fs::path root = fs::canonical(folder, error);
  if (error) FailFile(folder, "cannot be read", error.value());
  const fs::path real = Followed(path);
  return std::mismatch(root.begin(), root.end(), real.begin(), real.end()).first == root.end();
}

OutputStream::OutputStream(const std::string& path) : name_(path) {
  const std::optional<int> number = DescriptorOf(path);
  descriptor_ = number ? Duplicate(*number) : open(path.c_str(), O_WRONLY | O_CLOEXEC);
  if (descriptor_ < 0) FailFile(path, "cannot be opened for writing", errno);
}

OutputStream::~OutputStream() {
  if (descriptor_ >= 0) close(descriptor_);
}

void OutputStream::Write(std::span<const std::byte> bytes) {
  WriteInSteps(descriptor_, bytes, name_);
}

void OutputStream::Flush() {
  if (fdatasync(descriptor_) != 0) FailFile(name_, "cannot be written", errno);
}

void OutputStream::Close() {
  if (close(std::exchange(descriptor_, -1)) != 0) FailFile(name_, "cannot be written", errno);
}

void WriteStream(const std::string& path, std::initializer_list<std::span<const std::byte>> parts) {
  OutputStream stream(path);
  size_t size = 0;
  for (const auto part : parts) size += part.size();
  const Work work("writing " + path, static_cast<int64_t>(size));
  for (const auto part : parts) stream.Write(part);
  stream.Close();
}

namespace {

using namespace std::string_view_literals;

constexpr std::string_view kUtf16 = "text in UTF-16; it has to be UTF-8";

struct Beginning {
  std::string_view bytes;
  std::string_view kind;
};

// The first match counts.
constexpr Beginning kBeginnings[] = {
    {"\x93NUMPY"sv, "a .npy file"},
    {"version http"sv, "a Git LFS pointer; git lfs pull fetches the file"},
    {"PK\x03\x04"sv, "a zip archive, as .npz files are"},
    {"PK\x05\x06"sv, "an empty zip archive"},
    {"\x1F\x8B"sv, "a gzip file"},
    {"\x80\x02"sv, "a pickle of Python"},
    {"\x80\x03"sv, "a pickle of Python"},
    {"\x80\x04"sv, "a pickle of Python"},
    {"\x80\x05"sv, "a pickle of Python"},
    {"\x89HDF"sv, "an HDF5 file"},
    {"<!DOCTYPE"sv, "an HTML page"},
    {"<!doctype"sv, "an HTML page"},
    {"<html"sv, "an HTML page"},
    {"\xFF\xFE"sv, kUtf16},
    {"\xFE\xFF"sv, kUtf16},
};

// Recognizes a message of protobuf whose first field is a small number, the version of the format,
// and whose next field is another of ONNX's ModelProto.
bool IsOnnxModel(std::string_view text) {
  constexpr std::string_view kNextFields = "\x12\x1A\x22\x28\x32\x3A\x42"sv;
  return text.size() > 3 && text[0] == '\x08' && text[1] > 0 && text[1] < ' ' &&
         kNextFields.find(text[2]) != std::string_view::npos;
}

// Recognizes a brace and another ASCII character in UTF-16, each with a zero byte on the same side.
bool IsWideObject(std::string_view text) {
  if (text.size() < 4) return false;
  const bool low_first = text.starts_with("{\0"sv) && text[3] == '\0';
  const bool high_first = text.starts_with("\0{\0"sv);
  return low_first || high_first;
}

}  // namespace

std::string_view KindOfContent(std::span<const std::byte> bytes) {
  const std::string_view text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  for (const Beginning& beginning : kBeginnings) {
    if (text.starts_with(beginning.bytes)) return beginning.kind;
  }
  if (IsOnnxModel(text)) return "an ONNX model";
  return IsWideObject(text) ? kUtf16 : "";
}

}  // namespace dmlop
