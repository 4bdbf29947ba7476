// Preloaded into the program by faults_test.py: makes calls of the C library fail.
//
//   DMLOP_FAULT=FUNCTION:WHAT:FIRST:COUNT
//
// The calls FIRST to FIRST + COUNT - 1 of FUNCTION, counted from 1, fail with the error WHAT, or
// are carried out for one byte only where WHAT is "short". Only calls count that concern files
// whose path contains DMLOP_FAULT_PATH.

#include <dlfcn.h>
#include <fcntl.h>
#include <sys/types.h>

#include <atomic>
#include <cerrno>
#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string_view>

namespace {

struct Fault {
  char function[32] = "";
  char what[16] = "";
  int first = 0;
  int count = 0;

  Fault() {
    const char* text = std::getenv("DMLOP_FAULT");
    if (text != nullptr) std::sscanf(text, "%31[^:]:%15[^:]:%d:%d", function, what, &first, &count);
  }
};

enum class Verdict { kPass, kShort, kFail };

Verdict Judge(std::string_view function) {
  static const Fault fault;
  static std::atomic<int> calls = 0;
  if (function != fault.function) return Verdict::kPass;
  const int call = ++calls;
  if (call < fault.first || call >= fault.first + fault.count) return Verdict::kPass;
  const std::string_view what = fault.what;
  if (what == "short") return Verdict::kShort;
  struct Name {
    std::string_view name;
    int value;
  };
  constexpr Name kErrors[] = {{"EACCES", EACCES}, {"EEXIST", EEXIST}, {"EINTR", EINTR},
                              {"EIO", EIO},       {"EINVAL", EINVAL}, {"ENOSPC", ENOSPC},
                              {"EPERM", EPERM},   {"EROFS", EROFS}};
  for (const Name& error : kErrors) {
    if (error.name == what) {
      errno = error.value;
      return Verdict::kFail;
    }
  }
  std::abort();
}

bool IsMeant(const char* path) {
  const char* part = std::getenv("DMLOP_FAULT_PATH");
  return part != nullptr && std::strstr(path, part) != nullptr;
}

constexpr int kMostFiles = 1024;
std::atomic<bool> is_meant[kMostFiles];

bool IsMeant(int file) {
  return file >= 0 && file < kMostFiles && is_meant[file];
}

template <typename Function>
Function* Next(const char* name) {
  return reinterpret_cast<Function*>(dlsym(RTLD_NEXT, name));
}

// The verdict on a call that concerns `file`.
Verdict JudgeFile(std::string_view function, int file) {
  return IsMeant(file) ? Judge(function) : Verdict::kPass;
}

}  // namespace

extern "C" {

int open(const char* path, int flags, ...) {
  std::va_list arguments;
  va_start(arguments, flags);
  const mode_t mode = (flags & O_CREAT) != 0 ? va_arg(arguments, mode_t) : 0;
  va_end(arguments);
  if (IsMeant(path) && Judge("open") == Verdict::kFail) return -1;
  const int file = Next<int(const char*, int, ...)>("open")(path, flags, mode);
  if (file >= 0 && file < kMostFiles) is_meant[file] = IsMeant(path);
  return file;
}

ssize_t read(int file, void* bytes, size_t size) {
  const Verdict verdict = JudgeFile("read", file);
  if (verdict == Verdict::kFail) return -1;
  if (verdict == Verdict::kShort && size > 1) size = 1;
  return Next<ssize_t(int, void*, size_t)>("read")(file, bytes, size);
}

ssize_t write(int file, const void* bytes, size_t size) {
  const Verdict verdict = JudgeFile("write", file);
  if (verdict == Verdict::kFail) return -1;
  if (verdict == Verdict::kShort && size > 1) size = 1;
  return Next<ssize_t(int, const void*, size_t)>("write")(file, bytes, size);
}

ssize_t pwrite(int file, const void* bytes, size_t size, off_t offset) {
  const Verdict verdict = JudgeFile("pwrite", file);
  if (verdict == Verdict::kFail) return -1;
  if (verdict == Verdict::kShort && size > 1) size = 1;
  return Next<ssize_t(int, const void*, size_t, off_t)>("pwrite")(file, bytes, size, offset);
}

int close(int file) {
  const Verdict verdict = JudgeFile("close", file);
  if (file >= 0 && file < kMostFiles) is_meant[file] = false;
  const int error = errno;
  const int result = Next<int(int)>("close")(file);
  if (verdict != Verdict::kFail) return result;
  errno = error;
  return -1;
}

int posix_fallocate(int file, off_t begin, off_t size) {
  if (JudgeFile("posix_fallocate", file) == Verdict::kFail) return errno;
  return Next<int(int, off_t, off_t)>("posix_fallocate")(file, begin, size);
}

void* mmap(void* address, size_t size, int protection, int flags, int file, off_t begin) {
  if (JudgeFile("mmap", file) == Verdict::kFail) return reinterpret_cast<void*>(-1);
  return Next<void*(void*, size_t, int, int, int, off_t)>("mmap")(address, size, protection, flags,
                                                                  file, begin);
}

int rename(const char* from, const char* to) {
  if ((IsMeant(from) || IsMeant(to)) && Judge("rename") == Verdict::kFail) return -1;
  return Next<int(const char*, const char*)>("rename")(from, to);
}

int renameat2(int from_folder, const char* from, int to_folder, const char* to, unsigned flags) {
  if ((IsMeant(from) || IsMeant(to)) && Judge("renameat2") == Verdict::kFail) return -1;
  return Next<int(int, const char*, int, const char*, unsigned)>("renameat2")(from_folder, from,
                                                                              to_folder, to, flags);
}

}  // extern "C"
