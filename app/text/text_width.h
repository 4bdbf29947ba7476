// Text in columns of a terminal.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace dmlop {

// The character at a byte of text in UTF-8.
struct Glyph {
  size_t bytes;       // 1 where there is no character
  size_t cells;       // of a terminal: 2 for wide ones, 0 for marks on the one before
  bool is_printable;  // false for control characters, whose cells are 1, and where there is none
};

Glyph GlyphAt(std::string_view text, size_t at);

size_t TextWidth(std::string_view text);  // in cells

// The text where it is not wider than that, else its beginning and an ellipsis.
std::string CutTo(size_t width, std::string_view text);

// The same with its end, behind an ellipsis that has one cell.
std::string CutFrontTo(size_t width, std::string_view text, std::string_view ellipsis);

// The words in lines of so many cells; lines behind the first begin with a margin.
std::string WrappedText(std::string_view text, size_t columns, const std::string& margin);

}  // namespace dmlop
