// SPDX-License-Identifier: Apache-2.0
// Measures and fits text in terminal columns.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace dmlop {

// The character at a byte of UTF-8 text.
struct Glyph {
  size_t bytes;       // 1 for an invalid byte
  size_t cells;       // terminal cells: 2 for wide characters, 0 for combining marks
  bool is_printable;  // false for control characters and invalid bytes, whose cells are 1
};

Glyph GlyphAt(std::string_view text, size_t at);

size_t TextWidth(std::string_view text);  // in cells

// The text or, if it is wider, its beginning with an ellipsis.
std::string CutTo(size_t width, std::string_view text);

// The text or, if it is wider, its end after an ellipsis of one cell.
std::string CutFrontTo(size_t width, std::string_view text, std::string_view ellipsis);

// Breaks words into lines of so many cells; all but the first begin with the margin.
std::string WrappedText(std::string_view text, size_t columns, const std::string& margin);

}  // namespace dmlop
