// Characters in UTF-8 text.
#pragma once

#include <cstddef>
#include <string_view>

namespace dmlop {

// True for the bytes of a character behind its first.
constexpr bool ContinuesCharacter(char c) {
  return (static_cast<unsigned char>(c) & 0xC0) == 0x80;
}

// The bytes before the first that is no part of a character, or all: Unicode's table of well-formed
// sequences.
size_t ValidCharacters(std::string_view text);

}  // namespace dmlop
