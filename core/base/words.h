// Lists of words in a text, separated by single spaces.
#pragma once

#include <algorithm>
#include <string_view>
#include <vector>

namespace dmlop {

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

}  // namespace dmlop
