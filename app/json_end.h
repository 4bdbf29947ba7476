// Where a JSON value ends in a text that comes line by line.
#pragma once

#include <cstddef>
#include <string_view>

namespace dmlop {

// Counts brackets outside of strings and comments. What is not well-formed is left to who parses
// it.
class JsonEnd {
 public:
  // Goes on with a line, or a part of it. Returns where the object or array has ended, behind its
  // last bracket; npos while it has not.
  size_t Find(std::string_view line);

  // True while a bracket is open.
  bool is_open() const { return depth_ > 0; }

 private:
  // Behind a string or a comment that begins at `at`; the end of the line where it has none.
  size_t Skip(std::string_view line, size_t at);

  size_t depth_ = 0;
  bool in_comment_ = false;  // of /* and */
};

}  // namespace dmlop
