// SPDX-License-Identifier: Apache-2.0
#include "core/explain/element_name.h"

#include <fmt/format.h>

#include <cctype>
#include <charconv>
#include <limits>

namespace dmlop {
namespace {

class Parser {
 public:
  Parser(std::string_view text, Diagnostics& diagnostics)
      : text_(text), diagnostics_(diagnostics) {}

  std::optional<ElementName> Parse() {
    ElementName name;
    SkipSpaces();
    name.field = TakeWhile([](char c) { return std::isalnum(static_cast<unsigned char>(c)); });
    if (name.field.empty()) return Fail("the name of a tensor");
    if (Takes('/')) {
      const auto number = ParseNumber(/*may_be_negative=*/false);
      if (!number) return std::nullopt;
      name.number = *number;
    }
    const size_t max_groups = name.number ? 1 : 2;
    return ParsePlace(std::move(name), max_groups);
  }

  // The name may have any characters, so it ends before the last bracket or before an @.
  std::optional<ElementName> ParseAnyName() {
    ElementName name;
    name.field = ModelTensorIn(text_);
    at_ = name.field.size();
    if (text_.empty()) return Fail("the name of a tensor");
    return ParsePlace(std::move(name), 1);
  }

 private:
  std::optional<ElementName> ParsePlace(ElementName name, size_t max_groups) {
    name.end = text_.size();
    while (name.groups.size() < max_groups && Peek() != '\0' &&
           (Peek() == '[' || (name.groups.empty() && Peek() != '@'))) {
      auto group = ParseGroup();
      if (!group) return std::nullopt;
      name.groups.push_back(*std::move(group));
    }
    if (Takes('@')) {
      const auto byte = ParseByte();
      if (!byte) return std::nullopt;
      name.byte = *byte;
    }
    if (at_ < text_.size()) return Fail("the end");
    return name;
  }

  void SkipSpaces() {
    while (at_ < text_.size() && text_[at_] == ' ') ++at_;
  }

  char Peek() {
    SkipSpaces();
    return at_ < text_.size() ? text_[at_] : '\0';
  }

  bool Takes(char c) {
    if (Peek() != c) return false;
    ++at_;
    SkipSpaces();
    return true;
  }

  template <typename Predicate>
  std::string TakeWhile(Predicate&& takes) {
    const size_t begin = at_;
    while (at_ < text_.size() && takes(text_[at_])) ++at_;
    return std::string(text_.substr(begin, at_ - begin));
  }

  std::optional<ElementName::Group> ParseGroup() {
    ElementName::Group group;
    group.begin = at_;
    if (!Takes('[')) return Fail("'['");
    do {
      const auto number = ParseNumber(/*may_be_negative=*/true);
      if (!number) return std::nullopt;
      group.numbers.push_back(*number);
    } while (Takes(','));
    group.end = at_;
    if (!Takes(']')) return Fail("',' or ']'");
    return group;
  }

  std::optional<ElementName::Number> ParseNumber(bool may_be_negative) {
    SkipSpaces();
    const size_t begin = at_;
    const bool negative = may_be_negative && at_ < text_.size() && text_[at_] == '-';
    if (negative) ++at_;
    const std::string digits = TakeWhile([](char c) { return c >= '0' && c <= '9'; });
    if (digits.empty()) return Fail("an index");
    int64_t value = 0;
    for (const char c : digits) {
      constexpr int64_t kFull = std::numeric_limits<int64_t>::max();
      value = value > (kFull - 9) / 10 ? kFull : value * 10 + (c - '0');
    }
    const std::string_view text = text_.substr(begin, at_ - begin);
    return ElementName::Number{negative ? -value : value, std::string(text), begin};
  }

  // Parses decimals, or hexadecimals after "0x".
  std::optional<ElementName::Number> ParseByte() {
    const size_t begin = at_;
    const std::string word =
        TakeWhile([](char c) { return std::isalnum(static_cast<unsigned char>(c)); });
    const bool is_hex = word.starts_with("0x");
    const std::string_view digits = std::string_view(word).substr(is_hex ? 2 : 0);
    int64_t value = 0;
    const char* const end = digits.data() + digits.size();
    const auto read = std::from_chars(digits.data(), end, value, is_hex ? 16 : 10);
    if (read.ec == std::errc::result_out_of_range) value = std::numeric_limits<int64_t>::max();
    if (read.ec == std::errc::invalid_argument || read.ptr != end) {
      at_ = begin;
      return Fail("the number of a byte");
    }
    SkipSpaces();
    return ElementName::Number{value, word, begin};
  }

  std::nullopt_t Fail(std::string_view expected) {
    SkipSpaces();
    diagnostics_.Error("ELEM-1", "", fmt::format("expected {} here", expected), at_);
    return std::nullopt;
  }

  std::string_view text_;
  Diagnostics& diagnostics_;
  size_t at_ = 0;
};

}  // namespace

std::optional<ElementName> ParseElementName(std::string_view text, Diagnostics& diagnostics) {
  return Parser(text, diagnostics).Parse();
}

std::string_view ModelTensorIn(std::string_view text) {
  const size_t last = text.find_last_not_of(' ');
  const bool has_index = last != std::string_view::npos && text[last] == ']';
  return text.substr(0, has_index ? text.rfind('[') : text.find_last_of("[@"));
}

std::optional<ElementName> ParseModelElementName(std::string_view text, Diagnostics& diagnostics) {
  return Parser(text, diagnostics).ParseAnyName();
}

}  // namespace dmlop
