#include "core/io/file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <limits>
#include <utility>
#include <vector>

#include "core/base/error.h"

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

std::vector<std::byte> ReadToEnd(int descriptor, const std::string& name,
                                 size_t limit = std::numeric_limits<size_t>::max()) {
  constexpr size_t kChunk = 1 << 16;
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

}  // namespace

InputFile InputFile::Open(const std::string& path) {
  const Descriptor file(open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (file.get() < 0) Fail(path, "cannot be opened", errno);
  const struct stat status = StatusOf(file.get(), path);
  if (!S_ISREG(status.st_mode)) {
    auto read = std::make_shared<const std::vector<std::byte>>(ReadToEnd(file.get(), path));
    return InputFile(*read, read);
  }
  const size_t size = static_cast<size_t>(status.st_size);
  if (size == 0) return InputFile({}, nullptr);
  void* mapped = mmap(nullptr, size, PROT_READ, MAP_PRIVATE, file.get(), 0);
  if (mapped == MAP_FAILED) Fail(path, "cannot be mapped", errno);
  std::shared_ptr<const void> owner(
      mapped, [size](const void* address) { munmap(const_cast<void*>(address), size); });
  return InputFile({static_cast<const std::byte*>(mapped), size}, std::move(owner));
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

size_t ReadStandardInput(std::span<std::byte> bytes) {
  return ReadFully(STDIN_FILENO, bytes.data(), bytes.size(), "standard input");
}

void WriteAll(int descriptor, std::span<const std::byte> bytes, const std::string& name) {
  WriteFully(bytes.size(), name, [&](size_t done) {
    return write(descriptor, bytes.data() + done, bytes.size() - done);
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
  const Descriptor file(open(path.c_str(), O_WRONLY | O_NOCTTY | O_NONBLOCK | O_CLOEXEC));
  return file.get() >= 0 && isatty(file.get()) != 0;
}

std::string IdentityOf(const std::string& path) {
  struct stat status;
  if (stat(path.c_str(), &status) == 0) {
    return fmt::format("{}:{}", status.st_dev, status.st_ino);
  }
  std::error_code ignored;
  return fs::weakly_canonical(fs::absolute(FollowLinks(path), ignored), ignored).string();
}

void WriteStream(const std::string& path, std::span<const std::byte> bytes) {
  Descriptor file(open(path.c_str(), O_WRONLY | O_CLOEXEC));
  if (file.get() < 0) Fail(path, "cannot be opened for writing", errno);
  WriteAll(file.get(), bytes, path);
  if (close(file.Release()) != 0) Fail(path, "cannot be written", errno);
}

OutputFile::OutputFile(const std::string& path, size_t size)
    : name_(path), target_(FollowLinks(path)), size_(size) {
  std::error_code ignored;
  if (fs::is_directory(target_, ignored)) Fail(name_, "cannot be written", EISDIR);
  // Unpredictable enough for two runs side by side; O_EXCL refuses what is there already.
  const fs::path target(target_);
  for (unsigned attempt = 0; descriptor_ < 0; ++attempt) {
    temporary_ =
        (target.parent_path() / fmt::format(".dmlop-{}-{}.tmp", getpid(), attempt)).string();
    descriptor_ = open(temporary_.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (descriptor_ < 0 && errno != EEXIST) {
      temporary_.clear();
      Fail(name_, "cannot be created", errno);
    }
  }
}

OutputFile::OutputFile(OutputFile&& other) noexcept
    : name_(std::move(other.name_)),
      target_(std::move(other.target_)),
      temporary_(std::exchange(other.temporary_, {})),
      descriptor_(std::exchange(other.descriptor_, -1)),
      data_(std::exchange(other.data_, nullptr)),
      size_(other.size_) {}

OutputFile::~OutputFile() {
  Unmap();
  if (descriptor_ >= 0) close(descriptor_);
  if (!temporary_.empty()) unlink(temporary_.c_str());
}

void OutputFile::Reserve() {
  const int error = posix_fallocate(descriptor_, 0, static_cast<off_t>(size_));
  if (error != 0) Fail(name_, "cannot be written", error);
}

void OutputFile::Write(size_t begin, std::span<const std::byte> bytes) {
  WriteFully(bytes.size(), name_, [&](size_t done) {
    return pwrite(descriptor_, bytes.data() + done, bytes.size() - done,
                  static_cast<off_t>(begin + done));
  });
}

std::span<std::byte> OutputFile::bytes() {
  if (data_ == nullptr) {
    void* mapped = mmap(nullptr, size_, PROT_READ | PROT_WRITE, MAP_SHARED, descriptor_, 0);
    if (mapped == MAP_FAILED) Fail(name_, "cannot be mapped", errno);
    data_ = static_cast<std::byte*>(mapped);
  }
  return {data_, size_};
}

void OutputFile::Unmap() {
  if (data_ != nullptr) munmap(std::exchange(data_, nullptr), size_);
}

void OutputFile::Close() {
  Unmap();
  if (close(std::exchange(descriptor_, -1)) != 0) Fail(name_, "cannot be written", errno);
}

void OutputFile::Publish() {
  if (rename(temporary_.c_str(), target_.c_str()) != 0) Fail(name_, "cannot be replaced", errno);
  temporary_.clear();
}

}  // namespace dmlop
