#include <fcntl.h>

#include <csignal>

#include "app/commands.h"
#include "core/io/signals.h"

namespace {

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
