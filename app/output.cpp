#include "app/output.h"

#include <fmt/format.h>
#include <sys/ioctl.h>
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

std::string Printable(std::string_view text) {
  std::string printable;
  for (const char c : text) {
    const unsigned char byte = static_cast<unsigned char>(c);
    if (byte < 0x20 || byte == 0x7F) {
      printable += fmt::format("\\x{:02x}", byte);
    } else {
      printable += c;
    }
  }
  return printable;
}

std::optional<size_t> TerminalWidth() {
  if (isatty(STDOUT_FILENO) == 0) return std::nullopt;
  const char* columns = std::getenv("COLUMNS");
  const long stated = columns == nullptr ? 0 : std::strtol(columns, nullptr, 10);
  if (stated > 0) return static_cast<size_t>(stated);
  winsize size{};
  const bool known = ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0;
  return known ? size.ws_col : 80;
}

bool UseColor(ColorMode mode) {
  if (mode != ColorMode::kAuto) return mode == ColorMode::kAlways;
  const char* no_color = std::getenv("NO_COLOR");
  return (no_color == nullptr || *no_color == '\0') && isatty(STDERR_FILENO) != 0;
}

}  // namespace dmlop
