// SPDX-License-Identifier: Apache-2.0
// Letters for the frames and scales of pictures.
#pragma once

#include <array>
#include <cstdint>

namespace dmlop {

inline constexpr int kGlyphWidth = 5;
inline constexpr int kGlyphHeight = 7;

// The columns of a character from left to right; the lowest bit is at the top. Blank for characters
// that no picture uses.
std::array<uint8_t, kGlyphWidth> GlyphOf(char character);

}  // namespace dmlop
