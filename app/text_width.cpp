#include "app/text_width.h"

#include <algorithm>

#include "core/base/utf8.h"

namespace dmlop {
namespace {

bool BeginsCharacter(char c) {
  return !ContinuesCharacter(c);
}

}  // namespace

size_t TextWidth(std::string_view text) {
  return static_cast<size_t>(std::count_if(text.begin(), text.end(), BeginsCharacter));
}

std::string CutTo(size_t width, std::string_view text) {
  if (TextWidth(text) <= width) return std::string(text);
  if (width == 0) return "";
  size_t kept = 0;  // characters
  const auto end = std::find_if(text.begin(), text.end(),
                                [&](char c) { return BeginsCharacter(c) && ++kept == width; });
  return std::string(text.begin(), end) + "…";
}

}  // namespace dmlop
