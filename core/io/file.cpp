#include "core/io/file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <utility>
#include <vector>

#include "core/base/error.h"
#include "core/base/progress.h"

namespace dmlop {
namespace {

namespace fs = std::filesystem;

[[noreturn]] void Fail(const std::string& name, std::string_view what, int error) {
  throw Error(ErrorKind::kFileSystem, fmt::format("{}: {}: {}", name, what, std::strerror(error)));
}

// A file descriptor that closes itself.
class Descriptor {
 public:
  explicit Descriptor(int value) : value_(value) {}
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  ~Descriptor() {
    if (value_ >= 0) close(value_);
  }
  int get() const { return value_; }
  int Release() { return std::exchange(value_, -1); }

 private:
  int value_;
};

// Reads until `bytes` are full or the file ends; returns how many were read.
size_t ReadFully(int descriptor, std::byte* bytes, size_t size, const std::string& name) {
  size_t done = 0;
  while (done < size) {
    const ssize_t count = read(descriptor, bytes + done, size - done);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) Fail(name, "cannot be read", errno);
    if (count == 0) break;
    done += static_cast<size_t>(count);
    AddDone(count);
  }
  return done;
}

// Calls `write_rest` with how many bytes are written until they are all.
template <typename WriteRest>
void WriteFully(size_t size, const std::string& name, WriteRest&& write_rest) {
  size_t done = 0;
  while (done < size) {
    const ssize_t count = write_rest(done);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) Fail(name, "cannot be written", errno);
    done += static_cast<size_t>(count);
  }
}

std::vector<std::byte> ReadToEnd(int descriptor, const std::string& name, size_t limit) {
  constexpr size_t kChunk = 1 << 12;  // most documents are short, and fresh pages are not free
  const Work work("reading " + name);
  std::vector<std::byte> bytes;
  while (true) {
    const size_t size = bytes.size();
    bytes.resize(size + std::max(kChunk, size));  // doubles, so that a long stream stays linear
    const size_t count = ReadFully(descriptor, bytes.data() + size, bytes.size() - size, name);
    bytes.resize(size + count);
    if (count < std::max(kChunk, size) || bytes.size() > limit) return bytes;
  }
}

struct stat StatusOf(int descriptor, const std::string& name) {
  struct stat status;
  if (fstat(descriptor, &status) != 0) Fail(name, "cannot be read", errno);
  if (S_ISDIR(status.st_mode)) Fail(name, "cannot be read", EISDIR);
  return status;
}

// The file that a chain of symbolic links names, whether or not it exists.
std::string FollowLinks(const std::string& path) {
  constexpr int kMaxLinks = 40;  // as Linux itself
  fs::path target = path;
  std::error_code error;
  for (int i = 0; i < kMaxLinks; ++i) {
    if (!fs::is_symlink(target, error)) return target.string();
    target = target.parent_path() / fs::read_symlink(target, error);
  }
  Fail(path, "cannot be written", ELOOP);
}

std::string TemporaryFolder() {
  const char* folder = std::getenv("TMPDIR");
  return folder != nullptr && *folder != '\0' ? folder : "/var/tmp";
}

// Where a path leads, whether or not there is something.
fs::path Followed(const std::string& path) {
  std::error_code ignored;
  return fs::weakly_canonical(fs::absolute(FollowLinks(path), ignored), ignored);
}

}  // namespace

// Memory that shows a file.
class MappedFile {
 public:
  MappedFile(int descriptor, size_t size, int protection, int flags, const std::string& name)
      : address_(Map(descriptor, size, protection, flags, name)),
        size_(size),
        range_(address_, size, name) {}
  MappedFile(const MappedFile&) = delete;
  MappedFile& operator=(const MappedFile&) = delete;
  ~MappedFile() { munmap(address_, size_); }

  std::span<std::byte> bytes() const { return {static_cast<std::byte*>(address_), size_}; }

 private:
  static void* Map(int descriptor, size_t size, int protection, int flags,
                   const std::string& name) {
    void* address = mmap(nullptr, size, protection, flags, descriptor, 0);
    if (address == MAP_FAILED) Fail(name, "cannot be mapped", errno);
    return address;
  }

  void* address_;
  size_t size_;
  MappedRange range_;
};

InputFile InputFile::Open(const std::string& path, size_t stream_limit) {
  const Descriptor file(open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (file.get() < 0) Fail(path, "cannot be opened", errno);
  const struct stat status = StatusOf(file.get(), path);
  if (!S_ISREG(status.st_mode)) {
    const auto read =
        std::make_shared<const std::vector<std::byte>>(ReadToEnd(file.get(), path, stream_limit));
    if (read->size() > stream_limit) {
      throw Error(ErrorKind::kTensorFile,
                  fmt::format("{}: has more than {} bytes", path, stream_limit));
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
  const bool standard = path == kStandardStream;
  const Descriptor file(standard ? dup(STDIN_FILENO) : open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (file.get() < 0) Fail(standard ? "standard input" : path, "cannot be opened", errno);
  StatusOf(file.get(), path);  // refuses folders
  const std::vector<std::byte> bytes =
      ReadToEnd(file.get(), standard ? "standard input" : path, limit);
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

InputStream::InputStream(const std::string& path)
    : name_(path == kStandardStream ? "standard input" : path),
      descriptor_(path == kStandardStream ? STDIN_FILENO
                                          : open(path.c_str(), O_RDONLY | O_CLOEXEC)) {
  if (descriptor_ < 0) Fail(name_, "cannot be opened", errno);
}

InputStream::~InputStream() {
  if (descriptor_ != STDIN_FILENO) close(descriptor_);
}

size_t InputStream::Read(std::span<std::byte> bytes) const {
  return ReadFully(descriptor_, bytes.data(), bytes.size(), name_);
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

bool IsStream(const std::string& path) {
  struct stat status;
  return stat(path.c_str(), &status) == 0 && !S_ISREG(status.st_mode) && !S_ISDIR(status.st_mode);
}

bool IsTerminal(const std::string& path) {
  if (path == kStandardStream) return isatty(STDOUT_FILENO) != 0;
  struct stat status;  // opening a pipe to look at it would end it for its reader
  if (stat(path.c_str(), &status) != 0 || !S_ISCHR(status.st_mode)) return false;
  constexpr unsigned kMemoryDevices = 1;  // such as /dev/null
  if (major(status.st_rdev) == kMemoryDevices) return false;
  const Descriptor file(open(path.c_str(), O_WRONLY | O_NOCTTY | O_NONBLOCK | O_CLOEXEC));
  return file.get() >= 0 && isatty(file.get()) != 0;
}

std::string IdentityOf(const std::string& path) {
  struct stat status;
  if (stat(path.c_str(), &status) == 0) {
    return fmt::format("{}:{}", status.st_dev, status.st_ino);
  }
  const fs::path target = FollowLinks(path);
  const fs::path folder = target.has_parent_path() ? target.parent_path() : ".";
  if (stat(folder.c_str(), &status) != 0) return Followed(path).string();
  return fmt::format("{}:{}/{}", status.st_dev, status.st_ino, target.filename().string());
}

bool LiesIn(const std::string& path, const std::string& folder) {
  std::error_code error;
  const fs::path root = fs::canonical(folder, error);
  if (error) Fail(folder, "cannot be read", error.value());
  const fs::path real = Followed(path);
  return std::mismatch(root.begin(), root.end(), real.begin(), real.end()).first == root.end();
}

void WriteStream(const std::string& path, std::initializer_list<std::span<const std::byte>> parts) {
  Descriptor file(open(path.c_str(), O_WRONLY | O_CLOEXEC));
  if (file.get() < 0) Fail(path, "cannot be opened for writing", errno);
  size_t size = 0;
  for (const auto part : parts) size += part.size();
  const Work work("writing " + path, static_cast<int64_t>(size));
  for (const auto part : parts) WriteInSteps(file.get(), part, path);
  if (close(file.Release()) != 0) Fail(path, "cannot be written", errno);
}

WritableFile::WritableFile(std::string name, size_t size) : name_(std::move(name)), size_(size) {}

WritableFile::WritableFile(WritableFile&& other) noexcept
    : name_(std::move(other.name_)),
      descriptor_(std::exchange(other.descriptor_, -1)),
      mapping_(std::move(other.mapping_)),
      size_(other.size_) {}

WritableFile::~WritableFile() {
  if (descriptor_ >= 0) close(descriptor_);
}

void WritableFile::Reserve() {
  const int error = posix_fallocate(descriptor_, 0, static_cast<off_t>(size_));
  if (error != 0) Fail(name_, "cannot be written", error);
}

void WritableFile::Write(size_t begin, std::span<const std::byte> bytes) {
  WriteFully(bytes.size(), name_, [&](size_t done) {
    return pwrite(descriptor_, bytes.data() + done, bytes.size() - done,
                  static_cast<off_t>(begin + done));
  });
}

std::span<std::byte> WritableFile::Map(size_t size) {
  if (!mapping_) {
    mapping_ =
        std::make_unique<MappedFile>(descriptor_, size, PROT_READ | PROT_WRITE, MAP_SHARED, name_);
  }
  return mapping_->bytes();
}

ScratchFile::ScratchFile(size_t size) : WritableFile(TemporaryFolder(), size) {
  std::string path = name_ + "/dmlop-XXXXXX";
  const SignalsHeld held;  // until the name is gone
  descriptor_ = mkostemp(path.data(), O_CLOEXEC);
  if (descriptor_ < 0) Fail(name_, "no file can be created there", errno);
  unlink(path.c_str());
}

OutputFile::OutputFile(const std::string& path, size_t size)
    : WritableFile(path, size), target_(FollowLinks(path)) {
  std::error_code ignored;
  if (fs::is_directory(target_, ignored)) Fail(name_, "cannot be written", EISDIR);
  // Unpredictable enough for two runs side by side; O_EXCL refuses what is there already.
  const fs::path target(target_);
  const SignalsHeld held;
  for (unsigned attempt = 0; descriptor_ < 0; ++attempt) {
    const std::string temporary =
        (target.parent_path() / fmt::format(".dmlop-{}-{}.tmp", getpid(), attempt)).string();
    descriptor_ = open(temporary.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (descriptor_ >= 0) temporary_ = std::make_unique<TemporaryPath>(temporary);
    if (descriptor_ < 0 && errno != EEXIST) Fail(name_, "cannot be created", errno);
  }
}

OutputFile::OutputFile(OutputFile&& other) noexcept
    : WritableFile(std::move(other)),
      target_(std::move(other.target_)),
      temporary_(std::move(other.temporary_)),
      state_(other.state_) {}

OutputFile::~OutputFile() {
  if (!temporary_) return;
  const SignalsHeld held;
  if (state_ == State::kCreated) unlink(target_.c_str());
  if (state_ == State::kExchanged && !Exchange()) return;  // better twice than lost
  unlink(temporary_->get().c_str());
}

bool OutputFile::Exchange() const {
  return renameat2(AT_FDCWD, temporary_->get().c_str(), AT_FDCWD, target_.c_str(),
                   RENAME_EXCHANGE) == 0;
}

void OutputFile::Close() {
  mapping_.reset();
  if (close(std::exchange(descriptor_, -1)) != 0) Fail(name_, "cannot be written", errno);
}

void OutputFile::Publish() {
  const SignalsHeld held;
  if (Exchange()) {
    state_ = State::kExchanged;
    return;
  }
  // There is nothing to exchange it with, or the file system cannot.
  const bool is_new = errno == ENOENT;
  if (rename(temporary_->get().c_str(), target_.c_str()) != 0) {
    Fail(name_, "cannot be replaced", errno);
  }
  if (is_new) {
    state_ = State::kCreated;
  } else {
    temporary_.reset();
  }
}

void OutputFile::Keep() {
  if (state_ == State::kExchanged) unlink(temporary_->get().c_str());
  temporary_.reset();
}

}  // namespace dmlop
