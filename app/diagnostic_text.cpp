#include "app/diagnostic_text.h"

#include <fmt/format.h>

#include "app/output.h"
#include "core/base/utf8.h"
#include "core/io/json.h"

namespace dmlop {
namespace {

constexpr size_t kMaxLineBytes =
    160;  // of the offending line; longer ones are cut around the place
constexpr std::string_view kPlain = "\x1b[0m";

// The line that has `offset`, cut to a readable length, and the offset of its first byte.
struct Excerpt {
  std::string_view line;
  size_t begin;
  bool cut_before, cut_after;
};

Excerpt ExcerptAt(std::string_view text, size_t offset) {
  // No more of the line is looked at than may be shown.
  const size_t from = offset - std::min(offset, kMaxLineBytes + 1);
  const size_t newline = text.substr(from, offset - from).rfind('\n');
  size_t line_begin = newline == std::string_view::npos ? from : from + newline + 1;
  if (line_begin == 0 && text.substr(0, offset).starts_with(kByteOrderMark)) {
    line_begin = kByteOrderMark.size();
  }
  const size_t length = text.substr(offset, kMaxLineBytes + 1).find('\n');
  size_t line_end = std::min(
      length == std::string_view::npos ? offset + kMaxLineBytes + 1 : offset + length, text.size());
  if (line_end > line_begin && text[line_end - 1] == '\r') --line_end;
  size_t begin = line_begin;
  size_t end = std::max(line_end, offset);
  if (end - begin > kMaxLineBytes) {
    if (offset - begin > kMaxLineBytes / 2) begin = offset - kMaxLineBytes / 2;
    while (begin < offset && ContinuesCharacter(text[begin])) ++begin;
    end = std::min(end, begin + kMaxLineBytes);
    while (end < line_end && ContinuesCharacter(text[end])) ++end;
  }
  return {text.substr(begin, end - begin), begin, begin != line_begin, end < line_end};
}

// One character for each, so that columns stay.
std::string WithoutControls(std::string_view line) {
  std::string clean(line);
  for (char& c : clean) {
    if ((static_cast<unsigned char>(c) < 0x20 && c != '\t') || c == 0x7F) c = '?';
  }
  return clean;
}

// As many columns as the line has up to `offset`; tabs stay tabs, so that the caret lines up.
std::string Indent(const Excerpt& excerpt, size_t offset) {
  std::string indent(excerpt.cut_before ? 3 : 0, ' ');
  for (const char c : excerpt.line.substr(0, offset - excerpt.begin)) {
    if (!ContinuesCharacter(c)) indent += c == '\t' ? '\t' : ' ';
  }
  return indent;
}

}  // namespace

std::string CaretText(std::string_view text, size_t offset, std::string_view margin,
                      std::string_view caret_margin, std::string_view paint) {
  const Excerpt excerpt = ExcerptAt(text, offset);
  return fmt::format("{}{}{}{}\n{}{}{}^{}\n", margin, excerpt.cut_before ? "..." : "",
                     WithoutControls(excerpt.line), excerpt.cut_after ? "..." : "", caret_margin,
                     Indent(excerpt, offset), paint, paint.empty() ? "" : kPlain);
}

namespace {

std::string DiagnosticText(const Diagnostic& diagnostic, std::string_view name,
                           std::string_view text, PositionFinder& positions, bool color) {
  const bool error = diagnostic.severity == Severity::kError;
  const std::string_view paint = !color ? "" : error ? kErrorPaint : "\x1b[1;35m";
  const std::string_view plain = color ? kPlain : "";
  const std::string severity = fmt::format("{}{}:{}", paint, error ? "error" : "warning", plain);
  const std::string pointer =
      diagnostic.pointer.empty() ? "" : Printable(diagnostic.pointer) + ": ";
  const std::string message = fmt::format("{} {}{} [{}]\n", severity, pointer,
                                          Printable(diagnostic.message), diagnostic.code);
  if (!diagnostic.offset) return fmt::format("{}: {}", name, message);

  const TextPosition position = positions.Find(*diagnostic.offset);
  return fmt::format("{}:{}:{}: {}{}", name, position.line, position.column, message,
                     CaretText(text, *diagnostic.offset, fmt::format("{:>5} | ", position.line),
                               "      | ", paint));
}

}  // namespace

void PrintDiagnostics(const Diagnostics& diagnostics, std::string_view name, std::string_view text,
                      bool color) {
  PositionFinder positions(text);
  for (const Diagnostic& diagnostic : diagnostics.list()) {
    PrintMessage(DiagnosticText(diagnostic, name, text, positions, color));
  }
  if (diagnostics.omitted() > 0) {
    PrintMessage(fmt::format("{}: and {} more\n", name, diagnostics.omitted()));
  }
}

}  // namespace dmlop
