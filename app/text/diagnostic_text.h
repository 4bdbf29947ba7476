// Diagnostics as people read them:
//
//   reduce.json:9:14: error: /desc/Axes/1: axis 4 is out of range for ... [RED-3]
//       9 |     "Axes": [0, 4]
//         |                 ^
#pragma once

#include <string_view>

#include "core/base/diagnostic.h"

namespace dmlop {

// What the marks of errors are painted with where there are colors.
inline constexpr std::string_view kErrorPaint = "\x1b[1;31m";

// The line of `text` that has the byte `offset`, cut around it where it is long, and a line with a
// caret below that place; the margins stand before the one and the other. `paint` may be empty.
// Empty where the line is that of a file that is no text.
std::string CaretText(std::string_view text, size_t offset, std::string_view margin,
                      std::string_view caret_margin, std::string_view paint);

// Prints every diagnostic to standard error. `name` is the document's, `text` what it says.
void PrintDiagnostics(const Diagnostics& diagnostics, std::string_view name, std::string_view text,
                      bool color);

}  // namespace dmlop
