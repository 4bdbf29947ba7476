// SPDX-License-Identifier: Apache-2.0
// Quotes text for shells.
#pragma once

#include <string>
#include <string_view>

#include "app/files/output.h"

namespace dmlop {

// The text as one word, in single quotes.
inline std::string QuotedWord(std::string_view text) {
  std::string quoted = "'";
  for (const char c : text) quoted += c == '\'' ? "'\\''" : std::string(1, c);
  return quoted + "'";
}

// As above, but with unprintable bytes escaped, in the $'' quotes of bash, zsh and ksh.
inline std::string EscapedWord(std::string_view text) {
  std::string escaped;
  for (const char c : text) {
    if (c == '\'' || c == '\\') escaped += '\\';
    escaped += c;
  }
  return "$'" + Printable(escaped) + "'";
}

// The same, in quotes where it needs them only.
inline std::string ShellWord(const std::string& text) {
  if (Printable(text) != text) return EscapedWord(text);
  constexpr std::string_view kPlain =
      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_./-+:,@%=";
  if (!text.empty() && text.find_first_not_of(kPlain) == std::string::npos) return text;
  return QuotedWord(text);
}

// As above for a path, which would be an option if it began with a dash.
inline std::string PathWord(const std::string& path) {
  return ShellWord(path.starts_with('-') && path != "-" ? "./" + path : path);
}

}  // namespace dmlop
