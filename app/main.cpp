// SPDX-License-Identifier: Apache-2.0
#include <fcntl.h>

#include <csignal>

#include "app/commands.h"
#include "core/io/signals.h"

namespace {

// Variables that linked libraries read on their own. Google Benchmark would change what is measured
// and write files, oneTBB and Nettle would print, and oneTBB would load a profiler's library.
constexpr const char* kVariablesOfLibraries[] = {
    "BENCHMARK_", "TBB_", "NETTLE_", "INTEL_LIBITTNOTIFY", "INTEL_ITTNOTIFY", "KMP_FOR_"};

// Runs before the constructors of libraries, even those of sanitizers, and so calls nothing.
__attribute__((no_sanitize("address", "thread"))) void ForgetVariablesOfLibraries(
    int, char**, char** environment) {
  char** kept = environment;
  for (char** variable = environment; *variable != nullptr; ++variable) {
    bool is_kept = true;
    for (const char* prefix : kVariablesOfLibraries) {
      const char* name = *variable;
      for (; *prefix != '\0' && *prefix == *name; ++prefix) ++name;
      is_kept &= *prefix != '\0';
    }
    if (is_kept) *kept++ = *variable;
  }
  *kept = nullptr;
}

[[gnu::section(".preinit_array"),
  gnu::used]] void (*const forget)(int, char**, char**) = ForgetVariablesOfLibraries;

// If a standard stream is closed, its number must not go to the next file opened, or messages would
// be written to it. Opened in the wrong direction, its use fails.
void HoldStandardStreams() {
  for (int descriptor = 0; descriptor <= 2; ++descriptor) {
    if (fcntl(descriptor, F_GETFD) < 0) open("/dev/null", descriptor == 0 ? O_WRONLY : O_RDONLY);
  }
}

}  // namespace

int main(int argc, char** argv) {
  HoldStandardStreams();
  // A vanished reader and a file size limit are errors of the write, not reasons to be killed with
  // temporary files left behind.
  std::signal(SIGPIPE, SIG_IGN);
  std::signal(SIGXFSZ, SIG_IGN);
  dmlop::HandleSignals(static_cast<int>(dmlop::ExitStatus::kFileSystem));
  return static_cast<int>(dmlop::Main(argc, argv));
}
