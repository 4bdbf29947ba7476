// Diagnostics as people read them:
//
//   reduce.json:9:14: error: /desc/Axes/1: axis 4 is out of range for ... [RED-3]
//       9 |     "Axes": [0, 4]
//         |                 ^
#pragma once

#include <string_view>

#include "core/base/diagnostic.h"

namespace dmlop {

// Prints every diagnostic to standard error. `name` is the document's, `text` what it says.
void PrintDiagnostics(const Diagnostics& diagnostics, std::string_view name, std::string_view text,
                      bool color);

}  // namespace dmlop
