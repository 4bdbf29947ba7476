// SPDX-License-Identifier: Apache-2.0
// The scale below a picture's map: a bar of its colors with numbers, and the meanings of other
// colors.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "app/text/picture.h"

namespace dmlop {

// Colors are entries of the picture's palette.
struct PictureScale {
  struct Number {
    size_t at;  // index of its color in the bar
    std::string text;
  };
  struct Meaning {
    uint8_t color;
    std::string text;
  };

  uint8_t paper, ink;
  std::vector<uint8_t> bar;     // from left to right; may be empty
  std::vector<Number> numbers;  // without overlaps
  std::string unit;             // printed after the bar
  std::vector<Meaning> meanings;
};

// Adds the scale below the picture, which keeps its place at the top left.
void AddScale(const PictureScale& scale, Picture& picture);

}  // namespace dmlop
