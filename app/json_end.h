// SPDX-License-Identifier: Apache-2.0
// Finds the end of a JSON value in text that comes line by line.
#pragma once

#include <cstddef>
#include <string_view>

namespace dmlop {

// Counts brackets outside of strings and comments. Errors in the JSON are left to the parser.
class JsonEnd {
 public:
  // Continues with a line or a part of it. Returns the position after the last bracket of the
  // object or array; npos if it has not ended.
  size_t Find(std::string_view line);

  // True while a bracket is open.
  bool is_open() const { return depth_ > 0; }

 private:
  // The position after a string or comment that begins at `at`; the end of the line if it has no
  // end.
  size_t Skip(std::string_view line, size_t at);

  size_t depth_ = 0;
  bool in_comment_ = false;  // between /* and */
};

}  // namespace dmlop
