// Characters in UTF-8 text.
#pragma once

#include <cstddef>
#include <string_view>

namespace dmlop {

// Returns true for the bytes of a character after its first.
constexpr bool ContinuesCharacter(char c) {
  return (static_cast<unsigned char>(c) & 0xC0) == 0x80;
}

// Returns the length of the longest prefix of whole characters, by Unicode's table of well-formed
// sequences.
size_t ValidCharacters(std::string_view text);

}  // namespace dmlop
