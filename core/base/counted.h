// Nouns that are counted, and lists that end somewhere.
#pragma once

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <concepts>
#include <span>
#include <string>
#include <string_view>

namespace dmlop {

// "1 file", "2 files"
std::string Counted(std::integral auto count, std::string_view noun) {
  return fmt::format("{} {}{}", count, noun, count == 1 ? "" : "s");
}

// "299,980"
inline std::string WithSeparators(size_t number) {
  std::string digits = fmt::format("{}", number);
  for (size_t at = digits.size(); at > 3; at -= 3) digits.insert(at - 3, ",");
  return digits;
}

// "a, b, c", or the first twenty "and 299,980 more": a message is a screen long at most. `others`
// is how many there are besides.
template <typename Names>
std::string Listed(const Names& names, std::string_view separator = ", ", size_t others = 0) {
  constexpr size_t kMostListed = 20;
  const auto listed = std::span(names).first(std::min(names.size(), kMostListed));
  std::string text = fmt::format("{}", fmt::join(listed, separator));
  const size_t left_out = names.size() - listed.size() + others;
  return left_out == 0 ? text : text + fmt::format(" and {} more", WithSeparators(left_out));
}

}  // namespace dmlop
