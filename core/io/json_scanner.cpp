#include "core/io/json_scanner.h"

#include <algorithm>
#include <charconv>

#include "core/io/json.h"

namespace dmlop {
namespace {

// Each character of a document is looked at, so these are kept simple for the compiler.
bool IsBlank(char c) {
  return c == ' ' || c == '\t' || c == '\r' || c == '\n';
}

bool IsStructural(char c) {
  return c == '{' || c == '}' || c == '[' || c == ']' || c == ',' || c == ':';
}

bool EndsToken(char c) {
  return IsBlank(c) || IsStructural(c) || c == '"' || c == '/';
}

// The end of the string that starts at `begin`, quotes included.
size_t EndOfString(std::string_view text, size_t begin) {
  for (size_t i = begin + 1; i < text.size(); ++i) {
    if (text[i] == '\\') {
      ++i;
    } else if (text[i] == '"') {
      return i + 1;
    }
  }
  return text.size();
}

bool BeginsWithDigit(std::string_view text) {
  return !text.empty() && '0' <= text[0] && text[0] <= '9';
}

// True for a number that JSON allows but no double holds.
bool IsOutOfRange(std::string_view token) {
  double number = 0;
  const char* end = token.data() + token.size();
  const auto [read, error] = std::from_chars(token.data(), end, number);
  if (error != std::errc::result_out_of_range || read != end) return false;
  if (token[0] == '-') token.remove_prefix(1);
  const size_t point = token.find('.');
  return BeginsWithDigit(token) && !(token[0] == '0' && BeginsWithDigit(token.substr(1))) &&
         (point == std::string_view::npos || BeginsWithDigit(token.substr(point + 1)));
}

}  // namespace

JsonScanner::JsonScanner(std::string_view text)
    : text_(text), at_(text.starts_with(kByteOrderMark) ? kByteOrderMark.size() : 0) {}

void JsonScanner::SkipBlanks() {
  while (at_ < text_.size()) {
    const std::string_view rest = text_.substr(at_);
    if (IsBlank(rest[0])) {
      ++at_;
    } else if (rest.starts_with("//")) {
      at_ = std::min(text_.find('\n', at_), text_.size());
    } else if (rest.starts_with("/*")) {
      const size_t close = text_.find("*/", at_ + 2);
      if (close == std::string_view::npos) return;  // no comment, then
      at_ = close + 2;
    } else {
      return;
    }
  }
}

JsonScanner::Token JsonScanner::Next() {
  SkipBlanks();
  const size_t begin = at_;
  if (begin == text_.size()) return {begin, begin, '\0'};
  const char first = text_[begin];
  if (IsStructural(first)) {
    ++at_;
  } else if (first == '"') {
    at_ = EndOfString(text_, begin);
  } else if (text_.substr(begin).starts_with("/*")) {
    at_ = text_.size();
  } else {
    do {
      ++at_;
    } while (at_ < text_.size() && !EndsToken(text_[at_]));
  }
  return {begin, at_, first};
}

JsonScanner::Token JsonScanner::NextValue() {
  Token token = Next();
  while (token.first == ',' || token.first == ':') token = Next();
  return token;
}

std::string ForParser(std::string_view text) {
  std::string cleaned(text);
  JsonScanner scanner(text);
  JsonScanner::Token before{0, 0, '['};  // a comma that follows nothing is not a trailing one
  JsonScanner::Token token = scanner.Next();
  while (token.first != '\0') {
    const JsonScanner::Token after = scanner.Next();
    const bool closes = after.first == '}' || after.first == ']';
    const bool follows_value =
        !IsStructural(before.first) || before.first == '}' || before.first == ']';
    if (token.first == ',' && closes && follows_value) cleaned[token.begin] = ' ';
    const size_t size = token.end - token.begin;
    if (IsOutOfRange(text.substr(token.begin, size))) {
      cleaned.replace(token.begin, size, size, '0').replace(token.begin + 1, 1, 1, '.');
    }
    before = token;
    token = after;
  }
  return cleaned;
}

}  // namespace dmlop
