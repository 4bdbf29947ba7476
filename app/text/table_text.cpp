// SPDX-License-Identifier: Apache-2.0
#include "app/text/table_text.h"

#include <fmt/format.h>
#include <wchar.h>

#include <clocale>
#include <cmath>
#include <cwchar>

#include "app/files/output.h"
#include "core/base/text.h"

namespace dmlop {
namespace {

constexpr size_t kLeastFirst = 8;

struct Column {
  size_t number;
  int worth;
  size_t width;
};

std::vector<Column> ColumnsOf(std::span<const std::vector<std::string>> rows,
                              std::span<const int> worths) {
  std::vector<Column> columns;
  for (size_t i = 0; i < worths.size(); ++i) {
    Column& column = columns.emplace_back(Column{i, worths[i], 0});
    for (const auto& row : rows) column.width = std::max(column.width, TextWidth(row[i]));
  }
  return columns;
}

std::string Padded(const std::string& cell, size_t width, bool is_first) {
  const std::string blanks(width - std::min(width, TextWidth(cell)), ' ');
  return is_first ? cell + blanks : blanks + cell;
}

}  // namespace

std::string CutCell(const std::string& cell, size_t width) {
  return CutFrontTo(width, cell, UseUnicode() ? "…" : "~");
}

std::string TableText(std::span<const std::vector<std::string>> rows, std::span<const int> worths,
                      size_t width) {
  std::vector<Column> columns = ColumnsOf(rows, worths);
  const size_t room = width - std::min(width, kColumnGap);
  const size_t whole = columns[0].width;
  columns[0].width = std::min(whole, std::max(kLeastFirst, room / 2));
  LeaveOutUntil(columns, room);
  const size_t others = WidthOf(columns) - columns[0].width;
  columns[0].width = std::min(whole, std::max(kLeastFirst, room - std::min(room, others)));
  std::string text;
  for (const std::vector<std::string>& row : rows) {
    for (const Column& column : columns) {
      const std::string cell = CutCell(row[column.number], column.width);
      text += std::string(kColumnGap, ' ') + Padded(cell, column.width, column.number == 0);
    }
    text += '\n';
  }
  return text;
}

namespace {

constexpr size_t kLeastBar = 4;
constexpr size_t kMostBar = 40;

size_t CellsOf(int64_t count, int64_t most, size_t width) {
  const double share = static_cast<double>(count) / static_cast<double>(most);
  return static_cast<size_t>(std::ceil(share * static_cast<double>(width)));
}

std::string BarText(const HistogramRow& row, int64_t most, size_t width) {
  const size_t dots = CellsOf(row.dotted, most, width);
  const size_t all = std::max(CellsOf(row.count, most, width), dots + (row.dotted < row.count));
  return std::string(dots, '.') + std::string(all - dots, '#');
}

}  // namespace

std::string WithParts(std::string text,
                      std::initializer_list<std::pair<std::string_view, std::string>> parts) {
  for (const auto& [mark, part] : parts) text.replace(text.find(mark), mark.size(), part);
  return text;
}

std::string CsvField(const std::string& text) {
  if (text.find_first_of(",\"\r\n") == std::string::npos) return text;
  std::string quoted = "\"";
  for (const char c : text) quoted += c == '"' ? std::string("\"\"") : std::string(1, c);
  return quoted + "\"";
}

std::string HistogramText(const std::vector<HistogramRow>& rows) {
  int64_t most = 1;
  size_t label_width = 0;
  for (const HistogramRow& row : rows) {
    most = std::max(most, row.count);
    label_width = std::max(label_width, row.label.size());
  }
  const size_t count_width = std::to_string(most).size();
  const size_t before_bar = 2 + label_width + 2 + count_width + 1;
  const size_t width = OutputWidth();
  const size_t bar_width =
      std::clamp(width > before_bar ? width - before_bar : 0, kLeastBar, kMostBar);
  std::string text;
  for (const HistogramRow& row : rows) {
    text += fmt::format("  {:>{}}  {:>{}} {}\n", row.label, label_width, row.count, count_width,
                        BarText(row, most, bar_width));
  }
  return text;
}

// --- widths --------------------------------------------------------------------------------------

namespace {

// Text is UTF-8, whatever the user's locale is.
class Utf8Locale {
 public:
  Utf8Locale() {
    static const locale_t utf8 = newlocale(LC_CTYPE_MASK, "C.UTF-8", nullptr);
    if (utf8 != nullptr) before_ = uselocale(utf8);
  }
  Utf8Locale(const Utf8Locale&) = delete;
  Utf8Locale& operator=(const Utf8Locale&) = delete;
  ~Utf8Locale() {
    if (before_ != nullptr) uselocale(before_);
  }

 private:
  locale_t before_ = nullptr;
};

}  // namespace

Glyph GlyphAt(std::string_view text, size_t at) {
  const unsigned char first = static_cast<unsigned char>(text[at]);
  if (first < 0x80) return {1, 1, first >= 0x20 && first != 0x7F};
  constexpr size_t kMaxBytes = 4;
  const Utf8Locale locale;
  wchar_t character = 0;
  std::mbstate_t state{};
  const std::string_view rest = text.substr(at, kMaxBytes);
  const size_t bytes = std::mbrtowc(&character, rest.data(), rest.size(), &state);
  if (bytes == 0 || bytes > kMaxBytes) return {1, 1, false};
  const int cells = wcwidth(character);
  if (cells < 0) return {bytes, 1, false};
  return {bytes, static_cast<size_t>(cells), true};
}

size_t TextWidth(std::string_view text) {
  size_t width = 0;
  for (size_t at = 0; at < text.size();) {
    const Glyph glyph = GlyphAt(text, at);
    width += glyph.cells;
    at += glyph.bytes;
  }
  return width;
}

std::string CutTo(size_t width, std::string_view text) {
  if (TextWidth(text) <= width) return std::string(text);
  if (width == 0) return "";
  size_t end = 0;
  size_t cells = 1;  // of the ellipsis
  for (;;) {
    const Glyph glyph = GlyphAt(text, end);
    cells += glyph.cells;
    if (cells > width) return std::string(text.substr(0, end)) + "…";
    end += glyph.bytes;
  }
}

std::string CutFrontTo(size_t width, std::string_view text, std::string_view ellipsis) {
  size_t cells = TextWidth(text);
  if (cells <= width) return std::string(text);
  if (width == 0) return "";
  size_t begin = 0;
  while (begin < text.size()) {
    const Glyph glyph = GlyphAt(text, begin);
    // A combining mark would combine with the ellipsis.
    if (cells < width && glyph.cells > 0) break;
    cells -= glyph.cells;
    begin += glyph.bytes;
  }
  return std::string(ellipsis) + std::string(text.substr(begin));
}

std::string WrappedText(std::string_view text, size_t columns, const std::string& margin) {
  std::string wrapped;
  size_t used = 0;
  for (const std::string_view word : WordsOf(text)) {
    const size_t width = TextWidth(word);
    if (used > 0 && used + 1 + width > columns) {
      wrapped += "\n" + margin;
      used = 0;
    }
    wrapped += (used > 0 ? " " : "") + std::string(word);
    used += (used > 0 ? 1 : 0) + width;
  }
  return wrapped;
}

}  // namespace dmlop
