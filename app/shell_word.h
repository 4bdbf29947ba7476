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

// The same, in quotes where it needs them only.
inline std::string ShellWord(const std::string& text) {
  constexpr std::string_view kPlain =
      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_./-+:,@%=";
  if (!text.empty() && text.find_first_not_of(kPlain) == std::string::npos) return text;
  return QuotedWord(text);
}

// The same of a path, which would be an option where it begins with a dash.
inline std::string PathWord(const std::string& path) {
  return ShellWord(path.starts_with('-') && path != "-" ? "./" + path : path);
}

}  // namespace dmlop
