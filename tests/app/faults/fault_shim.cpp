// SPDX-License-Identifier: Apache-2.0
// Preloaded into the program by faults_test.py: makes calls of the C library fail, or sends signals
// at them.
//
//  DMLOP_FAULT=FUNCTION:WHAT:FIRST:COUNT[,...]
//
// The calls FIRST to FIRST + COUNT - 1 of FUNCTION, counted from 1, fail with the error WHAT; if
// WHAT is "short" they process only one byte, and if WHAT is the name of a signal, it is sent
// before them. Only calls about files whose path contains DMLOP_FAULT_PATH count; a file that is
// opened without a name (O_TMPFILE) counts as a file called .dmlop- in its folder.
//
// FUNCTION may also be "tmpfile", the opening of a file without a name; "growth", any call that
// takes disk space; or "any".

#include <dlfcn.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/types.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <string_view>

namespace {

struct Fault {
  char function[32] = "";
  char what[16] = "";
  int first = 0;
  int count = 0;
  std::atomic<int> calls = 0;
};

struct FaultList {
  std::array<Fault, 6> faults;

  FaultList() {
    const char* text = std::getenv("DMLOP_FAULT");
    for (Fault& fault : faults) {
      if (text == nullptr) break;
      std::sscanf(text, "%31[^:]:%15[^:]:%d:%d", fault.function, fault.what, &fault.first,
                  &fault.count);
      text = std::strchr(text, ',');
      if (text != nullptr) ++text;
    }
  }
};

enum class Verdict { kPass, kShort, kFail };

struct Name {
  std::string_view name;
  int value;
};

constexpr Name kErrors[] = {{"EACCES", EACCES}, {"EEXIST", EEXIST},         {"EINTR", EINTR},
                            {"EIO", EIO},       {"EINVAL", EINVAL},         {"EISDIR", EISDIR},
                            {"ENOSPC", ENOSPC}, {"EOPNOTSUPP", EOPNOTSUPP}, {"EPERM", EPERM},
                            {"EROFS", EROFS}};
constexpr Name kSignals[] = {{"SIGKILL", SIGKILL}, {"SIGUSR1", SIGUSR1}, {"SIGXCPU", SIGXCPU}};

int ValueOf(std::string_view what, const Name* begin, const Name* end) {
  for (const Name* name = begin; name != end; ++name) {
    if (name->name == what) return name->value;
  }
  return 0;
}

Verdict JudgeBy(Fault& fault) {
  const int call = ++fault.calls;
  if (call < fault.first || call >= fault.first + fault.count) return Verdict::kPass;
  const std::string_view what = fault.what;
  if (what == "short") return Verdict::kShort;
  if (const int signal = ValueOf(what, std::begin(kSignals), std::end(kSignals))) {
    kill(getpid(), signal);
    return Verdict::kPass;
  }
  const int error = ValueOf(what, std::begin(kErrors), std::end(kErrors));
  if (error == 0) std::abort();
  errno = error;
  return Verdict::kFail;
}

// The verdict on a call of the function, which may have a second name.
Verdict Judge(std::string_view function, std::string_view also = "") {
  static FaultList list;
  for (Fault& fault : list.faults) {
    const std::string_view meant = fault.function;
    if (meant.empty() || (meant != function && meant != also && meant != "any")) continue;
    const Verdict verdict = JudgeBy(fault);
    if (verdict != Verdict::kPass) return verdict;
  }
  return Verdict::kPass;
}

constexpr std::string_view kGrowth = "growth";

constexpr int kMostFiles = 1024;
std::atomic<bool> is_meant[kMostFiles];

bool IsMeant(int file) {
  return file >= 0 && file < kMostFiles && is_meant[file];
}

bool IsMeant(const char* path) {
  int file = 0;
  if (std::sscanf(path, "/proc/self/fd/%d", &file) == 1) return IsMeant(file);
  const char* part = std::getenv("DMLOP_FAULT_PATH");
  return part != nullptr && std::strstr(path, part) != nullptr;
}

template <typename Function>
Function* Next(const char* name) {
  return reinterpret_cast<Function*>(dlsym(RTLD_NEXT, name));
}

// The verdict on a call for `file`.
Verdict JudgeFile(std::string_view function, int file, std::string_view also = "") {
  return IsMeant(file) ? Judge(function, also) : Verdict::kPass;
}

bool FailsWith(const char* function, const char* from, const char* to, std::string_view also = "") {
  return (IsMeant(from) || IsMeant(to)) && Judge(function, also) == Verdict::kFail;
}

}  // namespace

extern "C" {

int open(const char* path, int flags, ...) {
  std::va_list arguments;
  va_start(arguments, flags);
  const bool is_unnamed = (flags & O_TMPFILE) == O_TMPFILE;
  const bool creates = (flags & O_CREAT) != 0 || is_unnamed;
  const mode_t mode = creates ? va_arg(arguments, mode_t) : 0;
  va_end(arguments);
  const std::string name = std::string(path) + (is_unnamed ? "/.dmlop-" : "");
  const bool meant = IsMeant(name.c_str());
  if (meant && is_unnamed && Judge("tmpfile") == Verdict::kFail) return -1;
  if (meant && Judge("open", creates ? kGrowth : "") == Verdict::kFail) return -1;
  const int file = Next<int(const char*, int, ...)>("open")(path, flags, mode);
  if (file >= 0 && file < kMostFiles) is_meant[file] = meant;
  return file;
}

int dup(int file) {
  const int copy = Next<int(int)>("dup")(file);
  if (copy >= 0 && copy < kMostFiles) is_meant[copy] = IsMeant(file);
  return copy;
}

ssize_t read(int file, void* bytes, size_t size) {
  const Verdict verdict = JudgeFile("read", file);
  if (verdict == Verdict::kFail) return -1;
  if (verdict == Verdict::kShort && size > 1) size = 1;
  return Next<ssize_t(int, void*, size_t)>("read")(file, bytes, size);
}

ssize_t write(int file, const void* bytes, size_t size) {
  const Verdict verdict = JudgeFile("write", file, kGrowth);
  if (verdict == Verdict::kFail) return -1;
  if (verdict == Verdict::kShort && size > 1) size = 1;
  return Next<ssize_t(int, const void*, size_t)>("write")(file, bytes, size);
}

ssize_t pwrite(int file, const void* bytes, size_t size, off_t offset) {
  const Verdict verdict = JudgeFile("pwrite", file, kGrowth);
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
  if (JudgeFile("posix_fallocate", file, kGrowth) == Verdict::kFail) return errno;
  return Next<int(int, off_t, off_t)>("posix_fallocate")(file, begin, size);
}

void* mmap(void* address, size_t size, int protection, int flags, int file, off_t begin) {
  if (JudgeFile("mmap", file) == Verdict::kFail) return reinterpret_cast<void*>(-1);
  return Next<void*(void*, size_t, int, int, int, off_t)>("mmap")(address, size, protection, flags,
                                                                  file, begin);
}

int fchmod(int file, mode_t mode) {
  if (JudgeFile("fchmod", file) == Verdict::kFail) return -1;
  return Next<int(int, mode_t)>("fchmod")(file, mode);
}

int fdatasync(int file) {
  if (JudgeFile("fdatasync", file, kGrowth) == Verdict::kFail) return -1;
  return Next<int(int)>("fdatasync")(file);
}

int syncfs(int file) {
  if (JudgeFile("syncfs", file, kGrowth) == Verdict::kFail) return -1;
  return Next<int(int)>("syncfs")(file);
}

int link(const char* from, const char* to) {
  if (FailsWith("link", from, to, kGrowth)) return -1;
  return Next<int(const char*, const char*)>("link")(from, to);
}

int linkat(int from_folder, const char* from, int to_folder, const char* to, int flags) {
  if (FailsWith("linkat", from, to, kGrowth)) return -1;
  return Next<int(int, const char*, int, const char*, int)>("linkat")(from_folder, from, to_folder,
                                                                      to, flags);
}

int unlink(const char* path) {
  if (IsMeant(path) && Judge("unlink") == Verdict::kFail) return -1;
  return Next<int(const char*)>("unlink")(path);
}

int rename(const char* from, const char* to) {
  if (FailsWith("rename", from, to)) return -1;
  return Next<int(const char*, const char*)>("rename")(from, to);
}

int renameat2(int from_folder, const char* from, int to_folder, const char* to, unsigned flags) {
  if (FailsWith("renameat2", from, to)) return -1;
  return Next<int(int, const char*, int, const char*, unsigned)>("renameat2")(from_folder, from,
                                                                              to_folder, to, flags);
}

}  // extern "C"
