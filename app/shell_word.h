// Text for shells to read.
#pragma once

#include <string>
#include <string_view>

namespace dmlop {

// The text as one word, in single quotes.
inline std::string QuotedWord(std::string_view text) {
  std::string quoted = "'";
  for (const char c : text) quoted += c == '\'' ? "'\\''" : std::string(1, c);
  return quoted + "'";
}

}  // namespace dmlop
