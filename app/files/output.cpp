// SPDX-License-Identifier: Apache-2.0
#include "app/files/output.h"

#include <sys/ioctl.h>

#include <algorithm>
#include <charconv>
#include <cstdio>
#include <cstdlib>
#include <limits>

#include "app/text/table_text.h"
#include "core/base/error.h"
#include "core/base/text.h"

namespace dmlop {
namespace {

bool progress_is_shown = false;
bool reader_may_go = false;
bool reader_is_gone = false;

void Write(std::string_view message) {
  std::fwrite(message.data(), 1, message.size(), stderr);
}

// The value of a variable; empty if it is not set.
std::string_view Environment(const char* variable) {
  const char* value = std::getenv(variable);
  return value == nullptr ? "" : value;
}

// The number in COLUMNS; null if it has none.
std::optional<size_t> StatedColumns() {
  const std::string_view text = Environment("COLUMNS");
  size_t columns = 0;
  std::from_chars(text.data(), text.data() + text.size(), columns);
  return columns > 0 ? std::optional(columns) : std::nullopt;
}

}  // namespace

void PrintResult(std::string_view text) {
  EraseProgressLine();
  if (reader_is_gone) return;
  try {
    WriteAll(STDOUT_FILENO, std::as_bytes(std::span(text)), "standard output");
  } catch (const Error& error) {
    if (error.kind() != ErrorKind::kClosedPipe || !reader_may_go) throw;
    reader_is_gone = true;
  }
}

void OutliveReader() {
  reader_may_go = true;
}

void PrintMessage(std::string_view text) {
  EraseProgressLine();
  Write(text);
}

void ShowProgressLine(std::string_view text) {
  if (isatty(STDERR_FILENO) == 0) return;
  // Wrapping is off meanwhile, because the width of characters may be misjudged.
  Write(fmt::format("\r\x1b[K\x1b[?7l{}\x1b[?7h", text));
  progress_is_shown = true;
}

void EraseProgressLine() {
  if (std::exchange(progress_is_shown, false)) Write("\r\x1b[K");
}

std::string Printable(std::string_view text) {
  std::string printable;
  for (size_t at = 0; at < text.size();) {
    const Glyph glyph = GlyphAt(text, at);
    for (const char byte : text.substr(at, glyph.bytes)) {
      if (glyph.is_printable) {
        printable += byte;
      } else {
        printable += fmt::format("\\x{:02x}", static_cast<unsigned char>(byte));
      }
    }
    at += glyph.bytes;
  }
  return printable;
}

std::optional<size_t> TerminalWidth(int descriptor) {
  if (isatty(descriptor) == 0) return std::nullopt;
  if (const std::optional<size_t> columns = StatedColumns()) return columns;
  winsize size{};
  const bool known = ioctl(descriptor, TIOCGWINSZ, &size) == 0 && size.ws_col > 0;
  return known ? size.ws_col : kDefaultColumns;
}

size_t OutputWidth(int descriptor, size_t otherwise) {
  constexpr size_t kLeast = 20;
  constexpr size_t kMost = 1000;
  const std::optional<size_t> stated = StatedColumns();
  return std::clamp(stated ? *stated : TerminalWidth(descriptor).value_or(otherwise), kLeast,
                    kMost);
}

bool UseColor(ColorMode mode, int descriptor) {
  if (mode != ColorMode::kAuto) return mode == ColorMode::kAlways;
  return Environment("NO_COLOR").empty() && isatty(descriptor) != 0;
}

size_t TextColumns() {
  const bool is_known = StatedColumns() || TerminalWidth(STDOUT_FILENO);
  return is_known ? OutputWidth() : std::numeric_limits<size_t>::max();
}

bool UseUnicode() {
  std::string locale;
  for (const char* variable : {"LC_ALL", "LC_CTYPE", "LANG"}) {
    locale = Environment(variable);
    if (!locale.empty()) break;
  }
  locale = LowerCase(locale);
  return locale.find("utf-8") != std::string::npos || locale.find("utf8") != std::string::npos;
}

bool IsDevice(const std::string& path) {
  return path == kStandardStream || path == "/dev/stdout" || IsStream(path);
}

ResultFile::ResultFile(const std::string& path, const std::string& content) {
  const auto bytes = std::as_bytes(std::span(content));
  if (path == kStandardStream || path == "/dev/stdout") {
    PrintResult(content);
  } else if (IsStream(path)) {
    WriteStream(path, {bytes});
  } else {
    file_.emplace(path, content.size());
    file_->Write(0, bytes);
  }
}

void ResultFile::AddTo(OutputSet& files) {
  if (file_) files.Add(*std::move(file_));
  file_.reset();
}

void ResultFile::Publish() {
  OutputSet files;
  AddTo(files);
  files.Publish();
}

bool IsStandardOutput(const std::string& path) {
  return path == kStandardStream || DescriptorOf(path) == STDOUT_FILENO;
}

void RequireNoTerminal(const std::string& path, const std::string& name) {
  if (!IsTerminal(path)) return;
  throw Error(ErrorKind::kUsage, "{} is a terminal; {} is binary",
              path == kStandardStream ? "standard output" : path, name);
}

void StandardOutput::AddTensor(const std::string& path, const std::string& name) {
  RequireNoTerminal(path, name);
  if (IsStandardOutput(path)) streamed_ = name;
}

void StandardOutput::AddTextFile(const std::string& path, const std::string& name) {
  if (IsStandardOutput(path)) text_file_ = name;
}

void StandardOutput::RequireOneKind() const {
  const std::string& file = streamed_.empty() ? text_file_ : streamed_;
  if (!file.empty() && !printed_.empty()) {
    throw Error(ErrorKind::kUsage,
                "standard output cannot be both the file of {} and the print of {}", file,
                printed_);
  }
  if (!streamed_.empty() && !text_file_.empty()) {
    throw Error(ErrorKind::kUsage, "standard output cannot be the file of both {} and {}",
                streamed_, text_file_);
  }
}

}  // namespace dmlop
