// SPDX-License-Identifier: Apache-2.0
#include "app/fuzz/device.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <optional>

#include "app/files/output.h"
#include "app/timing.h"
#include "core/base/error.h"
#include "core/io/signals.h"
#include "core/io/temporary_file.h"

namespace dmlop {
namespace {

constexpr size_t kMostWords = 4096;  // bytes of standard error that are kept
constexpr std::ptrdiff_t kMostLines = 5;

// The last lines of a text, without blank ones at its end.
std::string LastLines(std::string text) {
  text.erase(text.find_last_not_of(" \t\r\n") + 1);
  std::ptrdiff_t lines = 0;
  for (size_t i = text.size(); i-- > 0;) {
    if (text[i] == '\n' && ++lines == kMostLines) return text.substr(i + 1);
  }
  return text;
}

class ShellProcess {
 public:
  ShellProcess(const std::string& command, bool is_shown) : is_shown_(is_shown) {
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) != 0) Fail(errno);
    words_.emplace(ends[0]);
    const OpenFile write_end(ends[1]);
    fcntl(ends[0], F_SETFL, O_NONBLOCK);
    const SignalsHeld held;
    Start(command, ends[1]);
    group_.emplace(process_);
    handle_ = static_cast<int>(syscall(SYS_pidfd_open, process_, 0));
  }

  ~ShellProcess() {
    if (!is_reaped_) End(nullptr);
    if (handle_ >= 0) close(handle_);
  }

  ProcessEnd Await(double most_seconds) {
    ProcessEnd end;
    while (!HasEnded()) {
      const double left = most_seconds - SecondsSince(start_);
      end.timed_out = left <= 0;
      if (end.timed_out) break;
      Wait(left);
    }
    end.seconds = SecondsSince(start_);
    End(&end);
    Read();
    end.last_words = LastLines(kept_);
    return end;
  }

 private:
  [[noreturn]] static void Fail(int error) {
    throw Error(ErrorKind::kFileSystem, "no engine can be started: {}", std::strerror(error));
  }

  void Start(const std::string& command, int write_end) {
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
    if (is_shown_) {
      posix_spawn_file_actions_adddup2(&actions, STDERR_FILENO, STDOUT_FILENO);
    } else {
      posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, "/dev/null", O_WRONLY, 0);
    }
    posix_spawn_file_actions_adddup2(&actions, write_end, STDERR_FILENO);
    posix_spawnattr_t attributes;
    posix_spawnattr_init(&attributes);
    posix_spawnattr_setflags(
        &attributes, POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
    sigset_t none, defaults;
    sigemptyset(&none);
    sigemptyset(&defaults);
    for (const int signal : {SIGPIPE, SIGXFSZ}) sigaddset(&defaults, signal);
    posix_spawnattr_setsigmask(&attributes, &none);
    posix_spawnattr_setsigdefault(&attributes, &defaults);
    std::string shell = "sh", option = "-c", text = command;
    char* const arguments[] = {shell.data(), option.data(), text.data(), nullptr};
    const int error = posix_spawn(&process_, "/bin/sh", &actions, &attributes, arguments, environ);
    posix_spawnattr_destroy(&attributes);
    posix_spawn_file_actions_destroy(&actions);
    if (error != 0) Fail(error);
  }

  // Leaves the process as it is, so that nobody else can get its number or that of its group.
  bool HasEnded() const {
    siginfo_t info{};
    return waitid(P_PID, static_cast<id_t>(process_), &info, WEXITED | WNOHANG | WNOWAIT) == 0 &&
           info.si_pid == process_;
  }

  // Waits until the process ends or writes, or for a moment if the system cannot tell.
  void Wait(double most_seconds) {
    constexpr double kMoment = 0.005;
    const double seconds = handle_ < 0 ? std::min(most_seconds, kMoment) : most_seconds;
    std::array<pollfd, 2> awaited = {
        {{words_ ? words_->get() : -1, POLLIN, 0}, {handle_, POLLIN, 0}}};
    const auto milliseconds = static_cast<int>(std::ceil(std::min(seconds, 1e6) * 1e3));
    poll(awaited.data(), awaited.size(), milliseconds);
    if (awaited[0].revents != 0) Read();
  }

  // Takes what has been written, and keeps its end.
  void Read() {
    std::array<char, kMostWords> part;
    while (words_) {
      const ssize_t size = read(words_->get(), part.data(), part.size());
      if (size < 0 && errno == EINTR) continue;
      if (size < 0) return;
      if (size == 0) return words_.reset();
      const std::string_view text(part.data(), static_cast<size_t>(size));
      if (is_shown_) PrintMessage(text);
      kept_ += text;
      if (kept_.size() > kMostWords) kept_.erase(0, kept_.size() - kMostWords);
    }
  }

  // Ends the whole group, and takes the status.
  void End(ProcessEnd* end) {
    kill(-process_, SIGKILL);
    int status = 0;
    while (waitpid(process_, &status, 0) < 0 && errno == EINTR) {
    }
    is_reaped_ = true;
    group_.reset();
    if (end == nullptr || end->timed_out) return;
    if (WIFSIGNALED(status)) end->signal = WTERMSIG(status);
    if (WIFEXITED(status)) end->status = WEXITSTATUS(status);
  }

  const bool is_shown_;
  const Clock::time_point start_ = Clock::now();
  std::optional<OpenFile> words_;  // the end of the pipe to read from, until it is closed
  pid_t process_ = 0;
  std::optional<ProcessGroup> group_;
  int handle_ = -1;  // of the process; -1 if the system gives none
  bool is_reaped_ = false;
  std::string kept_;
};

}  // namespace

ProcessEnd RunShell(const std::string& command, double most_seconds, bool is_shown) {
  return ShellProcess(command, is_shown).Await(most_seconds);
}

}  // namespace dmlop
