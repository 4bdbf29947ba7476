// The scale below a picture's map: a bar of its colors with numbers, and what other colors mean.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "app/text/picture.h"

namespace dmlop {

// Colors are entries of the picture's palette.
struct PictureScale {
  struct Number {
    size_t at;  // the bar's color that it says
    std::string text;
  };
  struct Meaning {
    uint8_t color;
    std::string text;
  };

  uint8_t paper, ink;
  std::vector<uint8_t> bar;     // from left to right; may be empty
  std::vector<Number> numbers;  // of which none overlap
  std::string unit;             // behind the bar
  std::vector<Meaning> meanings;
};

// Adds the scale below what the picture has, which stays at its top left.
void AddScale(const PictureScale& scale, Picture& picture);

}  // namespace dmlop
