// Characters in UTF-8 text.
#pragma once

namespace dmlop {

// True for the bytes of a character behind its first.
constexpr bool ContinuesCharacter(char c) {
  return (static_cast<unsigned char>(c) & 0xC0) == 0x80;
}

}  // namespace dmlop
