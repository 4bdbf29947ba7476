// SPDX-License-Identifier: Apache-2.0
// Text: letters of ASCII whatever the locale, numbers, words, and characters in UTF-8.
#pragma once

#include <algorithm>
#include <charconv>
#include <concepts>
#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace dmlop {

// --- letters without case ------------------------------------------------------------------------

constexpr char LowerCase(char c) {
  return 'A' <= c && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
}

inline std::string LowerCase(std::string_view text) {
  std::string lower(text);
  for (char& c : lower) c = LowerCase(c);
  return lower;
}

constexpr bool EqualIgnoringCase(std::string_view a, std::string_view b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                    [](char x, char y) { return LowerCase(x) == LowerCase(y); });
}

// --- numbers -------------------------------------------------------------------------------------

// Returns the number that all of a text is, in a base of ten unless said otherwise; null if it is
// none, or out of T's range.
template <typename T, typename... Base>
std::optional<T> ParseNumber(std::string_view text, Base... base) {
  T number{};
  const char* const end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, number, base...);
  return error == std::errc() && stop == end ? std::optional(number) : std::nullopt;
}

// --- lists of words, separated by single spaces --------------------------------------------------

inline std::vector<std::string_view> WordsOf(std::string_view text) {
  std::vector<std::string_view> words;
  while (!text.empty()) {
    const size_t length = std::min(text.find(' '), text.size());
    words.push_back(text.substr(0, length));
    text.remove_prefix(std::min(text.size(), length + 1));
  }
  return words;
}

inline bool HasWord(std::string_view text, std::string_view word) {
  const std::vector<std::string_view> words = WordsOf(text);
  return std::find(words.begin(), words.end(), word) != words.end();
}

// --- characters in UTF-8 -------------------------------------------------------------------------

// Returns true for the bytes of a character after its first.
constexpr bool ContinuesCharacter(char c) {
  return (static_cast<unsigned char>(c) & 0xC0) == 0x80;
}

// Returns the length of the longest prefix of whole characters, by Unicode's table of well-formed
// sequences.
size_t ValidCharacters(std::string_view text);

// --- counted nouns and lists ---------------------------------------------------------------------

// Counted nouns, numbers, and lists of limited length.

// "files", "entries", "axes", "indices"
inline std::string Plural(std::string_view noun) {
  const auto without_end = [&](size_t count) { return noun.substr(0, noun.size() - count); };
  if (noun.ends_with("try")) return fmt::format("{}ies", without_end(1));
  if (noun.ends_with("axis")) return fmt::format("{}es", without_end(2));
  if (noun.ends_with("index")) return fmt::format("{}ices", without_end(2));
  return fmt::format("{}s", noun);
}

// "1 file", "2 files"
std::string Counted(std::integral auto count, std::string_view noun) {
  return count == 1 ? fmt::format("{} {}", count, noun) : fmt::format("{} {}", count, Plural(noun));
}

// Returns the word for one, or the one for any other number: "is", "are".
constexpr std::string_view ForCount(std::integral auto count, std::string_view one,
                                    std::string_view others) {
  return count == 1 ? one : others;
}

// "299,980"
inline std::string WithSeparators(size_t number) {
  std::string digits = fmt::format("{}", number);
  for (size_t at = digits.size(); at > 3; at -= 3) digits.insert(at - 3, 1, ',');
  return digits;
}

// Returns the shortest digits that read back to the same value, or "inf", "-inf", "nan".
template <std::floating_point T>
std::string NumberText(T value) {
  return value != value ? "nan" : fmt::format("{}", value);
}

// Returns "a, b, c", or the first twenty "and 299,980 more", so that a message fits on a screen.
// `others` is the number of names besides these.
template <typename Names>
std::string Listed(const Names& names, std::string_view separator = ", ", size_t others = 0) {
  constexpr size_t kMostListed = 20;
  const auto listed = std::span(names).first(std::min(names.size(), kMostListed));
  std::string text = fmt::format("{}", fmt::join(listed, separator));
  const size_t left_out = names.size() - listed.size() + others;
  return left_out == 0 ? text : text + fmt::format(" and {} more", WithSeparators(left_out));
}

}  // namespace dmlop
