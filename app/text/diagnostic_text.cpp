// SPDX-License-Identifier: Apache-2.0
#include "app/text/diagnostic_text.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <span>

#include "app/files/output.h"
#include "app/text/table_text.h"
#include "core/base/text.h"
#include "core/io/file.h"
#include "core/io/json.h"

namespace dmlop {
namespace {

constexpr size_t kUsualCells = 160;  // width of an excerpt without a terminal
constexpr size_t kTabCells = 8;      // at most
constexpr std::string_view kCut = "...";
constexpr std::string_view kPlain = "\x1b[0m";

// A part of the line that contains a place.
struct Excerpt {
  size_t begin, end;  // byte positions in the text
  bool cut_before, cut_after;
};

size_t CellsAt(std::string_view text, size_t at) {
  return text[at] == '\t' ? kTabCells : GlyphAt(text, at).cells;
}

// Moves `begin` back to the beginning of the line, or by at most `cells`. Returns the cells passed,
// or more than `cells` if the line is longer.
size_t WalkBack(std::string_view text, size_t cells, size_t& begin) {
  const size_t line = text.starts_with(kByteOrderMark) ? kByteOrderMark.size() : 0;
  size_t walked = 0;
  while (begin > line && text[begin - 1] != '\n') {
    size_t at = begin - 1;
    while (at > line && begin - at < 4 && ContinuesCharacter(text[at])) --at;
    if (at + GlyphAt(text, at).bytes != begin) at = begin - 1;  // not a character
    walked += CellsAt(text, at);
    if (walked > cells) return walked;
    begin = at;
  }
  return walked;
}

// Moves `end` forward in the same way.
size_t Walk(std::string_view text, size_t cells, size_t& end) {
  size_t walked = 0;
  while (end < text.size() && text[end] != '\n' && !text.substr(end).starts_with("\r\n")) {
    walked += CellsAt(text, end);
    if (walked > cells) return walked;
    end += GlyphAt(text, end).bytes;
  }
  return walked;
}

// The line that contains `offset`, or `cells` cells of it around that place. Reads no more of it.
Excerpt ExcerptAt(std::string_view text, size_t offset, size_t cells) {
  Excerpt excerpt{offset, offset, false, false};
  size_t before = WalkBack(text, cells, excerpt.begin);
  size_t after = Walk(text, cells, excerpt.end);
  if (before + after <= cells) return excerpt;
  if (before > cells / 2) {
    excerpt.begin = offset;
    before = std::min(WalkBack(text, cells / 2, excerpt.begin), cells / 2);
    excerpt.cut_before = true;
  }
  excerpt.end = offset;
  excerpt.cut_after = Walk(text, cells - before, excerpt.end) > cells - before;
  return excerpt;
}

// Replaces each character that a terminal would act upon or cannot show.
std::string Shown(std::string_view line) {
  std::string shown;
  for (size_t at = 0; at < line.size();) {
    const Glyph glyph = GlyphAt(line, at);
    const bool as_it_is = glyph.is_printable || line[at] == '\t';
    shown += as_it_is ? line.substr(at, glyph.bytes) : "?";
    at += glyph.bytes;
  }
  return shown;
}

// Blanks as wide as the text; tabs are kept, so that what follows is aligned.
std::string Blanks(std::string_view text) {
  std::string blanks;
  for (size_t at = 0; at < text.size();) {
    const Glyph glyph = GlyphAt(text, at);
    text[at] == '\t' ? blanks += '\t' : blanks.append(glyph.cells, ' ');
    at += glyph.bytes;
  }
  return blanks;
}

// False for lines of binary content.
bool IsReadable(std::string_view line) {
  constexpr int kMostUnprintable = 2;
  int unprintable = 0;
  for (size_t at = 0; at < line.size();) {
    const Glyph glyph = GlyphAt(line, at);
    unprintable += glyph.is_printable || line[at] == '\t' ? 0 : 1;
    at += glyph.bytes;
  }
  return unprintable <= kMostUnprintable;
}

}  // namespace

std::string CaretText(std::string_view text, size_t offset, std::string_view margin,
                      std::string_view caret_margin, std::string_view paint) {
  const size_t around = margin.size() + 2 * kCut.size();
  const size_t columns = OutputWidth(STDERR_FILENO, kUsualCells + around);
  const Excerpt excerpt = ExcerptAt(text, offset, columns - std::min(columns, around));
  const std::string_view line = text.substr(excerpt.begin, excerpt.end - excerpt.begin);
  if (!IsReadable(line)) return "";
  const std::string_view before = excerpt.cut_before ? kCut : "";
  return fmt::format("{}{}{}{}\n{}{}{}{}^{}\n", margin, before, Shown(line),
                     excerpt.cut_after ? kCut : "", caret_margin, Blanks(before),
                     Blanks(line.substr(0, offset - excerpt.begin)), paint,
                     paint.empty() ? "" : kPlain);
}

namespace {

// `excerpt` adds the line of the text.
std::string DiagnosticText(const Diagnostic& diagnostic, std::string_view name,
                           std::string_view text, PositionFinder& positions, bool excerpt,
                           bool color) {
  const bool error = diagnostic.severity == Severity::kError;
  const std::string_view paint = !color ? "" : error ? kErrorPaint : "\x1b[1;35m";
  const std::string_view plain = color ? kPlain : "";
  const std::string severity = fmt::format("{}{}:{}", paint, error ? "error" : "warning", plain);
  const std::string message = fmt::format("{} {}\n", severity, Printable(LineOf(diagnostic)));
  if (!diagnostic.offset) return fmt::format("{}: {}", name, message);

  const TextPosition position = positions.Find(*diagnostic.offset);
  const std::string head =
      fmt::format("{}:{}:{}: {}", name, position.line, position.column, message);
  if (!excerpt) return head;
  const std::string margin = fmt::format("{:>5} | ", position.line);
  const std::string caret_margin = fmt::format("{:>{}}", "| ", margin.size());
  return head + CaretText(text, *diagnostic.offset, margin, caret_margin, paint);
}

}  // namespace

void PrintDiagnostics(const Diagnostics& diagnostics, std::string_view name, std::string_view text,
                      bool color) {
  PositionFinder positions(text);
  const bool is_text = KindOfContent(std::as_bytes(std::span(text))).empty();
  const std::vector<Diagnostic>& list = diagnostics.list();
  for (size_t i = 0; i < list.size(); ++i) {
    // Each place is shown once, below all diagnostics about it.
    const bool is_last = i + 1 == list.size() || list[i + 1].offset != list[i].offset;
    PrintMessage(DiagnosticText(list[i], name, text, positions, is_text && is_last, color));
  }
  if (diagnostics.omitted() > 0) PrintMessage("{}: and {} more\n", name, diagnostics.omitted());
}

}  // namespace dmlop
