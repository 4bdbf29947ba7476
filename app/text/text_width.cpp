// SPDX-License-Identifier: Apache-2.0
#include "app/text/text_width.h"

#include <wchar.h>

#include <algorithm>
#include <clocale>
#include <cwchar>

#include "core/base/text.h"

namespace dmlop {
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
