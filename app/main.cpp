#include <csignal>

#include "app/commands.h"

int main(int argc, char** argv) {
  // A reader that goes away and a file size limit are errors of the write, not reasons to be killed
  // with temporary files left behind.
  std::signal(SIGPIPE, SIG_IGN);
  std::signal(SIGXFSZ, SIG_IGN);
  return static_cast<int>(dmlop::Main(argc, argv));
}
