// SPDX-License-Identifier: Apache-2.0
// Text: letters of ASCII whatever the locale, words, and characters in UTF-8.
#pragma once

#include <algorithm>
#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

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

}  // namespace dmlop
