// The tokens of JSON text by place alone: enough to say where a value stands.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace dmlop {

class JsonScanner {
 public:
  struct Token {
    size_t begin, end;  // bytes of the text; empty at the end of the text
    char first;         // first byte, '\0' at the end
  };

  explicit JsonScanner(std::string_view text);

  Token Next();

  // The next token that is no separator: a value, a key or a bracket.
  Token NextValue();

 private:
  void SkipBlanks();

  std::string_view text_;
  size_t at_ = 0;
};

// The text without what the parser refuses and we do not, in the same places: trailing commas are
// spaces, and numbers that no double holds are zeros.
std::string ForParser(std::string_view text);

}  // namespace dmlop
