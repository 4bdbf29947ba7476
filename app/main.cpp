#include <fcntl.h>

#include <csignal>

#include "app/commands.h"
#include "core/io/signals.h"

namespace {

// Variables that linked libraries read by themselves. Google Benchmark would choose what is
// measured and write files, oneTBB and Nettle would print, and oneTBB would load a library of a
// profiler.
constexpr const char* kVariablesOfLibraries[] = {
    "BENCHMARK_", "TBB_", "NETTLE_", "INTEL_LIBITTNOTIFY", "INTEL_ITTNOTIFY", "KMP_FOR_"};

// Runs before the constructors of libraries, those of sanitizers too, and so calls nothing.
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

// A standard stream that is closed must not be the number of the next file opened: messages would
// go into it. Opened the wrong way round, its use fails.
void HoldStandardStreams() {
  for (int descriptor = 0; descriptor <= 2; ++descriptor) {
    if (fcntl(descriptor, F_GETFD) < 0) open("/dev/null", descriptor == 0 ? O_WRONLY : O_RDONLY);
  }
}

}  // namespace

int main(int argc, char** argv) {
  HoldStandardStreams();
  // A reader that goes away and a file size limit are errors of the write, not reasons to be killed
  // with temporary files left behind.
  std::signal(SIGPIPE, SIG_IGN);
  std::signal(SIGXFSZ, SIG_IGN);
  dmlop::HandleSignals(static_cast<int>(dmlop::ExitStatus::kFileSystem));
  return static_cast<int>(dmlop::Main(argc, argv));
}
