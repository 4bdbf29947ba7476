// Text in columns of a terminal.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace dmlop {

// Code points, which is columns for the scripts that file names are mostly in.
size_t TextWidth(std::string_view text);

// The text where it is not wider than that, else its beginning and an ellipsis.
std::string CutTo(size_t width, std::string_view text);

}  // namespace dmlop
