// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <charconv>
#include <optional>
#include <string_view>
#include <system_error>

namespace dmlop {

// The number that all of a text is, in a base of ten unless said otherwise; null if it is none, or
// out of T's range.
template <typename T, typename... Base>
std::optional<T> ParseNumber(std::string_view text, Base... base) {
  T number{};
  const char* const end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, number, base...);
  return error == std::errc() && stop == end ? std::optional(number) : std::nullopt;
}

}  // namespace dmlop
