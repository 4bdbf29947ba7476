#include "app/output.h"

#include <unistd.h>

#include <cstdio>
#include <cstdlib>

#include "core/io/file.h"

namespace dmlop {

void PrintResult(std::string_view text) {
  WriteAll(STDOUT_FILENO, std::as_bytes(std::span(text)), "standard output");
}

void PrintMessage(std::string_view text) {
  std::fwrite(text.data(), 1, text.size(), stderr);
}

bool UseColor(ColorMode mode) {
  if (mode != ColorMode::kAuto) return mode == ColorMode::kAlways;
  const char* no_color = std::getenv("NO_COLOR");
  return (no_color == nullptr || *no_color == '\0') && isatty(STDERR_FILENO) != 0;
}

}  // namespace dmlop
