// SPDX-License-Identifier: Apache-2.0
// Diagnostics as text:
//
//  reduce.json:9:14: error: /desc/Axes/1: axis 4 is out of range for ... [RED-3]
//      9 |     "Axes": [0, 4]
//        |                 ^
#pragma once

#include <string_view>

#include "core/base/diagnostic.h"

namespace dmlop {

// The color of error marks.
inline constexpr std::string_view kErrorPaint = "\x1b[1;31m";

// The line of `text` that contains the byte `offset`, shortened around it if long, and a line with
// a caret below that place; each line begins with its margin. `paint` may be empty. Empty if the
// line is not text.
std::string CaretText(std::string_view text, size_t offset, std::string_view margin,
                      std::string_view caret_margin, std::string_view paint);

// Prints every diagnostic to standard error. `name` is the document's, `text` its content.
void PrintDiagnostics(const Diagnostics& diagnostics, std::string_view name, std::string_view text,
                      bool color);

}  // namespace dmlop
